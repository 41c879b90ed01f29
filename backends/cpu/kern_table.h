/* The inner loops of one instruction set: the bodies, each with a table of its own, and the table of these. Included by
 * kern_<isa>.c inside its target region. KERN_TABLE is the name of the table in kern.h. */
#include "backends/cpu/kern_conv.h"
#include "backends/cpu/kern_vec.h"
#include "backends/cpu/kern_wino.h"
#include "backends/cpu/kern_depthwise.h"
#include "backends/cpu/kern_planes.h"
#include "backends/cpu/kern_copy.h"
#include "backends/cpu/kern_element.h"
#include "backends/cpu/kern_sum.h"
#include "backends/cpu/kern_norm.h"
#include "backends/cpu/kern_standardize.h"
#include "backends/cpu/kern_pool.h"
#include "backends/cpu/kern_norm_pool.h"
#include "backends/cpu/kern_resample.h"
#include "backends/cpu/kern_soft.h"
#include "backends/cpu/kern_silu.h"
#include "backends/cpu/kern_random.h"
#include "backends/cpu/kern_lstm.h"
#include "backends/cpu/kern_optim.h"

/* What any table made of these bodies has. */
#define KERN_MEMBERS                                                                                                   \
    .vl = KERN_VL, .streams = KERN_STREAMS, .conv = &conv_kernels, .wino = &wino_kernels, .depthwise = &depthwise_kernels,                      \
    .planes = &planes_kernels, .copy = &copy_kernels, .element = &element_kernels, .sum = &sum_kernels,                \
    .norm = &norm_kernels, .standardize = &standardize_kernels, .pool = &pool_kernels, .norm_pool = &norm_pool_kernels, .resample = &resample_kernels, .soft = &soft_kernels,                \
    .silu = &silu_kernels, .random = &random_kernels, .ctc = &ctc_kernels, .lstm = &lstm_kernels, .optim = &optim_kernels

const ct_kern KERN_TABLE = { .name = KERN_NAME, .l2_bytes = KERN_L2_BYTES, KERN_MEMBERS };
