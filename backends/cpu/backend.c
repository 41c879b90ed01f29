/* The CPU backend: one device, the host's memory, and streams on which everything has happened when a call returns. */
#include "config.h"

#include "backends/cpu/cpu.h"

#include <stdio.h>
#include <string.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif
#include <unistd.h>

#include "backends/cpu/ref/ref.h"

/* Nothing to hold: the types exist so that handles can be told from NULL. */
struct ct_stream {
    char unused;
};
struct ct_event {
    char unused;
};

#define HUGE_BYTES ((size_t)4 << 20) /* blocks from here on ask for huge pages */

static int cores_allowed(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

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
    dev->threads = opts->threads > 0 ? opts->threads : cores_allowed();
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
             dev->kern->name, cores_allowed(), ct_cpu_has_openmp() ? "yes" : "no", ct_cpu_blas_config(),
             ct_cpu_blas_core());
    const char *warning = ct_cpu_blas_warning();
    if (warning) snprintf(out->warning, sizeof out->warning, "%s", warning);
    snprintf(out->precisions, sizeof out->precisions, "fp32, f64; bf16 and fp16 stored, computed in fp32");
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

static bool event_done(ct_device *dev, ct_event *e)
{
    (void)dev;
    (void)e;
    return true;
}

/* ---- implementations ---- */

static ct_accept ref_accept(const ct_device *dev, const ct_call *call)
{
    const ct_impl *ref = ct_ref_find(call->op);
    return ref ? ref->accept(dev, call) : ct_accept_no("ref: a view does not run");
}

static ct_status ref_run(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    const ct_impl *ref = ct_ref_find(call->op);
    if (!ref) return ct_fail(CT_EINTERNAL, "%s has no reference implementation", ct_op_get(call->op)->name);
    return ref->run(dev, stream, call, scratch);
}

/* Every implementation here gives the same bits for any number of threads. */
#define TUNED (CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC)
#define FEWER_PRODUCTS CT_IMPL_DETERMINISTIC /* at the price of a few times the rounding error */
#define REF(op)                                                                                                        \
    {                                                                                                                  \
        op, "ref", CT_IMPL_REFERENCE | CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC, ref_accept, ref_run                      \
    }

