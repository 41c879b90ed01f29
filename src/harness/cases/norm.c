/* Cases of batch normalisation: with and without add, relu and silu, few rows, one channel, odd channel counts, data far from
 * 0. And of vectors made one long: of one element, two, numbers around those of a vector register, zeros. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(SPECIAL))
#define MORE (DATA | CT_D(TIES) | CT_D(LARGE))
/* Where SiLU is applied to thousands, a rounding of it is a large part of what bends it. */
#define SLOPES (DATA | CT_D(TIES))
#define LENGTHS (CT_D(UNIFORM) | CT_D(TIES) | CT_D(LARGE) | CT_D(SMALL))
/* Which of two equal pixels a window keeps is said, not what it keeps of two that only rounding tells apart. */
#define POOLED (CT_D(UNIFORM) | CT_D(TIES))
#define BN "eps=1e-5 momentum=0.1"

const ct_case_row ct_cases_norm[] = {
    { "batchnorm{" BN " update_stats=1}(T[4,3,5,8], A[8], A[8], A[8], A[8])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm{" BN " act=1 update_stats=1}(T[4,3,5,8], A[8], A[8], A[8], A[8])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm{" BN " act=1 update_stats=1}(T[3,4,4,19], A[19], A[19], A[19], A[19], T[3,4,4,19])", CT_TYPES_ALL,
      MORE, 0 },
    { "batchnorm{" BN " act=1}(T[3,2,3,12], A[12], A[12], A[12], A[12], T[3,2,3,12])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm{" BN "}(T[2,2,3,33], A[33], A[33], A[33], A[33], T[2,2,3,33])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm{eps=0.001 momentum=1 update_stats=1}(T[2,7], A[7], A[7], A[7], A[7])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm{" BN " act=1 update_stats=1}(T[700,1], A[1], A[1], A[1], A[1])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm{" BN " act=1 update_stats=1}(T[4,12,16,64], A[64], A[64], A[64], A[64])", CT_TYPES_ALL, DATA, 0 },

    { "batchnorm{" BN " act=2 update_stats=1}(T[4,3,5,8], A[8], A[8], A[8], A[8])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm{" BN " act=2 update_stats=1}(T[3,4,4,19], A[19], A[19], A[19], A[19], T[3,4,4,19])", CT_TYPES_ALL,
      MORE, 0 },
    { "batchnorm{" BN " act=2}(T[2,2,3,33], A[33], A[33], A[33], A[33])", CT_TYPES_ALL, DATA, 0 },

    { "batchnorm_infer{eps=1e-5}(T[4,3,5,8], A[8], A[8], A[8], A[8])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_infer{eps=1e-5 act=1}(T[3,4,4,19], A[19], A[19], A[19], A[19], T[3,4,4,19])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_infer{eps=1e-5 act=1}(T[1,1,1,33], A[33], A[33], A[33], A[33])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_infer{eps=1e-5}(T[2,2,3,33], A[33], A[33], A[33], A[33], T[2,2,3,33])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_infer{act=1 given_invstd=1}(T[3,4,4,19], A[19], A[19], A[19], A[19])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_infer{act=1 given_invstd=1}(T[4,12,16,64], A[64], A[64], A[64], A[64], T[4,12,16,64])", CT_TYPES_ALL,
      DATA, 0 },

    { "batchnorm_infer{eps=1e-5 act=2}(T[4,3,5,8], A[8], A[8], A[8], A[8])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_infer{eps=1e-5 act=2}(T[3,4,4,19], A[19], A[19], A[19], A[19], T[3,4,4,19])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_infer{act=2 given_invstd=1}(T[3,4,4,19], A[19], A[19], A[19], A[19])", CT_TYPES_ALL, DATA, 0 },

    { "batchnorm_bwd(T[4,3,5,8], T[4,3,5,8], A[8], A[8], A[8])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_bwd{act=1}(T[4,3,5,8], T[4,3,5,8], A[8], A[8], A[8], u8[4,3,5,1])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_bwd{act=1 has_add=1}(T[3,4,4,19], T[3,4,4,19], A[19], A[19], A[19], u8[3,4,4,3])", CT_TYPES_ALL, MORE,
      0 },
    { "batchnorm_bwd{has_add=1}(T[2,2,3,33], T[2,2,3,33], A[33], A[33], A[33])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_bwd{act=1}(T[700,1], T[700,1], A[1], A[1], A[1], u8[700,1])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_bwd{act=1}(T[3,2,3,12], T[3,2,3,12], A[12], A[12], A[12], u8[3,2,3,2])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_bwd(T[2,7], T[2,7], A[7], A[7], A[7])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_bwd{act=1}(T[4,12,16,64], T[4,12,16,64], A[64], A[64], A[64], u8[4,12,16,8])", CT_TYPES_ALL, DATA, 0 },

    { "batchnorm_bwd{act=2}(T[4,3,5,8], T[4,3,5,8], A[8], A[8], A[8], -, A[8])", CT_TYPES_ALL, SLOPES, 0 },
    { "batchnorm_bwd{act=2}(T[700,1], T[700,1], A[1], A[1], A[1], -, A[1])", CT_TYPES_ALL, SLOPES, 0 },
    { "batchnorm_bwd{act=2}(T[3,4,4,19], T[3,4,4,19], A[19], A[19], A[19], -, A[19], T[3,4,4,19])", CT_TYPES_ALL, SLOPES,
      0 },
    { "batchnorm_bwd{act=2 has_add=1}(T[3,4,4,19], T[3,4,4,19], A[19], A[19], A[19], -, A[19], T[3,4,4,19])", CT_TYPES_ALL,
      SLOPES, 0 },
    { "batchnorm_bwd{act=2 has_add=1}(T[2,7,9,32], T[2,7,9,32], A[32], A[32], A[32], -, A[32], T[2,7,9,32])", CT_TYPES_ALL,
      SLOPES, 0 },

    { "batchnorm_bwd{act=1 has_add=1}(T[3,4,4,19], T[3,4,4,19], A[19], A[19], A[19], u8[3,4,4,3], -, -, T[3,4,4,19])",
      CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_bwd{act=1}(T[4,12,16,64], T[4,12,16,64], A[64], A[64], A[64], u8[4,12,16,8], -, -, T[4,12,16,64])",
      CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_bwd(T[2,2,3,33], T[2,2,3,33], A[33], A[33], A[33], -, -, -, T[2,2,3,33])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_bwd{act=2 has_add=1}(T[2,7,9,32], T[2,7,9,32], A[32], A[32], A[32], -, A[32], T[2,7,9,32], T[2,7,9,32])",
      CT_TYPES_ALL, SLOPES, 0 },

    { "batchnorm_sum{" BN " update_stats=1}(T[4,3,5,8], A[8], A[8], A[8], A[8], T[4,3,5,8], A[8], A[8], A[8], A[8])",
      CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_sum{" BN " update_stats=1}(T[3,4,4,19], A[19], A[19], A[19], A[19], T[3,4,4,19], A[19], A[19], A[19], A[19])",
      CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_sum{" BN "}(T[2,7], A[7], A[7], A[7], A[7], T[2,7], A[7], A[7], A[7], A[7])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_sum{" BN " update_stats=1}(T[4,12,16,64], A[64], A[64], A[64], A[64], T[4,12,16,64], A[64], A[64], A[64], A[64])",
      CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_sum_bwd(T[4,3,5,8], T[4,3,5,8], A[8], A[8], A[8], u8[4,3,5,1], T[4,3,5,8], A[8], A[8], A[8])",
      CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_sum_bwd(T[3,4,4,19], T[3,4,4,19], A[19], A[19], A[19], u8[3,4,4,3], T[3,4,4,19], A[19], A[19], A[19])",
      CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_sum_bwd(T[700,1], T[700,1], A[1], A[1], A[1], u8[700,1], T[700,1], A[1], A[1], A[1])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_sum_bwd(T[4,12,16,64], T[4,12,16,64], A[64], A[64], A[64], u8[4,12,16,8], T[4,12,16,64], A[64], A[64], A[64], T[4,12,16,64])",
      CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_sum_bwd{dy2_step=2}(T[2,7,5,32], T[2,7,5,32], A[32], A[32], A[32], u8[2,7,5,4], T[2,7,5,32], A[32], A[32], A[32], T[2,4,3,32])",
      CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_sum_bwd{dy2_step=2}(T[3,4,3,19], T[3,4,3,19], A[19], A[19], A[19], u8[3,4,3,3], T[3,4,3,19], A[19], A[19], A[19], T[3,2,2,19])",
      CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_bwd{act=1 has_add=1 dy2_step=2}(T[3,5,4,19], T[3,5,4,19], A[19], A[19], A[19], u8[3,5,4,3], -, -, T[3,3,2,19])",
      CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_bwd{act=1 dy2_step=3}(T[4,12,16,64], T[4,12,16,64], A[64], A[64], A[64], u8[4,12,16,8], -, -, T[4,4,6,64])",
      CT_TYPES_ALL, DATA, 0 },

    { "batchnorm_pool{" BN " update_stats=1}(T[4,4,6,8], A[8], A[8], A[8], A[8])", CT_TYPES_ALL, POOLED, 0 },
    { "batchnorm_pool{" BN " update_stats=1}(T[2,5,7,19], A[19], A[19], A[19], A[19])", CT_TYPES_ALL, POOLED, 0 },
    { "batchnorm_pool{" BN "}(T[1,2,2,3], A[3], A[3], A[3], A[3])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "batchnorm_pool{" BN " update_stats=1}(T[3,9,16,64], A[64], A[64], A[64], A[64])", CT_TYPES_ALL, POOLED, 0 },
    { "batchnorm_pool_bwd(T[4,2,3,8], T[4,4,6,8], A[8], A[8], A[8], u8[4,2,3,8])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_pool_bwd(T[2,2,3,19], T[2,5,7,19], A[19], A[19], A[19], u8[2,2,3,19])", CT_TYPES_ALL, MORE, 0 },
    { "batchnorm_pool_bwd(T[1,1,1,3], T[1,2,2,3], A[3], A[3], A[3], u8[1,1,1,3])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_pool_bwd(T[3,4,8,64], T[3,9,16,64], A[64], A[64], A[64], u8[3,4,8,64])", CT_TYPES_ALL, DATA, 0 },

    { "l2_normalize(T[2,3,5,2])", CT_TYPES_ALL, LENGTHS, 0 },
    { "l2_normalize(T[7,1])", CT_TYPES_ALL, LENGTHS, 0 },
    { "l2_normalize(T[19])", CT_TYPES_ALL, LENGTHS, 0 },
    { "l2_normalize(T[3,5,33])", CT_TYPES_ALL, LENGTHS, 0 },
    { "l2_normalize_bwd(T[2,3,5,2], T[2,3,5,2])", CT_TYPES_ALL, LENGTHS, 0 },
    { "l2_normalize_bwd(T[7,1], T[7,1])", CT_TYPES_ALL, LENGTHS, 0 },
    { "l2_normalize_bwd(T[19], T[19])", CT_TYPES_ALL, LENGTHS, 0 },
    { "l2_normalize_bwd(T[3,5,33], T[3,5,33])", CT_TYPES_ALL, LENGTHS, 0 },

    /* Large enough to be divided among threads, and for sums of sums of parts. */
    { "batchnorm{" BN " act=1 update_stats=1}(T[2300,33], A[33], A[33], A[33], A[33])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "batchnorm{" BN " update_stats=1}(T[2200,256], A[256], A[256], A[256], A[256])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "batchnorm_bwd(T[2200,256], T[2200,256], A[256], A[256], A[256])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "batchnorm{" BN " act=1 update_stats=1}(T[8,20,40,12], A[12], A[12], A[12], A[12])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_bwd{act=1 has_add=1}(T[8,20,40,12], T[8,20,40,12], A[12], A[12], A[12], u8[8,20,40,2])", CT_TYPES_ALL,
      DATA, 0 },

    { "batchnorm{" BN " act=2 update_stats=1}(T[8,20,40,12], A[12], A[12], A[12], A[12])", CT_TYPES_ALL, DATA, 0 },
    { "batchnorm_bwd{act=2 has_add=1}(T[8,20,40,12], T[8,20,40,12], A[12], A[12], A[12], -, A[12], T[8,20,40,12])",
      CT_TYPES_ALL, DATA, 0 },
    { "l2_normalize(T[4,70,90,2])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "l2_normalize_bwd(T[4,70,90,2], T[4,70,90,2])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    { "batchnorm_pool{" BN " update_stats=1}(T[8,60,160,32], A[32], A[32], A[32], A[32])", CT_TYPES_ALL, CT_D(INTS), 1 },
    { "batchnorm_pool_bwd(T[8,30,80,32], T[8,60,160,32], A[32], A[32], A[32], u8[8,30,80,32])", CT_TYPES_ALL, DATA, 1 },
    { "batchnorm_sum{" BN " update_stats=1}(T[4,56,56,64], A[64], A[64], A[64], A[64], T[4,56,56,64], A[64], A[64], A[64], A[64])",
      CT_TYPES_ALL, DATA, 1 },
    { "batchnorm_sum_bwd(T[4,56,56,64], T[4,56,56,64], A[64], A[64], A[64], u8[4,56,56,8], T[4,56,56,64], A[64], A[64], A[64])",
      CT_TYPES_ALL, DATA, 1 },
    { "batchnorm{" BN " act=1 update_stats=1}(T[8,60,160,32], A[32], A[32], A[32], A[32])", CT_TYPES_ALL, DATA, 1 },
    { "batchnorm{" BN " act=1 update_stats=1}(T[4,56,56,64], A[64], A[64], A[64], A[64], T[4,56,56,64])", CT_TYPES_ALL,
      DATA, 1 },
    { "batchnorm_bwd{act=1}(T[8,60,160,32], T[8,60,160,32], A[32], A[32], A[32], u8[8,60,160,4])", CT_TYPES_ALL, DATA,
      1 },
    { "batchnorm_bwd{act=1 has_add=1}(T[4,56,56,64], T[4,56,56,64], A[64], A[64], A[64], u8[4,56,56,8])", CT_TYPES_ALL,
      DATA, 1 },
    { "batchnorm{" BN " act=2 update_stats=1}(T[8,64,128,64], A[64], A[64], A[64], A[64])", CT_TYPES_ALL, DATA, 1 },
    { "batchnorm_infer{eps=1e-5 act=2}(T[8,64,128,64], A[64], A[64], A[64], A[64])", CT_TYPES_ALL, DATA, 1 },
    { "batchnorm_bwd{act=2}(T[8,64,128,64], T[8,64,128,64], A[64], A[64], A[64], -, A[64])", CT_TYPES_ALL, DATA, 1 },
    { "l2_normalize(T[8,64,128,2])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "l2_normalize_bwd(T[8,64,128,2], T[8,64,128,2])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
