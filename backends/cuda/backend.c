/* The CUDA backend's table, and under it devices, memory, streams, events and captured graphs. */
#include "backends/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/libs.h"
#include "backends/cuda/nccl.h"
#include "backends/cuda/nvml.h"

const ct_services *ct_core;

const ct_backend *ct_backend_entry(const ct_services *services);

/* The runtime keeps an error until it is taken, and the next launch would be blamed for it: whoever has seen one takes it. */
static bool works(cudaError_t e)
{
    if (e != cudaSuccess) (void)cudaGetLastError();
    return e == cudaSuccess;
}

ct_status ct_cuda_fail(cudaError_t e, const char *what)
{
    (void)works(e);
    return ct_core->fail(e == cudaErrorMemoryAllocation ? CT_ENOMEM : CT_EBACKEND, "cuda: %s: %s (%s)", what, cudaGetErrorString(e),
                         cudaGetErrorName(e));
}

/* ---- identity ---- */

static int device_count(void)
{
    int n = 0, driver = 0, runtime = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (works(e) && n > 0) return n;
    (void)works(cudaDriverGetVersion(&driver));
    (void)works(cudaRuntimeGetVersion(&runtime));
    if (e == cudaErrorInsufficientDriver && driver == 0)
        ct_core->fail(CT_EBACKEND, "no NVIDIA driver is loaded (CUDA runtime %d.%d is there)", runtime / 1000, runtime % 1000 / 10);
    else if (e == cudaErrorInsufficientDriver)
        ct_core->fail(CT_EBACKEND, "the NVIDIA driver knows CUDA %d.%d, this program needs %d.%d", driver / 1000, driver % 1000 / 10,
                      runtime / 1000, runtime % 1000 / 10);
    else if (e == cudaErrorNoDevice || e == cudaSuccess)
        ct_core->fail(CT_EBACKEND, "the NVIDIA driver sees no GPU (or CUDA_VISIBLE_DEVICES hides all of them)");
    else
        ct_cuda_fail(e, "looking for GPUs");
    return 0;
}

static void close_device(ct_device *d)
{
    if (!d) return;
    ct_cuda_libs_close(d);
    ct_core->free(d);
}

static ct_status open_device(const ct_device_opts *opts, ct_device **out)
{
    struct cudaDeviceProp prop;
    int n = device_count();
    if (n == 0) return CT_EBACKEND;
    if (opts->index < 0 || opts->index >= n)
        return ct_core->fail(CT_EBACKEND, "cuda: there is no GPU %d; this machine has %d, counted from 0", opts->index, n);
    CT_CUDA_TRY(cudaGetDeviceProperties(&prop, opts->index));
    if (opts->tf32 && prop.major < 8)
        return ct_core->fail(CT_EUNSUPPORTED, "cuda: tf32 needs compute capability 8.0; %.100s has %d.%d: use fp32 or fp16", prop.name, prop.major,
                             prop.minor);
    CT_CUDA_TRY(cudaSetDevice(opts->index));
    ct_device *d = ct_core->alloc(sizeof *d, "CUDA device");
    if (!d) return CT_ENOMEM;
    memset(d, 0, sizeof *d);
    d->index = opts->index;
    d->opts = *opts;
    d->major = prop.major;
    d->minor = prop.minor;
    d->sms = prop.multiProcessorCount;
    d->memory = prop.totalGlobalMem;
    snprintf(d->name, sizeof d->name, "%.100s", prop.name);
    if (!works(cudaDeviceGetPCIBusId(d->bus, (int)sizeof d->bus, d->index))) d->bus[0] = '\0';
    ct_status st = ct_cuda_libs_open(d);
    if (st == CT_OK) {
        *out = d;
        return CT_OK;
    }
    close_device(d);
    return st;
}

/* Types by what the card's multiplying units take: Tensor Cores know fp16 from compute capability 7.0 on, TF32 and bf16 from 8.0 on. */
static void precisions(const ct_device *d, char *buf, size_t size)
{
    const char *text = d->major >= 8   ? "fp32; tf32, bf16 and fp16 on Tensor Cores"
                       : d->major == 7 ? "fp32; fp16 on Tensor Cores; bf16 stored, computed in fp32"
                                       : "fp32; bf16 and fp16 stored, computed in fp32";
    snprintf(buf, size, "%s", text);
}

