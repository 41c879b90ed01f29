/* Which inner loops run here. Asked of the processor at run time by hand rather than through target_clones: their
 * resolvers run before sanitizers are ready. */
#include "config.h"

#include "backends/cpu/kern.h"

const ct_kern *ct_kern_choose(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    /* F16C has no name of its own here; every processor with FMA and AVX2 has it. */
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &ct_kern_avx512;
    if (avx2) return &ct_kern_avx2;
#endif
    return &ct_kern_base;
}
