/* The CPU backend: one device, the host's memory, and streams on which everything has happened when a call returns. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <stdio.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#include <unistd.h>

#include "backends/cpu/ref/ref.h"
#include "base/cpus.h"

/* Nothing to hold: the types exist so that handles can be told from NULL. */
struct ct_stream {
    char unused;
};
struct ct_event {
    char unused;
};

#define HUGE_BYTES ((size_t)4 << 20) /* blocks from here on ask for huge pages */

static int device_count(void) { return 1; }

static ct_status device_open(const ct_device_opts *opts, ct_device **out)
{
    *out = NULL;
    if (opts->index != 0)
        return ct_fail(CT_EBACKEND, "cpu: there is one device, number 0; %d was asked for", opts->index);
    if (opts->threads < 0) return ct_fail(CT_EINVAL, "cpu: %d threads", opts->threads);
    const ct_kern *kern;
    CT_TRY(ct_kern_choose(&kern));
    ct_device *dev = ct_calloc(1, sizeof *dev, "the CPU device");
    if (!dev) return CT_ENOMEM;
    dev->opts = *opts;
    dev->threads = opts->threads > 0 ? opts->threads : ct_cpus();
    if (!ct_cpu_has_openmp()) dev->threads = 1;
    dev->kern = kern;
    ct_cpu_blas_init();
    *out = dev;
    return CT_OK;
}

static void device_close(ct_device *dev) { ct_free(dev); }

static ct_status device_info(ct_device *dev, ct_device_info *out)
{
    memset(out, 0, sizeof *out);
    ct_cpu_model(out->name, sizeof out->name);
    char features[160];
    ct_cpu_features(features, sizeof features);
    snprintf(out->detail, sizeof out->detail, "%s; %s loops; %d cores; OpenMP %s; %s (%s kernels)", features,
             dev->kern->name, ct_cpus(), ct_cpu_has_openmp() ? "yes" : "no", ct_cpu_blas_config(),
             ct_cpu_blas_core());
    snprintf(out->kernels, sizeof out->kernels, "%s loops, %s (%s kernels)", dev->kern->name, ct_cpu_blas_config(),
             ct_cpu_blas_core());
    const char *warning = ct_cpu_blas_warning();
    if (warning) snprintf(out->warning, sizeof out->warning, "%s", warning);
    snprintf(out->precisions, sizeof out->precisions, "fp32, f64; %s",
             dev->kern->pairs ? "bf16 multiplied, summed in fp32; fp16 stored, computed in fp32"
                              : "bf16 and fp16 stored, computed in fp32");
    out->threads = dev->threads;
    ct_cpu_memory(&out->memory_total, &out->memory_free);
    return CT_OK;
}

/* ---- memory ---- */

static ct_status mem_alloc(ct_device *dev, size_t bytes, const char *what, void **out)
{
    (void)dev;
    *out = ct_aligned_alloc(bytes, what);
    if (!*out) return CT_ENOMEM;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (bytes >= HUGE_BYTES) {
        /* Whole pages inside the block; a kernel that does not want to is no failure. */
        const size_t page = 4096;
        char *first = (char *)*out + (page - (size_t)((uintptr_t)*out % page)) % page;
        const size_t n = (bytes - (size_t)(first - (char *)*out)) / page * page;
        (void)madvise(first, n, MADV_HUGEPAGE);
    }
#endif
    return CT_OK;
}

static void mem_free(ct_device *dev, void *p)
{
    (void)dev;
    ct_free(p);
}

static ct_status mem_clear(ct_device *dev, ct_stream *s, void *dst, size_t bytes)
{
    (void)dev;
    (void)s;
    if (bytes > 0) memset(dst, 0, bytes);
    return CT_OK;
}

static ct_status mem_copy(ct_device *dev, ct_stream *s, void *dst, const void *src, size_t bytes)
{
    (void)dev;
    (void)s;
    if (bytes > 0) memmove(dst, src, bytes);
    return CT_OK;
}

/* ---- streams and events ---- */

static ct_status stream_create(ct_device *dev, ct_stream **out)
{
    (void)dev;
    *out = ct_calloc(1, sizeof **out, "a stream");
    return *out ? CT_OK : CT_ENOMEM;
}

static void stream_destroy(ct_device *dev, ct_stream *s)
{
    (void)dev;
    ct_free(s);
}