static ct_status info(ct_device *d, ct_device_info *out)
{
    size_t available = 0, total = 0;
    int driver = 0, runtime = 0;
    char libs[256] = "", nccl[32], version[64];
    memset(out, 0, sizeof *out);
    CT_CUDA_TRY(cudaMemGetInfo(&available, &total));
    (void)works(cudaDriverGetVersion(&driver));
    (void)works(cudaRuntimeGetVersion(&runtime));
    ct_cuda_libs_versions(libs, sizeof libs);
    ct_cuda_nccl_version(nccl, sizeof nccl);
    ct_nvml_driver(ct_core, version, sizeof version);
    snprintf(out->name, sizeof out->name, "%s", d->name);
    snprintf(out->detail, sizeof out->detail, "compute capability %d.%d, %d multiprocessors, PCI %s, driver %s%sfor CUDA %d.%d, runtime %d.%d%s%s%s%s",
             d->major, d->minor, d->sms, d->bus, version, version[0] ? " " : "", driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
             libs[0] ? ", " : "", libs, nccl[0] ? ", " : "", nccl);
    snprintf(out->kernels, sizeof out->kernels, "%s, %.120s", d->name, libs);
    out->threads = 1;
    precisions(d, out->precisions, sizeof out->precisions);
    out->memory_total = total;
    out->memory_free = available;
    return CT_OK;
}

/* Engines that use Tensor Cores want rows of channels of 16 bytes. */
static int64_t channel_multiple(const ct_device_opts *opts, ct_dtype type)
{
    struct cudaDeviceProp prop;
    if (!works(cudaGetDeviceProperties(&prop, opts->index))) return 1; /* open() says what is wrong with it */
    if (type == CT_F16) return prop.major >= 7 ? 8 : 1;
    if (type == CT_BF16) return prop.major >= 8 ? 8 : 1;
    return type == CT_F32 && opts->tf32 && prop.major >= 8 ? 4 : 1;
}

/* By bus: two instances of a card that is cut into several (MIG) count as one, which is how NCCL sees them, too. */
static void device_place(int index, char *buf, size_t size)
{
    if (!works(cudaDeviceGetPCIBusId(buf, (int)size, index))) snprintf(buf, size, "card %d", index);
}

/* ---- what the driver tells about a card ---- */

static ct_status telemetry(int index, ct_telemetry *out)
{
    char bus[CT_NVML_BUS];
    CT_CUDA_TRY(cudaDeviceGetPCIBusId(bus, (int)sizeof bus, index));
    return ct_nvml_telemetry(ct_core, bus, out);
}

static void memory_holders(int index, char *buf, size_t size)
{
    char bus[CT_NVML_BUS];
    buf[0] = '\0';
    if (works(cudaDeviceGetPCIBusId(bus, (int)sizeof bus, index))) ct_nvml_holders(ct_core, bus, buf, size);
}

/* ---- memory ---- */

static ct_status allocate(ct_device *d, size_t bytes, const char *what, void **out)
{
    size_t available = 0, total = 0;
    cudaError_t e = cudaMalloc(out, bytes ? bytes : 1);
    if (works(e)) return CT_OK;
    if (e != cudaErrorMemoryAllocation) return ct_cuda_fail(e, what);
    (void)works(cudaMemGetInfo(&available, &total));
    return ct_core->fail(CT_ENOMEM, "cuda: %s: %zu bytes on %s, of whose %zu bytes %zu are free", what, bytes, d->name, total, available);
}

static void release(ct_device *d, void *p)
{
    (void)d;
    if (p) (void)works(cudaFree(p));
}

/* Pinned: the card reads and writes it without the driver's own buffers in between, and copies do not wait. */
static ct_status host_allocate(ct_device *d, size_t bytes, const char *what, void **out)
{
    (void)d;
    cudaError_t e = cudaHostAlloc(out, bytes ? bytes : 1, cudaHostAllocDefault);
    if (works(e)) return CT_OK;
    return ct_core->fail(e == cudaErrorMemoryAllocation ? CT_ENOMEM : CT_EBACKEND, "cuda: %s: %zu bytes of pinned host memory: %s", what,
                         bytes, cudaGetErrorString(e));
}

static void host_release(ct_device *d, void *p)
{
    (void)d;
    if (p) (void)works(cudaFreeHost(p));
}

static ct_status clear(ct_device *d, ct_stream *s, void *dst, size_t bytes)
{
    (void)d;
    CT_CUDA_TRY(cudaMemsetAsync(dst, 0, bytes, s->s));
    return CT_OK;
}
static ct_status upload(ct_device *d, ct_stream *s, void *dst, const void *host, size_t bytes)
{
    (void)d;
    CT_CUDA_TRY(cudaMemcpyAsync(dst, host, bytes, cudaMemcpyHostToDevice, s->s));
    return CT_OK;
}
static ct_status download(ct_device *d, ct_stream *s, void *host, const void *src, size_t bytes)
{
    (void)d;
    CT_CUDA_TRY(cudaMemcpyAsync(host, src, bytes, cudaMemcpyDeviceToHost, s->s));
    return CT_OK;
}
static ct_status copy(ct_device *d, ct_stream *s, void *dst, const void *src, size_t bytes)
{
    (void)d;
    CT_CUDA_TRY(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, s->s));
    return CT_OK;
}

