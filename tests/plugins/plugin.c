/* Small backend plug-ins for the registry's tests, one per PLUGIN_* macro. PLUGIN_GOOD computes one operator, f32
 * `add`, on host memory. */
#include "config.h"

#include <string.h>

#include "backends/backend.h"

#if defined(PLUGIN_NO_SYMBOL)

const int ct_not_an_entry = 1;

#else

const ct_backend *ct_backend_entry(const ct_services *services);

static const ct_services *core;

struct ct_device {
    int unused;
};
struct ct_stream {
    int unused;
};
struct ct_event {
    int unused;
};

static struct ct_device the_device;
static struct ct_stream the_stream;
static struct ct_event the_event;

static int device_count(void)
{
#if defined(PLUGIN_NO_DEVICE)
    core->fail(CT_EBACKEND, "the driver sees no card");
    return 0;
#else
    return 1;
#endif
}

static ct_status open_device(const ct_device_opts *opts, ct_device **out)
{
    (void)opts;
    *out = &the_device;
    return CT_OK;
}

static void close_device(ct_device *dev)
{
    (void)dev;
}

static ct_status info(ct_device *dev, ct_device_info *out)
{
    (void)dev;
    memset(out, 0, sizeof *out);
    memcpy(out->name, "test card", sizeof "test card");
    out->threads = 1;
    return CT_OK;
}

static ct_status allocate(ct_device *dev, size_t bytes, const char *what, void **out)
{
    (void)dev;
    *out = core->alloc(bytes, what);
    return *out ? CT_OK : CT_ENOMEM;
}

static void release(ct_device *dev, void *p)
{
    (void)dev;
    core->free(p);
}

static ct_status clear(ct_device *dev, ct_stream *s, void *dst, size_t bytes)
{
    (void)dev;
    (void)s;
    memset(dst, 0, bytes);
    return CT_OK;
}

static ct_status move(ct_device *dev, ct_stream *s, void *dst, const void *src, size_t bytes)
{
    (void)dev;
    (void)s;
    memcpy(dst, src, bytes);
    return CT_OK;
}

static ct_status stream_create(ct_device *dev, ct_stream **out)
{
    (void)dev;
    *out = &the_stream;
    return CT_OK;
}

static void stream_destroy(ct_device *dev, ct_stream *s)
{
    (void)dev;
    (void)s;
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
    *out = &the_event;
    return CT_OK;
}

static void event_destroy(ct_device *dev, ct_event *e)
{
    (void)dev;
    (void)e;
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
    (void)e;
    (void)s;
    return CT_OK;
}

static ct_status event_done(ct_device *dev, ct_event *e, bool *done)
{
    (void)dev;
    (void)e;
    *done = true;
    return CT_OK;
}

static ct_accept accept_add(const ct_device *dev, const ct_call *call)
{
    (void)dev;
    return call->in[0].desc.dtype == CT_F32 ? ct_accept_yes(0) : ct_accept_no("only f32");
}

static ct_status run_add(ct_device *dev, ct_stream *stream, const ct_call *call, void *scratch)
{
    (void)dev;
    (void)stream;
    (void)scratch;
    const float *a = call->in[0].data, *b = call->in[1].data;
    float *y = call->out[0].data;
    int64_t n = 1;
    for (int i = 0; i < call->out[0].desc.ndim; i++) n *= call->out[0].desc.dim[i];
    for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
    return CT_OK;
}

static const ct_impl impls[] = { { CT_OP_ADD, "plain", CT_IMPL_EXACT, accept_add, run_add } };
static const ct_impl_set set = CT_IMPL_SET(impls), *const sets[] = { &set };

static const ct_backend table = {
#if defined(PLUGIN_ABI)
    .abi = CT_BACKEND_ABI + 1,
#else
    .abi = CT_BACKEND_ABI,
#endif
    .size = sizeof(ct_backend),
    .name = "cuda",
    .device_count = device_count,
    .open = open_device,
    .close = close_device,
    .info = info,
    .alloc = allocate,
    .free = release,
    .clear = clear,
    .upload = move,
    .download = move,
    .copy = move,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_sync = stream_sync,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_done = event_done,
    .sets = sets,
    .nsets = sizeof sets / sizeof sets[0],
};

const ct_backend *ct_backend_entry(const ct_services *services)
{
    const ct_backend *given = &table;
    core = services;
#if defined(PLUGIN_REFUSES)
    services->fail(CT_EBACKEND, "the driver is older than 525");
    given = NULL;
#elif defined(PLUGIN_SILENT)
    given = NULL;
#endif
    return given;
}

#endif
