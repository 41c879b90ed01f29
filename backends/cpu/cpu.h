/* Inside backends/cpu only: the device, the parallel loop, helpers, and the sets of implementations. */
#ifndef CT_CPU_CPU_H
#define CT_CPU_CPU_H

#include "backends/backend.h"
#include "backends/cpu/kern.h"
#include "base/alloc.h"
#include "base/dtype.h"
#include "ops/ops.h"

struct ct_device {
    int threads;         /* of the pool, >= 1 */
    const ct_kern *kern; /* inner loops for this processor */
    ct_device_opts opts;
};

/* ---- parallel.c ---- */

/* Calls body(arg, item, thread) once for each 0 <= item < items on up to dev->threads threads, 0 <= thread <
 * dev->threads; returns when all are done. Each thread begins with a share of its own, the same for the same number of items, in rising
 * order, and then takes from the others', so an item's result must not depend on which thread runs it: that is what makes results equal for
 * any number of threads. Runs inline when there is one item, one thread, or no OpenMP. */
typedef void (*ct_cpu_body)(void *arg, int64_t item, int thread);
void ct_cpu_for(const ct_device *dev, int64_t items, ct_cpu_body body, void *arg);
/* The same, the last items of each share first: what the thread that wrote a pass's last items finds in its cache. */
void ct_cpu_for_back(const ct_device *dev, int64_t items, ct_cpu_body body, void *arg);

bool ct_cpu_has_openmp(void);

/* ---- blas.c: the only file that knows OpenBLAS ---- */

/* C [m,n] = A' B' with row-major storage; A' is A or its transpose. One thread; may run in several threads at once. */
void ct_cpu_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                  int64_t ldb, float beta, float *c, int64_t ldc);
void ct_cpu_blas_init(void);          /* OpenBLAS keeps to the calling thread from here on */
const char *ct_cpu_blas_config(void); /* version and options; "" if not known */
const char *ct_cpu_blas_core(void);   /* kernel set, e.g. "Haswell" */

/* One sentence when OPENBLAS_CORETYPE pins a slower kernel set than this processor has, else NULL. Static storage. */
const char *ct_cpu_blas_warning(void);

/* ---- info.c ---- */

void ct_cpu_model(char *buf,
                  size_t size); /* "AMD EPYC 9654 96-Core Processor", or the architecture where that is not known */
void ct_cpu_features(char *buf, size_t size);             /* "sse4.2 avx avx2 fma ..." */
void ct_cpu_memory(uint64_t *total, uint64_t *available); /* bytes; 0 where not known */

/* ---- telemetry.c ---- */

/* Time the machine's processors had and spent working, in ticks since it was started, from the first line of `path`
 * (/proc/stat). False if it does not tell. */
bool ct_cpu_ticks(const char *path, uint64_t *busy, uint64_t *all);

enum { CT_CPU_PACKAGES = 16 };
typedef struct ct_cpu_energy {
    bool known;                     /* at least one reading was had */
    double joules;                  /* of all packages since the first reading; of each, what its counter has gone on */
    uint64_t last[CT_CPU_PACKAGES]; /* microjoules */
} ct_cpu_energy;
/* Adds what the processor packages under `dir` (/sys/class/powercap) have used since the call before. False where no counter
 * can be read: on most machines that takes root. Starts zeroed. */
bool ct_cpu_energy_read(const char *dir, ct_cpu_energy *e);

enum { CT_CPU_SENSORS = 64 };
/* Degrees Celsius of the hottest processor package with a sensor under `dir` (/sys/class/hwmon); NAN if there is none. */
double ct_cpu_temperature(const char *dir);

/* The whole machine: share of its processors that worked and watts since the call before, joules since the first, temperature, memory.
 * Not for several threads at once. */
ct_status ct_cpu_telemetry(int index, ct_telemetry *out);

/* ---- helpers ---- */

static inline int64_t ct_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t ct_max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t ct_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t ct_round_up(int64_t a, int64_t b) { return ct_ceil_div(a, b) * b; }

/* Types this backend's fast implementations take: f32 and, stored in 16 bits and computed in f32, bf16 and f16. */
static inline bool ct_cpu_type(ct_dtype d) { return d == CT_F32 || d == CT_BF16 || d == CT_F16; }

#define CT_CPU_NO_TYPE "cpu: only f32, bf16 and f16; the reference takes the rest"

static inline const void *ct_at(const void *p, ct_dtype d, int64_t i)
{
    return (const char *)p + i * (int64_t)(d == CT_F32 ? 4 : 2);
}
static inline void *ct_at_mut(void *p, ct_dtype d, int64_t i) { return (char *)p + i * (int64_t)(d == CT_F32 ? 4 : 2); }

/* Elements i .. i+n-1 of an array of type d as f32: the array itself, or a copy in buf [n]. */
const float *ct_cpu_read(const ct_kern *k, ct_dtype d, const void *p, int64_t i, int64_t n, float *buf);
/* Where to write n f32 results for elements i.. of p: p itself, or buf; ct_cpu_write_end stores them if they went to
 * buf. */
float *ct_cpu_write(ct_dtype d, void *p, int64_t i, float *buf);
void ct_cpu_write_end(const ct_kern *k, ct_dtype d, void *p, int64_t i, int64_t n, const float *buf);
void ct_cpu_to_f32(const ct_kern *k, ct_dtype d, const void *p, int64_t i, int64_t n, float *out); /* always copies */

/* n values to elements i.. of p. */
void ct_cpu_to_type(const ct_kern *k, ct_dtype d, const float *x, int64_t n, void *p, int64_t i);

