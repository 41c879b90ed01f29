/* Cases of the linear family: rows in one or several dimensions, single rows and columns, long reductions. */
#include "config.h"

#include "harness/harness.h"

#define DATA (CT_D(UNIFORM) | CT_D(INTS))
#define MORE (DATA | CT_D(LARGE) | CT_D(SMALL) | CT_D(FAINT))

const ct_case_row ct_cases_linear[] = {
    { "linear(T[4,7], T[9,7], T[9])", CT_TYPES_ALL, MORE, 0 },
    { "linear(T[1,1], T[1,1])", CT_TYPES_ALL, DATA, 0 },
    { "linear(T[1,300], T[33,300], T[33])", CT_TYPES_ALL, DATA, 0 },
    { "linear(T[3,5,2,12], T[17,12])", CT_TYPES_ALL, DATA, 0 },
    { "linear(T[13], T[6,13], T[6])", CT_TYPES_ALL, DATA, 0 },
    { "linear(T[8,4000], T[10,4000], T[10])", CT_TYPES_ALL, DATA, 0 },
    { "linear_dgrad(T[4,9], T[9,7])", CT_TYPES_ALL, MORE, 0 },
    { "linear_dgrad(T[1,1], T[1,1])", CT_TYPES_ALL, DATA, 0 },
    { "linear_dgrad(T[3,5,2,17], T[17,12])", CT_TYPES_ALL, DATA, 0 },
    { "linear_dgrad(T[8,1500], T[1500,20])", CT_TYPES_ALL, DATA, 0 },
    { "linear_wgrad(T[4,7], T[4,9])", CT_TYPES_ALL, MORE, 0 },
    { "linear_wgrad(T[1,1], T[1,1])", CT_TYPES_ALL, DATA, 0 },
    { "linear_wgrad(T[3,5,2,12], T[3,5,2,17])", CT_TYPES_ALL, DATA, 0 },
    { "linear_wgrad(T[2000,6], T[2000,11])", CT_TYPES_ALL, DATA, 0 },
    { "bias_grad(T[4,9])", CT_TYPES_ALL, MORE, 0 },
    { "bias_grad(T[1])", CT_TYPES_ALL, DATA, 0 },
    { "bias_grad(T[2,5,6,33])", CT_TYPES_ALL, DATA, 0 },
    { "bias_grad(T[4800,1])", CT_TYPES_ALL, DATA, 0 },
    { "bias_grad(T[3000,20])", CT_TYPES_ALL, DATA, 0 },
    { "bias_grad(T[2300,33])", CT_TYPES_ALL, DATA, 0 },

    /* Large enough to be divided among threads. */
    { "linear(T[150,90], T[210,90], T[210])", CT_TYPES_ALL, DATA, 0 },
    { "linear_dgrad(T[150,210], T[210,90])", CT_TYPES_ALL, DATA, 0 },
    { "linear_wgrad(T[150,90], T[150,210])", CT_TYPES_ALL, DATA, 0 },
    { "linear(T[70,530], T[290,530], T[290])", CT_TYPES_ALL, MORE, 0 },
    { "linear(T[3,180,37], T[40,37], T[40])", CT_TYPES_ALL, DATA, 0 },
    { "linear_dgrad(T[70,530], T[530,290])", CT_TYPES_ALL, MORE, 0 },
    { "linear_dgrad(T[3,180,40], T[40,37])", CT_TYPES_ALL, DATA, 0 },
    { "linear_wgrad(T[3,180,37], T[3,180,40])", CT_TYPES_ALL, MORE, 0 },
    { "linear_wgrad(T[70,290], T[70,110])", CT_TYPES_ALL, MORE, 0 },

    { "linear(T[16,17920], T[1024,17920], T[1024])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "linear_dgrad(T[16,1024], T[1024,17920])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "linear_wgrad(T[16,17920], T[16,1024])", CT_TYPES_ACCUM, CT_D(UNIFORM), 1 },
    { "linear(T[16,2048], T[1000,2048], T[1000])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { "bias_grad(T[8,60,160,32])", CT_TYPES_ALL, CT_D(UNIFORM), 1 },
    { .text = NULL },
};