static ct_status stream_sync(ct_device *dev, ct_stream *s)
{
    (void)dev;
    (void)s;
    return CT_OK;
}

static ct_status event_create(ct_device *dev, ct_event **out)
{
    (void)dev;
    *out = ct_calloc(1, sizeof **out, "an event");
    return *out ? CT_OK : CT_ENOMEM;
}

static void event_destroy(ct_device *dev, ct_event *e)
{
    (void)dev;
    ct_free(e);
}

static ct_status event_record(ct_device *dev, ct_event *e, ct_stream *s)
{
    (void)dev;
    (void)e;
    (void)s;
    return CT_OK;
}

static ct_status event_wait(ct_device *dev, ct_stream *s, ct_event *e)
{
    (void)dev;
    (void)s;
    (void)e;
    return CT_OK;
}

static ct_status event_done(ct_device *dev, ct_event *e, bool *done)
{
    (void)dev;
    (void)e;
    *done = true;
    return CT_OK;
}

/* Factors of bf16 are multiplied as such by what is named so; all else widens what it reads. */
static ct_status receipt(const ct_device *dev, const ct_impl *impl, const ct_call *call, ct_receipt *out)
{
    (void)dev;
    (void)call;
    if (strcmp(impl->name, CT_CPU_PAIRS) == 0 || strcmp(impl->name, CT_CPU_PAIRS_WINO) == 0) out->math = "bf16";
    out->transforms = strncmp(impl->name, "cpu.winograd", sizeof "cpu.winograd" - 1) == 0;
    return CT_OK;
}

/* ---- implementations ---- */

/* In order of preference where several have an operator: convolutions for single channels, for few of them, with
 * products of bf16, with fewer products, for any shape. The references come last: of every operator they are the last choice. */
static const ct_impl_set *const sets[] = {
    &ct_cpu_depthwise_impls,
    &ct_cpu_planes_impls,
    &ct_cpu_wino_pairs_impls,
    &ct_cpu_wino_wgrad_pairs_impls,
    &ct_cpu_conv_pairs_impls,
    &ct_cpu_conv_wgrad_pairs_impls,
    &ct_cpu_wino_impls,
    &ct_cpu_wino_wgrad_impls,
    &ct_cpu_conv_split_impls,
    &ct_cpu_conv_wgrad_split_impls,
    &ct_cpu_conv_impls,
    &ct_cpu_conv_wgrad_impls,
    &ct_cpu_linear_direct_impls,
    &ct_cpu_linear_impls,
    &ct_cpu_norm_impls,
    &ct_cpu_norm_pool_impls,
    &ct_cpu_norm_more_impls,
    &ct_cpu_norm_joint_impls,
    &ct_cpu_norm_length_impls,
    &ct_cpu_standardize_impls,
    &ct_cpu_activation_impls,
    &ct_cpu_elementwise_impls,
    &ct_cpu_pool_impls,
    &ct_cpu_resample_impls,
    &ct_cpu_channels_impls,
    &ct_cpu_fuse_impls,
    &ct_cpu_softmax_impls,
    &ct_cpu_spectrum_impls,
    &ct_cpu_sequence_impls,
    &ct_cpu_ctc_impls,
    &ct_cpu_distill_impls,
    &ct_cpu_heatmap_impls,
    &ct_cpu_metric_impls,
    &ct_cpu_points_impls,
    &ct_cpu_optim_impls, &ct_cpu_muon_impls,
    &ct_cpu_image_impls,
#define CT_FAMILY(rules, cases, references) &references,
#include "ops/families.def"
#undef CT_FAMILY
};

const ct_backend ct_backend_cpu = {
    .abi = CT_BACKEND_ABI,
    .size = sizeof(ct_backend),
    .name = "cpu",
    .device_count = device_count,
    .open = device_open,
    .close = device_close,
    .info = device_info,
    .alloc = mem_alloc,
    .free = mem_free,
    .clear = mem_clear,
    .upload = mem_copy,
    .download = mem_copy,
    .copy = mem_copy,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_sync = stream_sync,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_done = event_done,
    .receipt = receipt,
    .telemetry = ct_cpu_telemetry,
    .host_memory = true,
    .sets = sets,
    .nsets = sizeof sets / sizeof sets[0],
};