static const ct_impl impls[] = {
    { CT_OP_CONV2D, "cpu.depthwise", TUNED, ct_cpu_depthwise_accept, ct_cpu_depthwise_run },
    { CT_OP_CONV2D, "cpu.winograd", FEWER_PRODUCTS, ct_cpu_wino_accept, ct_cpu_wino_run },
    { CT_OP_CONV2D, "cpu.indirect", TUNED, ct_cpu_conv2d_accept, ct_cpu_conv2d_run },
    REF(CT_OP_CONV2D),
    { CT_OP_CONV2D_DGRAD, "cpu.depthwise", TUNED, ct_cpu_depthwise_dgrad_accept, ct_cpu_depthwise_dgrad_run },
    { CT_OP_CONV2D_DGRAD, "cpu.winograd", FEWER_PRODUCTS, ct_cpu_wino_dgrad_accept, ct_cpu_wino_dgrad_run },
    { CT_OP_CONV2D_DGRAD, "cpu.indirect", TUNED, ct_cpu_conv2d_dgrad_accept, ct_cpu_conv2d_dgrad_run },
    REF(CT_OP_CONV2D_DGRAD),
    { CT_OP_CONV2D_WGRAD, "cpu.depthwise", TUNED, ct_cpu_depthwise_wgrad_accept, ct_cpu_depthwise_wgrad_run },
    { CT_OP_CONV2D_WGRAD, "cpu.winograd", FEWER_PRODUCTS, ct_cpu_wino_wgrad_accept, ct_cpu_wino_wgrad_run },
    { CT_OP_CONV2D_WGRAD, "cpu.outer", TUNED, ct_cpu_conv2d_wgrad_accept, ct_cpu_conv2d_wgrad_run },
    REF(CT_OP_CONV2D_WGRAD),
    { CT_OP_LINEAR, "cpu.blas", TUNED, ct_cpu_linear_accept, ct_cpu_linear_run },
    REF(CT_OP_LINEAR),
    { CT_OP_LINEAR_DGRAD, "cpu.blas", TUNED, ct_cpu_linear_dgrad_accept, ct_cpu_linear_dgrad_run },
    REF(CT_OP_LINEAR_DGRAD),
    { CT_OP_LINEAR_WGRAD, "cpu.blas", TUNED, ct_cpu_linear_wgrad_accept, ct_cpu_linear_wgrad_run },
    REF(CT_OP_LINEAR_WGRAD),
    { CT_OP_BIAS_GRAD, "cpu.vector", TUNED, ct_cpu_bias_grad_accept, ct_cpu_bias_grad_run },
    REF(CT_OP_BIAS_GRAD),
    { CT_OP_BATCHNORM, "cpu.vector", TUNED, ct_cpu_batchnorm_accept, ct_cpu_batchnorm_run },
    REF(CT_OP_BATCHNORM),
    { CT_OP_BATCHNORM_INFER, "cpu.vector", TUNED, ct_cpu_batchnorm_infer_accept, ct_cpu_batchnorm_infer_run },
    REF(CT_OP_BATCHNORM_INFER),
    { CT_OP_BATCHNORM_BWD, "cpu.vector", TUNED, ct_cpu_batchnorm_bwd_accept, ct_cpu_batchnorm_bwd_run },
    REF(CT_OP_BATCHNORM_BWD),
    { CT_OP_ACTIVATION, "cpu.vector", TUNED, ct_cpu_activation_accept, ct_cpu_activation_run },
    REF(CT_OP_ACTIVATION),
    { CT_OP_ACTIVATION_BWD, "cpu.vector", TUNED, ct_cpu_activation_bwd_accept, ct_cpu_activation_bwd_run },
    REF(CT_OP_ACTIVATION_BWD),
    { CT_OP_DROPOUT_MASK, "cpu.vector", TUNED, ct_cpu_dropout_mask_accept, ct_cpu_dropout_mask_run },
    REF(CT_OP_DROPOUT_MASK),
    { CT_OP_DROPOUT_APPLY, "cpu.vector", TUNED, ct_cpu_dropout_apply_accept, ct_cpu_dropout_apply_run },
    REF(CT_OP_DROPOUT_APPLY),
    { CT_OP_ADD, "cpu.vector", TUNED, ct_cpu_add_accept, ct_cpu_add_run },
    REF(CT_OP_ADD),
    { CT_OP_MUL, "cpu.vector", TUNED, ct_cpu_mul_accept, ct_cpu_mul_run },
    REF(CT_OP_MUL),
    { CT_OP_SCALE, "cpu.vector", TUNED, ct_cpu_scale_accept, ct_cpu_scale_run },
    REF(CT_OP_SCALE),
    { CT_OP_CAST, "cpu.vector", TUNED, ct_cpu_cast_accept, ct_cpu_cast_run },
    REF(CT_OP_CAST),
    { CT_OP_ACCUMULATE, "cpu.vector", TUNED, ct_cpu_accumulate_accept, ct_cpu_accumulate_run },
    REF(CT_OP_ACCUMULATE),
    { CT_OP_FIT_CHANNELS, "cpu.rows", TUNED, ct_cpu_fit_channels_accept, ct_cpu_fit_channels_run },
    REF(CT_OP_FIT_CHANNELS),
    { CT_OP_MAXPOOL2D, "cpu.vector", TUNED, ct_cpu_maxpool2d_accept, ct_cpu_maxpool2d_run },
    REF(CT_OP_MAXPOOL2D),
    { CT_OP_MAXPOOL2D_BWD, "cpu.vector", TUNED, ct_cpu_maxpool2d_bwd_accept, ct_cpu_maxpool2d_bwd_run },
    REF(CT_OP_MAXPOOL2D_BWD),
    { CT_OP_AVGPOOL2D, "cpu.vector", TUNED, ct_cpu_avgpool2d_accept, ct_cpu_avgpool2d_run },
    REF(CT_OP_AVGPOOL2D),
    { CT_OP_AVGPOOL2D_BWD, "cpu.vector", TUNED, ct_cpu_avgpool2d_bwd_accept, ct_cpu_avgpool2d_bwd_run },
    REF(CT_OP_AVGPOOL2D_BWD),
    { CT_OP_GLOBAL_AVGPOOL, "cpu.vector", TUNED, ct_cpu_global_avgpool_accept, ct_cpu_global_avgpool_run },
    REF(CT_OP_GLOBAL_AVGPOOL),
    { CT_OP_GLOBAL_AVGPOOL_BWD, "cpu.vector", TUNED, ct_cpu_global_avgpool_bwd_accept, ct_cpu_global_avgpool_bwd_run },
    REF(CT_OP_GLOBAL_AVGPOOL_BWD),
    { CT_OP_UPSAMPLE_BILINEAR, "cpu.vector", TUNED, ct_cpu_upsample_accept, ct_cpu_upsample_run },
    REF(CT_OP_UPSAMPLE_BILINEAR),
    { CT_OP_UPSAMPLE_BILINEAR_BWD, "cpu.vector", TUNED, ct_cpu_upsample_bwd_accept, ct_cpu_upsample_bwd_run },
    REF(CT_OP_UPSAMPLE_BILINEAR_BWD),
    { CT_OP_LOG_SOFTMAX, "cpu.vector", TUNED, ct_cpu_log_softmax_accept, ct_cpu_log_softmax_run },
    REF(CT_OP_LOG_SOFTMAX),
    { CT_OP_LOG_SOFTMAX_BWD, "cpu.vector", TUNED, ct_cpu_log_softmax_bwd_accept, ct_cpu_log_softmax_bwd_run },
    REF(CT_OP_LOG_SOFTMAX_BWD),
    { CT_OP_SWAP, "cpu.tiles", TUNED, ct_cpu_swap_accept, ct_cpu_swap_run },
    REF(CT_OP_SWAP),
    { CT_OP_LSTM, "cpu.packed", TUNED, ct_cpu_lstm_accept, ct_cpu_lstm_run },
    REF(CT_OP_LSTM),
    { CT_OP_LSTM_BWD, "cpu.packed", TUNED, ct_cpu_lstm_bwd_accept, ct_cpu_lstm_bwd_run },
    REF(CT_OP_LSTM_BWD),
    REF(CT_OP_LOSS_SEED),
    REF(CT_OP_SOFTMAX_XENT),
    REF(CT_OP_SOFTMAX_XENT_BWD),
    REF(CT_OP_SOFT_MARGIN),
    REF(CT_OP_SOFT_MARGIN_BWD),
    REF(CT_OP_WEIGHTED_SUM),
    { CT_OP_CTC_LOSS, "cpu.vector", TUNED, ct_cpu_ctc_loss_accept, ct_cpu_ctc_loss_run },
    REF(CT_OP_CTC_LOSS),
    { CT_OP_CTC_LOSS_BWD, "cpu.vector", TUNED, ct_cpu_ctc_loss_bwd_accept, ct_cpu_ctc_loss_bwd_run },
    REF(CT_OP_CTC_LOSS_BWD),
    REF(CT_OP_ARGMAX),
    REF(CT_OP_BATCH_SUMS),
    REF(CT_OP_METRIC_SUMS),
    { CT_OP_CTC_GREEDY, "cpu.vector", TUNED, ct_cpu_ctc_greedy_accept, ct_cpu_ctc_greedy_run },
    REF(CT_OP_CTC_GREEDY),
    REF(CT_OP_EDIT_SUMS),
    REF(CT_OP_LR_SCHEDULE),
    { CT_OP_GRAD_NORM, "cpu.vector", TUNED, ct_cpu_grad_norm_accept, ct_cpu_grad_norm_run },
    REF(CT_OP_GRAD_NORM),
    { CT_OP_ADAMW, "cpu.vector", TUNED, ct_cpu_adamw_accept, ct_cpu_adamw_run },
    REF(CT_OP_ADAMW),
    { CT_OP_SGD, "cpu.vector", TUNED, ct_cpu_sgd_accept, ct_cpu_sgd_run },
    REF(CT_OP_SGD),
    { CT_OP_EMA, "cpu.vector", TUNED, ct_cpu_ema_accept, ct_cpu_ema_run },
    REF(CT_OP_EMA),
    REF(CT_OP_STEP_END),
    REF(CT_OP_NEXT_DRAW),
    { CT_OP_PREPROCESS, "cpu.vector", TUNED, ct_cpu_preprocess_accept, ct_cpu_preprocess_run },
    REF(CT_OP_PREPROCESS),
    REF(CT_OP_MOVE_POINTS),
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
    .telemetry = ct_cpu_telemetry,
    .impls = impls,
    .nimpls = sizeof impls / sizeof impls[0],
};
