#include "config.h"

#include "session/resident.h"

#include <inttypes.h>

#include "program/spec.h"

/* Why it cannot be or need not be, in out->why; false: nothing speaks against it. */
static bool refused(const ct_resident_facts *f, ct_resident *out)
{
    const double mb = 1e-6;
    const int64_t margin = ct_resident_margin(f->available);
    const size_t size = sizeof out->why;
    if (f->key == CT_CFG_RESIDENT_FALSE) snprintf(out->why, size, "data.resident is false");
    else if (f->drawn) snprintf(out->why, size, "new images are drawn in every epoch");
    else if (f->clips) snprintf(out->why, size, "samples are clips");
    else if (f->files) snprintf(out->why, size, "images are packed as files (data.cache)");
    else if (f->buckets > 1) snprintf(out->why, size, "images have %d widths, and a resident set one", f->buckets);
    else if (f->key == CT_CFG_RESIDENT_AUTO && !f->far) snprintf(out->why, size, "the device reads the host's memory");
    else if (f->available == 0 && f->key == CT_CFG_RESIDENT_AUTO)
        snprintf(out->why, size, "the device does not say what memory is free");
    else if (f->available > 0 && out->bytes + f->peak + margin > f->available)
        snprintf(out->why, size,
                 "%" PRId64 " images of %" PRId64
                 " bytes are %.1f MB, the training takes %.1f MB, %.1f MB are left for others: more than "
                 "the %.1f MB that are free",
                 f->images, f->each, mb * (double)out->bytes, mb * (double)f->peak, mb * (double)margin,
                 mb * (double)f->available);
    else return false;
    return true;
}

ct_status ct_resident_choose(const ct_resident_facts *f, ct_resident *out)
{
    *out = (ct_resident){ .bytes = f->images * f->each };
    if (refused(f, out)) {
        if (f->key != CT_CFG_RESIDENT_TRUE) return CT_OK;
        return ct_fail(CT_ECONFIG, "data.resident: true cannot be: %s", out->why);
    }
    out->yes = true;
    snprintf(out->why, sizeof out->why,
             "%" PRId64 " images of %" PRId64 " bytes are %.1f MB beside %.1f MB of the training, %.1f MB are free",
             f->images, f->each, 1e-6 * (double)out->bytes, 1e-6 * (double)f->peak, 1e-6 * (double)f->available);
    return CT_OK;
}

static ct_status free_memory(const ct_backend *b, const ct_device_opts *opts, int64_t *out)
{
    ct_device *dev = NULL;
    ct_device_info info;
    CT_TRY(b->open(opts, &dev));
    ct_status st = b->info(dev, &info);
    if (st == CT_OK) *out = (int64_t)info.memory_free;
    b->close(dev);
    return st;
}

ct_resident_facts ct_resident_facts_of(const ct_dataset *data, ct_cfg_resident key)
{
    return (ct_resident_facts){ .key = key,
                                .drawn = ct_dataset_stream(data) != NULL,
                                .clips = ct_dataset_clip(data) != NULL,
                                .files = ct_dataset_packs_files(data),
                                .buckets = ct_dataset_buckets(data),
                                .images = ct_dataset_size(data),
                                .each = (int64_t)ct_dataset_height(data) * ct_dataset_width(data) *
                                        ct_dataset_channels(data) };
}

ct_status ct_resident_decide(ct_resident_facts *f, const ct_program_spec *spec, const ct_backend *backend,
                             const ct_device_opts *opts, ct_resident *out)
{
    f->far = backend->host_alloc != NULL;
    const bool possible = f->key == CT_CFG_RESIDENT_TRUE || (f->key == CT_CFG_RESIDENT_AUTO && f->far);
    if (possible && !f->drawn && !f->clips && !f->files && f->buckets == 1) {
        CT_TRY(ct_spec_peak(spec, backend, opts, &f->peak, NULL));
        CT_TRY(free_memory(backend, opts, &f->available));
    }
    return ct_resident_choose(f, out);
}

ct_status ct_resident_upload(ct_arenas *store, const ct_dataset *data)
{
    const ct_backend *b = store->backend;
    const int64_t n = ct_dataset_size(data);
    const size_t each =
        (size_t)ct_dataset_height(data) * (size_t)ct_dataset_width(data) * (size_t)ct_dataset_channels(data);
    char *to = store->base[CT_ARENA_DATA];
    if (!to || store->bytes[CT_ARENA_DATA] != (size_t)n * each)
        return ct_fail(CT_EINTERNAL, "arena data has %zu bytes, the images %zu", store->bytes[CT_ARENA_DATA],
                       (size_t)n * each);
    for (int64_t i = 0, run; i < n; i += run) {
        const uint8_t *px = ct_dataset_pixels(data, i);
        for (run = 1; i + run < n && ct_dataset_pixels(data, i + run) == px + (size_t)run * each;) run++;
        CT_TRY(b->upload(store->device, store->stream, to + (size_t)i * each, px, (size_t)run * each));
    }
    return b->stream_sync(store->device, store->stream);
}
