/* Which inner loops run here. Asked of the processor at run time by hand rather than through target_clones: their
 * resolvers run before sanitizers are ready. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "backends/cpu/kern.h"
#include "base/env.h"

#if defined(__linux__) && defined(__x86_64__) && !defined(CT_NO_AVX)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tiles of bf16, and the system's leave to use their registers, which are so large that a process has to ask for them (Linux 5.16). */
static bool have_tiles(void)
{
    enum { ASK = 0x1023, TILES = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA of asm/prctl.h, which older systems lack */
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 24 & 1) || !(d >> 22 & 1)) return false; /* AMX-TILE, AMX-BF16 */
    return syscall(SYS_arch_prctl, ASK, TILES) == 0;
}
#else
static bool have_tiles(void) { return false; }
#endif

int ct_kern_list(const ct_kern *sets[CT_KERN_SETS])
{
    int n = 0;
#if defined(__x86_64__) && !defined(CT_NO_AVX)
    __builtin_cpu_init();
    /* F16C has no name of its own here; every processor with FMA and AVX2 has it. */
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
    if (bf16 && have_tiles()) sets[n++] = &ct_kern_amx;
    if (bf16) sets[n++] = &ct_kern_avx512bf16;
    if (avx512) sets[n++] = &ct_kern_avx512;
    if (avx2) sets[n++] = &ct_kern_avx2;
#endif
    sets[n++] = &ct_kern_base;
    sets[n++] = &ct_kern_basebf16;
    sets[n++] = &ct_kern_baseamx;
    return n;
}

const ct_kern *ct_kern_best(void)
{
    const ct_kern *sets[CT_KERN_SETS];
    ct_kern_list(sets);
    return sets[0];
}

ct_status ct_kern_choose(const ct_kern **out)
{
    const ct_kern *sets[CT_KERN_SETS];
    const char *name = ct_env_get(CT_ENV_KERNELS);
    const int n = ct_kern_list(sets);
    char have[120] = "";
    *out = sets[0];
    if (!name) return CT_OK;
    for (int i = 0; i < n; i++) {
        const size_t used = strlen(have);
        *out = sets[i];
        if (strcmp(sets[i]->name, name) == 0) return CT_OK;
        snprintf(have + used, sizeof have - used, "%s%s", i ? ", " : "", sets[i]->name);
    }
    return ct_fail(CT_EBACKEND,
                   "cpu: CAPTRAIN_KERNELS asks for the inner loops '%s'; this processor and build have %s", name, have);
}
