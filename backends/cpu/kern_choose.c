/* Which inner loops run here. Asked of the processor at run time by hand rather than through target_clones: their
 * resolvers run before sanitizers are ready. */
#include "config.h"

#include <string.h>

#include "backends/cpu/kern.h"
#include "base/env.h"

/* Sets this processor can run, best first, NULL at the end. */
static void list_sets(const ct_kern *sets[4])
{
    int n = 0;
#if defined(__x86_64__) && !defined(CT_NO_AVX)
    __builtin_cpu_init();
    /* F16C has no name of its own here; every processor with FMA and AVX2 has it. */
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        sets[n++] = &ct_kern_avx512;
    if (avx2) sets[n++] = &ct_kern_avx2;
#endif
    sets[n++] = &ct_kern_base;
    sets[n] = NULL;
}

const ct_kern *ct_kern_best(void)
{
    const ct_kern *sets[4];
    list_sets(sets);
    return sets[0];
}

ct_status ct_kern_choose(const ct_kern **out)
{
    const ct_kern *sets[4];
    const char *name = ct_env_get(CT_ENV_KERNELS);
    list_sets(sets);
    *out = sets[0];
    if (!name) return CT_OK;
    for (int i = 0; sets[i]; i++) {
        *out = sets[i];
        if (strcmp(sets[i]->name, name) == 0) return CT_OK;
    }
    return ct_fail(CT_EBACKEND,
                   "cpu: CAPTRAIN_KERNELS asks for the inner loops '%s'; this processor and build have %s%s%s%s%s", name,
                   sets[0]->name, sets[1] ? ", " : "", sets[1] ? sets[1]->name : "", sets[1] && sets[2] ? ", " : "",
                   sets[1] && sets[2] ? sets[2]->name : "");
}