/* Whether a result of so many f32 from p on, in rows of `row`, is written past the caches: it will have left them when it is read next, and rows are whole
 * cache lines. A line that is written so is not read before. */
#define CT_CPU_PAST_CACHE ((int64_t)16 << 20) /* bytes */
static inline bool ct_cpu_past_cache(const ct_kern *k, const void *p, int64_t elems, int64_t row)
{
    return k->streams && elems * 4 >= CT_CPU_PAST_CACHE && (uintptr_t)p % 64 == 0 && row % 16 == 0;
}

/* Cuts `total` elements into pieces for the parallel loop: piece size a multiple of `unit`, the same for any thread
 * count. */
typedef struct ct_pieces {
    int64_t size, count;
} ct_pieces;
static inline ct_pieces ct_cpu_pieces(int64_t total, int64_t unit, int64_t least)
{
    ct_pieces p;
    p.size = ct_round_up(ct_max64(ct_ceil_div(total, 256), least), unit);
    p.count = total > 0 ? ct_ceil_div(total, p.size) : 0;
    return p;
}

/* Of n pieces of equal work the power of two that is nearest to n, so that two, four or eight threads have the same to do; where there are
 * more than 15, one too many on one of the threads does not matter. */
static inline int64_t ct_cpu_even(int64_t n)
{
    int64_t two = 1;
    if (n > 15) return n;
    while (n * n >= 2 * two * two) two *= 2;
    return two;
}

/* Hands out parts of a scratch block in turn; with base NULL only counts. */
typedef struct ct_carve {
    char *base;
    size_t used;
} ct_carve;
static inline void *ct_carve_take(ct_carve *c, size_t bytes)
{
    void *p = c->base ? c->base + c->used : NULL;
    c->used += ct_align_up(bytes, CT_ALIGN);
    return p;
}

/* ---- the implementations: each file gives one set to backend.c, which lists them in order of preference ---- */

/* Every implementation here gives the same bits for any number of threads. */
#define CT_CPU_TUNED (CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC)
#define CT_CPU_FEWER_PRODUCTS CT_IMPL_DETERMINISTIC /* at the price of a few times the rounding error */

/* Products of bf16, sums in f32; what receipts say follows from the names. */
#define CT_CPU_PAIRS "cpu.bf16"
#define CT_CPU_PAIRS_WINO "cpu.winograd16"

#define CT_CPU_SPLIT "cpu.split" /* products of f32 as sums of those of bf16: kern_split.h */

/* The functions of two rows, f32_accept and f32_run for products of f32, pairs_accept and pairs_run for those of bf16, of what both are made by:
 * accept(dev, call, pairs) and run(dev, call, scratch, pairs). */
#define CT_CPU_TWO_FORMS(accept, run)                                                                                  \
    static ct_accept f32_accept(const ct_device *dev, const ct_call *call) { return accept(dev, call, false); }        \
    static ct_accept pairs_accept(const ct_device *dev, const ct_call *call) { return accept(dev, call, true); }       \
    static ct_status f32_run(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)                    \
    {                                                                                                                  \
        (void)stream;                                                                                                  \
        return run(dev, call, scratch, false);                                                                         \
    }                                                                                                                  \
    static ct_status pairs_run(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)                  \
    {                                                                                                                  \
        (void)stream;                                                                                                  \
        return run(dev, call, scratch, true);                                                                          \
    }

extern const ct_impl_set ct_cpu_depthwise_impls;
extern const ct_impl_set ct_cpu_planes_impls;
extern const ct_impl_set ct_cpu_wino_pairs_impls;
extern const ct_impl_set ct_cpu_wino_wgrad_pairs_impls;
extern const ct_impl_set ct_cpu_conv_pairs_impls;
extern const ct_impl_set ct_cpu_conv_wgrad_pairs_impls;
extern const ct_impl_set ct_cpu_wino_impls;
extern const ct_impl_set ct_cpu_wino_wgrad_impls;
extern const ct_impl_set ct_cpu_conv_impls;
extern const ct_impl_set ct_cpu_conv_split_impls;
extern const ct_impl_set ct_cpu_conv_wgrad_impls;
extern const ct_impl_set ct_cpu_conv_wgrad_split_impls;
extern const ct_impl_set ct_cpu_linear_direct_impls;
extern const ct_impl_set ct_cpu_linear_impls;
extern const ct_impl_set ct_cpu_norm_impls;
extern const ct_impl_set ct_cpu_norm_pool_impls;
extern const ct_impl_set ct_cpu_norm_more_impls;
extern const ct_impl_set ct_cpu_norm_joint_impls;
extern const ct_impl_set ct_cpu_norm_length_impls;
extern const ct_impl_set ct_cpu_standardize_impls;
extern const ct_impl_set ct_cpu_activation_impls;
extern const ct_impl_set ct_cpu_elementwise_impls;
extern const ct_impl_set ct_cpu_pool_impls;
extern const ct_impl_set ct_cpu_resample_impls;
extern const ct_impl_set ct_cpu_channels_impls;
extern const ct_impl_set ct_cpu_fuse_impls;
extern const ct_impl_set ct_cpu_softmax_impls;
extern const ct_impl_set ct_cpu_spectrum_impls;
extern const ct_impl_set ct_cpu_sequence_impls;
extern const ct_impl_set ct_cpu_ctc_impls;
extern const ct_impl_set ct_cpu_distill_impls;
extern const ct_impl_set ct_cpu_heatmap_impls;
extern const ct_impl_set ct_cpu_metric_impls;
extern const ct_impl_set ct_cpu_points_impls;
extern const ct_impl_set ct_cpu_optim_impls;
extern const ct_impl_set ct_cpu_muon_impls;
extern const ct_impl_set ct_cpu_image_impls;

#endif
