/* Cases of the sequence family: one direction and both, with and without bias and lengths, single steps, samples and
 * units, hidden sizes that are no multiple of a vector. Weights are of size 1/sqrt(H), as they are drawn. */
#include "config.h"

#include "harness/harness.h"

#define MOVED (CT_D(UNIFORM) | CT_D(LARGE))
#define DATA (CT_D(UNIFORM) | CT_D(FAINT) | CT_D(SPECIAL))

const ct_case_row ct_cases_sequence[] = {
    { "swap(T[3,5])", CT_TYPES_ALL, MOVED, 0 },
    { "swap(T[1,7,3])", CT_TYPES_ALL, MOVED, 0 },
    { "swap(T[7,1,3])", CT_TYPES_ALL, MOVED, 0 },
    { "swap(T[4,6,2,3,2])", CT_TYPES_ALL, MOVED, 0 },
    { "swap(T[9,13,40])", CT_TYPES_ALL, MOVED, 0 },
    { "swap(T[33,70])", CT_TYPES_ALL, MOVED, 0 },

    { "lstm(T[3,2,8], T[8,2])", CT_TYPES_ALL, DATA, 0 },
    { "lstm(T[1,1,4], T[4,1], T[4])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm(T[4,3,20], T[20,5], T[20], -, -, -, i32[3])", CT_TYPES_ALL, DATA, 0 },
    { "lstm(T[5,2,28], T[28,7], -, T[5,2,28], T[28,7])", CT_TYPES_ALL, DATA, 0 },
    { "lstm(T[6,4,12], T[12,3], T[12], T[6,4,12], T[12,3], T[12])", CT_TYPES_ALL, DATA, 0 },
    { "lstm(T[6,5,36], T[36,9], T[36], T[6,5,36], T[36,9], T[36], i32[5])", CT_TYPES_ALL, DATA, 0 },
    { "lstm(T[1,3,24], T[24,6], T[24], T[1,3,24], T[24,6], T[24], i32[3])", CT_TYPES_ALL, DATA, 0 },
    { "lstm_bwd(T[3,2,2], T[3,2,2], T[1,3,2,8], A[1,3,2,2], T[8,2])", CT_TYPES_ALL, DATA, 0 },
    { "lstm_bwd(T[1,1,1], T[1,1,1], T[1,1,1,4], A[1,1,1,1], T[4,1])", CT_TYPES_ALL, DATA, 0 },
    { "lstm_bwd(T[4,3,5], T[4,3,5], T[1,4,3,20], A[1,4,3,5], T[20,5], -, i32[3])", CT_TYPES_ALL, DATA, 0 },
    { "lstm_bwd(T[5,2,14], T[5,2,14], T[2,5,2,28], A[2,5,2,7], T[28,7], T[28,7])", CT_TYPES_ALL, DATA, 0 },
    { "lstm_bwd(T[6,5,18], T[6,5,18], T[2,6,5,36], A[2,6,5,9], T[36,9], T[36,9], i32[5])", CT_TYPES_ALL, DATA, 0 },
    { "lstm_bwd(T[1,3,12], T[1,3,12], T[2,1,3,24], A[2,1,3,6], T[24,6], T[24,6], i32[3])", CT_TYPES_ALL, DATA, 0 },

    /* Large enough to be divided among threads, blocks of columns and groups of samples. */
    { "swap(T[40,50,60])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm(T[7,29,192], T[192,48], T[192], T[7,29,192], T[192,48], T[192], i32[29])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm(T[5,33,148], T[148,37])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm_bwd(T[7,29,96], T[7,29,96], T[2,7,29,192], A[2,7,29,48], T[192,48], T[192,48], i32[29])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },
    { "lstm_bwd(T[5,33,37], T[5,33,37], T[1,5,33,148], A[1,5,33,37], T[148,37])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },

    /* Few samples with units in vectors, sums longer than a chunk of them, rows of (step, sample) in several parts. */
    { "lstm(T[4,11,192], T[192,48], T[192], T[4,11,192], T[192,48], T[192], i32[11])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm(T[2,2,2080], T[2080,520])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm(T[3,70,160], T[160,40], -, T[3,70,160], T[160,40])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm_bwd(T[4,11,96], T[4,11,96], T[2,4,11,192], A[2,4,11,48], T[192,48], T[192,48], i32[11])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },
    { "lstm_bwd(T[2,2,520], T[2,2,520], T[1,2,2,2080], A[1,2,2,520], T[2080,520])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm_bwd(T[9,70,80], T[9,70,80], T[2,9,70,160], A[2,9,70,40], T[160,40], T[160,40], i32[70])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },

    /* More than a few samples with units in multiples of 32: products on matrix units, in tiles that samples do not fill. */
    { "lstm(T[4,37,256], T[256,64], T[256], T[4,37,256], T[256,64], T[256], i32[37])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm(T[3,70,384], T[384,96])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm(T[5,17,128], T[128,32], -, T[5,17,128], T[128,32])", CT_TYPES_ALL, DATA, 0 },
    { "lstm_bwd(T[4,37,128], T[4,37,128], T[2,4,37,256], A[2,4,37,64], T[256,64], T[256,64], i32[37])", CT_TYPES_ALL,
      CT_D(UNIFORM), 0 },
    { "lstm_bwd(T[9,70,96], T[9,70,96], T[1,9,70,384], A[1,9,70,96], T[384,96])", CT_TYPES_ALL, CT_D(UNIFORM), 0 },
    { "lstm_bwd(T[5,17,64], T[5,17,64], T[2,5,17,128], A[2,5,17,32], T[128,32], T[128,32])", CT_TYPES_ALL, DATA, 0 },

    { "swap(T[32,26,512])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "lstm(T[26,32,1024], T[1024,256], T[1024], T[26,32,1024], T[1024,256], T[1024])", CT_TYPES_ALL, CT_D(UNIFORM),
      1 },
    { "lstm_bwd(T[26,32,512], T[26,32,512], T[2,26,32,1024], A[2,26,32,256], T[1024,256], T[1024,256])", CT_TYPES_ALL,
      CT_D(UNIFORM), 1 },
    { "lstm(T[40,32,384], T[384,96], T[384], T[40,32,384], T[384,96], T[384], i32[32])", CT_TYPES_ALL, CT_D(UNIFORM),
      1 },
    { "lstm_bwd(T[40,32,192], T[40,32,192], T[2,40,32,384], A[2,40,32,96], T[384,96], T[384,96], i32[32])",
      CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
