/* Cases of the magnitudes of spectra: lengths of one, two, odd, prime, a power of two; more rows than one piece holds. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))

const ct_case_row ct_cases_spectrum[] = {
    { "dft_magnitude(A[3,8])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude(A[2,3,7])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude(A[5,1])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude(A[5,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude(A[13])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude(A[37,48])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude_bwd(A[3,8], A[3,10])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude_bwd(A[2,3,7], A[2,3,8])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude_bwd(A[5,1], A[5,2])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude_bwd(A[5,2], A[5,4])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude_bwd(A[13], A[14])", CT_TYPES_ACCUM, DATA, 0 },
    { "dft_magnitude_bwd(A[37,48], A[37,50])", CT_TYPES_ACCUM, DATA, 0 },

    { "dft_magnitude(A[2,112,512])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "dft_magnitude_bwd(A[2,112,512], A[2,112,514])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