/* ---- streams and events ---- */

static void stream_destroy(ct_device *d, ct_stream *s)
{
    (void)d;
    if (!s) return;
    if (s->s) (void)works(cudaStreamDestroy(s->s));
    if (s->tickets) (void)works(cudaFree(s->tickets));
    ct_core->free(s);
}
static ct_status stream_create(ct_device *d, ct_stream **out)
{
    ct_stream *s = ct_core->alloc(sizeof *s, "CUDA stream");
    if (!s) return CT_ENOMEM;
    *s = (ct_stream){ 0 };
    cudaError_t e = cudaStreamCreateWithFlags(&s->s, cudaStreamNonBlocking);
    if (e == cudaSuccess) e = cudaMalloc((void **)&s->tickets, CT_TICKETS * sizeof *s->tickets);
    if (e == cudaSuccess) e = cudaMemsetAsync(s->tickets, 0, CT_TICKETS * sizeof *s->tickets, s->s);
    if (e != cudaSuccess) {
        const ct_status st = ct_cuda_fail(e, "making a stream");
        stream_destroy(d, s);
        return st;
    }
    *out = s;
    return CT_OK;
}
static ct_status stream_sync(ct_device *d, ct_stream *s)
{
    (void)d;
    CT_CUDA_TRY(cudaStreamSynchronize(s->s));
    return CT_OK;
}
static ct_status event_create(ct_device *d, ct_event **out)
{
    (void)d;
    ct_event *v = ct_core->alloc(sizeof *v, "CUDA event");
    if (!v) return CT_ENOMEM;
    cudaError_t e = cudaEventCreateWithFlags(&v->e, cudaEventDefault);
    if (e != cudaSuccess) {
        ct_core->free(v);
        return ct_cuda_fail(e, "making an event");
    }
    *out = v;
    return CT_OK;
}
static void event_destroy(ct_device *d, ct_event *v)
{
    (void)d;
    if (!v) return;
    (void)works(cudaEventDestroy(v->e));
    ct_core->free(v);
}
static ct_status event_record(ct_device *d, ct_event *v, ct_stream *s)
{
    (void)d;
    CT_CUDA_TRY(cudaEventRecord(v->e, s->s));
    return CT_OK;
}
static ct_status event_wait(ct_device *d, ct_stream *s, ct_event *v)
{
    (void)d;
    CT_CUDA_TRY(cudaStreamWaitEvent(s->s, v->e, 0));
    return CT_OK;
}
static ct_status event_done(ct_device *d, ct_event *v, bool *done)
{
    (void)d;
    const cudaError_t e = cudaEventQuery(v->e);
    *done = works(e); /* "not ready" is no error, but is kept like one */
    return e == cudaSuccess || e == cudaErrorNotReady ? CT_OK : ct_cuda_fail(e, "what an event was recorded behind");
}
static ct_status event_seconds(ct_device *d, ct_event *from, ct_event *to, double *seconds)
{
    (void)d;
    float ms = 0;
    CT_CUDA_TRY(cudaEventElapsedTime(&ms, from->e, to->e));
    *seconds = 1e-3 * (double)ms;
    return CT_OK;
}

/* ---- capture ---- */

static ct_status capture_begin(ct_device *d, ct_stream *s)
{
    (void)d;
    CT_CUDA_TRY(cudaStreamBeginCapture(s->s, cudaStreamCaptureModeThreadLocal));
    return CT_OK;
}
static void capture_destroy(ct_device *d, ct_capture *c)
{
    (void)d;
    if (!c) return;
    if (c->exec) (void)works(cudaGraphExecDestroy(c->exec));
    if (c->graph) (void)works(cudaGraphDestroy(c->graph));
    ct_core->free(c);
}
static ct_status capture_end(ct_device *d, ct_stream *s, ct_capture **out)
{
    cudaGraph_t graph = NULL;
    cudaError_t e = cudaStreamEndCapture(s->s, &graph);
    if (e != cudaSuccess) return ct_cuda_fail(e, "ending the capture of a step");
    ct_capture *c = ct_core->alloc(sizeof *c, "captured step");
    if (!c) {
        (void)works(cudaGraphDestroy(graph));
        return CT_ENOMEM;
    }
    c->graph = graph;
    c->exec = NULL;
    e = cudaGraphInstantiate(&c->exec, graph, 0);
    if (e == cudaSuccess) {
        *out = c;
        return CT_OK;
    }
    c->exec = NULL;
    capture_destroy(d, c);
    return ct_cuda_fail(e, "instantiating a captured step");
}
static ct_status capture_replay(ct_device *d, ct_stream *s, ct_capture *c)
{
    (void)d;
    CT_CUDA_TRY(cudaGraphLaunch(c->exec, s->s));
    return CT_OK;
}

