/* OpenBLAS: the only file that includes its header. The backend's own threads call it, each for itself. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <cblas.h>
#include <stdio.h>
#include <strings.h>

#include "base/env.h"

void ct_cpu_blas_init(void) { openblas_set_num_threads(1); }

const char *ct_cpu_blas_config(void)
{
    const char *c = openblas_get_config();
    return c ? c : "";
}

const char *ct_cpu_blas_core(void)
{
    const char *c = openblas_get_corename();
    return c ? c : "";
}

const char *ct_cpu_blas_warning(void)
{
#if defined(__x86_64__)
    static const char *const with_avx512[] = { "SkylakeX", "Cooperlake", "SapphireRapids", NULL };
    static const char *const with_avx2[] = { "Haswell", "Zen", "Excavator", NULL };
    const char *pin = ct_env_get(CT_ENV_OPENBLAS_CORETYPE);
    const int vl = ct_kern_best()->vl; /* 16 is AVX-512's, 8 AVX2's */
    if (!pin) return NULL;
    for (int i = 0; with_avx512[i]; i++)
        if (strcasecmp(pin, with_avx512[i]) == 0) return NULL;
    if (vl == 16)
        return "OPENBLAS_CORETYPE pins a kernel set without AVX-512, which this processor has: matrix products run at "
               "about half speed; "
               "unset it";
    for (int i = 0; with_avx2[i]; i++)
        if (strcasecmp(pin, with_avx2[i]) == 0) return NULL;
    if (vl == 8)
        return "OPENBLAS_CORETYPE pins a kernel set without AVX2, which this processor has: matrix products run "
               "slowly; unset it";
#endif
    return NULL;
}

void ct_cpu_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                  int64_t ldb, float beta, float *c, int64_t ldc)
{
    if (m <= 0 || n <= 0) return;
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n,
                (blasint)k, 1.0f, a, (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
}
