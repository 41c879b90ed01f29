/* The inner loops in portable C for any processor: what the compiler's baseline has (SSE2 on x86-64, NEON on
 * aarch64). */
#include "config.h"

#include "backends/cpu/kern.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "ops/math/dropout_math.h"

#define KERN_VL 4
#define KERN_NV 2
#define KERN_MR 6
#define KERN_WINO_MR 6
#define KERN_WINO_WMR 4
#define KERN_L2_BYTES ((int64_t)512 << 10)
#define KERN_TABLE ct_kern_base
#define KERN_NAME "base"
#include "backends/cpu/kern_table.h"

/* The same with products of bf16 in plain C, to test by on any processor: far slower than f32, and taken only where
 * CAPTRAIN_KERNELS names it. */
#define KERN_DOT_EMULATED
#include "backends/cpu/kern_pairs.h"

const ct_kern ct_kern_basebf16 = { .name = "basebf16", .l2_bytes = KERN_L2_BYTES, .pairs = &pairs_kernels, KERN_MEMBERS };

/* And with products of tiles. */
#define KERN_TILES_EMULATED
#include "backends/cpu/kern_amx.h"
#include "backends/cpu/kern_split.h"

const ct_kern ct_kern_baseamx = { .name = "baseamx", .l2_bytes = KERN_L2_BYTES, .pairs = &tiles_kernels, .split = &split_kernels, KERN_MEMBERS };