/* ---- receipt and variants ---- */

/* Kernels of ours multiply in f32 whatever is stored (the step's state: f64); the libraries speak for themselves. */
static ct_status receipt(const ct_device *d, const ct_impl *impl, const ct_call *call, ct_receipt *out)
{
    const ct_dtype type = call->nin > 0 ? call->in[0].desc.dtype : CT_F32;
    memset(out, 0, sizeof *out);
    out->math = type == CT_F64 ? "f64" : "fp32";
    out->sums = type == CT_F64 || strcmp(impl->name, "cuda.direct") == 0 ? "f64" : "fp32";
    if (call->op == CT_OP_MUON && d->opts.tf32) out->math = "tf32"; /* its products are the library's */
    out->has_cores = type == CT_F16 || (d->major >= 8 && (type == CT_BF16 || (type == CT_F32 && d->opts.tf32)));
    out->tensor_cores = strcmp(impl->name, "cuda.mma") == 0; /* of factors in parts, which are all of an f32 */
    return ct_cuda_libs_receipt(d, impl, call, out);
}

/* ---- the table ---- */

/* In order of preference where several have an operator: convolutions for single channels and few of them, then the libraries, then plain loops. */
static const ct_impl_set *const sets[] = {
    &ct_cuda_depthwise_impls,
    &ct_cuda_conv_few_impls,
    &ct_cuda_dnn_impls,
    &ct_cuda_lt_impls,
    &ct_cuda_conv_impls,
    &ct_cuda_linear_impls,
    &ct_cuda_norm_impls,
    &ct_cuda_norm_sum_impls,
    &ct_cuda_norm_pool_impls,
    &ct_cuda_norm_overlap_impls,
    &ct_cuda_standardize_impls,
    &ct_cuda_activation_impls,
    &ct_cuda_elementwise_impls,
    &ct_cuda_pool_impls,
    &ct_cuda_resample_impls,
    &ct_cuda_channels_impls,
    &ct_cuda_fuse_impls,
    &ct_cuda_softmax_impls,
    &ct_cuda_spectrum_impls,
    &ct_cuda_sequence_impls,
    &ct_cuda_sequence_lstm_mma_impls,
    &ct_cuda_sequence_lstm_impls,
    &ct_cuda_loss_impls,
    &ct_cuda_ctc_impls,
    &ct_cuda_distill_impls,
    &ct_cuda_heatmap_impls,
    &ct_cuda_heatmap_rows_impls,
    &ct_cuda_metric_impls,
    &ct_cuda_optim_impls,
    &ct_cuda_muon_impls,
    &ct_cuda_image_impls,
    &ct_cuda_points_impls,
};

static const ct_backend backend = {
    .abi = CT_BACKEND_ABI,
    .size = sizeof(ct_backend),
    .name = "cuda",
    .device_count = device_count,
    .open = open_device,
    .close = close_device,
    .info = info,
    .alloc = allocate,
    .free = release,
    .clear = clear,
    .upload = upload,
    .download = download,
    .copy = copy,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_sync = stream_sync,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_done = event_done,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .capture_replay = capture_replay,
    .capture_destroy = capture_destroy,
    .tf32 = true,
    .receipt = receipt,
    .variants = ct_cuda_libs_variants,
    .prefer = ct_cuda_libs_prefer,
    .host_alloc = host_allocate,
    .host_free = host_release,
    .event_seconds = event_seconds,
    .comm = &ct_cuda_comm,
    .telemetry = telemetry,
    .memory_holders = memory_holders,
    .channel_multiple = channel_multiple,
    .device_place = device_place,
    .sets = sets,
    .nsets = sizeof sets / sizeof sets[0],
};

const ct_backend *ct_backend_entry(const ct_services *services)
{
    if (services->abi != CT_BACKEND_ABI || services->size != sizeof(ct_services)) return NULL;
    ct_core = services;
    return &backend;
}
