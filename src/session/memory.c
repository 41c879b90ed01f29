#include "config.h"

#include "session/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "program/spec.h"

/* ---- the largest batch ---- */

static ct_status peak_at(const ct_program_spec *spec, int64_t batch, const ct_backend *b, const ct_device_opts *opts,
                         int64_t *peak)
{
    ct_program_spec s = *spec;
    s.batch = batch;
    if (s.recompute == CT_RECOMPUTE_AUTO) s.recompute = -1;
    s.norms_kept = 0; /* as it will be decided where memory is short */
    return ct_spec_peak(&s, b, opts, peak, NULL);
}

/* What does not grow with the batch and what does, from two plans. */
static ct_status first_guess(const ct_program_spec *spec, const ct_backend *b, const ct_device_opts *opts,
                             int64_t memory, int64_t *guess)
{
    int64_t at8, at16;
    CT_TRY(peak_at(spec, 8, b, opts, &at8));
    CT_TRY(peak_at(spec, 16, b, opts, &at16));
    const double each = (double)(at16 - at8) / 8, fixed = (double)at8 - 8 * each;
    const double n = each > 0 ? ((double)memory - fixed) / each : 1;
    *guess = n < 1 ? 1 : n > CT_MAX_BATCH ? CT_MAX_BATCH : (int64_t)n;
    return CT_OK;
}

ct_status ct_memory_largest(const ct_program_spec *spec, const ct_backend *b, const ct_device_opts *opts,
                            int64_t most, int64_t memory, double slack, int64_t *fits)
{
    int64_t low = 0, high = most + 1, next, peak;
    CT_TRY(first_guess(spec, b, opts, memory, &next));
    if (next > most) next = most;
    /* By and large the peak grows with the batch: close in around the guess, in growing strides, then halve. */
    for (int64_t reach = 1 + next / 256;
         high - low > 1 && (double)(high - low) > slack * (double)low + (low ? 0 : 1);) {
        CT_TRY(peak_at(spec, next, b, opts, &peak));
        if (peak <= memory) low = next;
        else high = next;
        if (low > 0 && high == most + 1) next = low + reach;
        else if (low == 0) next = high - reach;
        else next = low + (high - low) / 2;
        if (next <= low || next >= high) next = low + (high - low) / 2;
        reach *= 2;
    }
    *fits = low;
    return CT_OK;
}

/* ---- taking memory ---- */

/* "; train.batch_size 128 is too much, 120 fits" */
static void advise_batch(const ct_arenas *s, const ct_program_spec *spec, const char *key, int64_t memory, char *buf,
                         size_t size)
{
    int64_t fits;
    buf[0] = '\0';
    if (!spec || ct_memory_largest(spec, s->backend, &s->opts, spec->batch - 1, memory, 0.02, &fits) != CT_OK) return;
    if (fits == 0) snprintf(buf, size, "; not even a batch of one fits");
    else
        snprintf(buf, size, "; %s %" PRId64 " is too much, %" PRId64 " fits", key, spec->batch, fits);
}

/* "; its memory is held by 2.10 GB by process 4711 (python3)" */
static void advise_holders(const ct_arenas *s, char *buf, size_t size)
{
    char who[384] = "";
    if (s->backend->memory_holders) s->backend->memory_holders(s->opts.index, who, sizeof who);
    buf[0] = '\0';
    if (who[0]) snprintf(buf, size, "; held: %s", who);
}

static ct_status too_little(const ct_arenas *s, const ct_device_info *info, int64_t need, const ct_program_spec *spec,
                            const char *key, const char *reason)
{
    char a[32], b[32], c[32], batch[128], who[448];
    char *why = ct_strdup(reason, "a message"); /* what is asked below records messages of its own */
    if (!why) return CT_ENOMEM;
    advise_batch(s, spec, key, (int64_t)info->memory_free, batch, sizeof batch);
    advise_holders(s, who, sizeof who);
    ct_fail(CT_ENOMEM, "%s%s%s is planned, %s of the %s of %s are free%s%s", why, *why ? ": " : "",
            ct_text_bytes(need, a, sizeof a), ct_text_bytes((int64_t)info->memory_free, b, sizeof b),
            ct_text_bytes((int64_t)info->memory_total, c, sizeof c), info->name, batch, who);
    ct_free(why);
    return CT_ENOMEM;
}

ct_status ct_memory_take(ct_arenas *store, const ct_program_spec *spec, const char *key)
{
    ct_device_info info;
    int64_t need = 0;
    CT_TRY(store->backend->info(store->device, &info));
    for (int a = 0; a < CT_ARENA_COUNT; a++) need += (int64_t)store->bytes[a];
    /* 0: a backend that does not know */
    if (info.memory_free > 0 && (uint64_t)need > info.memory_free) return too_little(store, &info, need, spec, key, "");
    ct_status st = ct_arenas_commit(store);
    if (st != CT_ENOMEM || store->backend->info(store->device, &info) != CT_OK || info.memory_free == 0) return st;
    return too_little(store, &info, need, spec, key, ct_error_message());
}

/* ---- train.batch_size: auto ---- */

static ct_status look_at_device(const ct_backend *b, const ct_device_opts *opts, ct_device_info *info)
{
    ct_device *dev = NULL;
    CT_TRY(b->open(opts, &dev));
    ct_status st = b->info(dev, info);
    b->close(dev);
    return st;
}

ct_status ct_memory_auto_batch(const ct_program_spec *spec, const ct_backend *b, const ct_device_opts *opts,
                               int64_t samples, const char *what, int64_t *batch)
{
    ct_device_info info;
    int64_t fits;
    char a[32];
    CT_TRY(look_at_device(b, opts, &info));
    if (info.memory_free == 0)
        return ct_fail(CT_EUNSUPPORTED, "%s: backend %s does not know how much memory is free", what, b->name);
    ct_text_bytes((int64_t)info.memory_free, a, sizeof a);
    CT_TRY(ct_memory_largest(spec, b, opts, CT_MAX_BATCH, (int64_t)(CT_MEMORY_SHARE * (double)info.memory_free), 0.02,
                             &fits));
    if (fits == 0)
        return ct_fail(CT_ENOMEM, "%s: not even a batch of one fits the %s that %s has free", what, a, info.name);
    const int64_t round = fits >= 8 ? fits / 8 * 8 : fits;
    *batch = round < samples ? round : samples;
    ct_info("%s takes %" PRId64 ", %s (%s of %s are free; nine tenths of that hold %" PRId64 ")", what, *batch,
            *batch == samples ? "all samples" : "what fits", a, info.name, fits);
    return CT_OK;
}

ct_status ct_memory_auto(ct_config *cfg, const ct_facts *facts, int src_h, int src_w, int64_t frames,
                         const ct_backend *b, const ct_device_opts *opts, int64_t samples)
{
    static const char what[] = "train.batch_size: auto";
    ct_program_spec spec;
    ct_device_opts o = *opts;
    int64_t batch;
    char number[24];
    if (cfg->train.batch_size > 0) return CT_OK;
    CT_TRY(ct_spec_from_config(cfg, facts, src_h, src_w, frames, 1, &spec));
    CT_TRY(ct_spec_device(&spec, b, &o));
    ct_spec_fit_device(&spec, b, &o);
    CT_TRY(ct_memory_auto_batch(&spec, b, &o, samples, what, &batch));
    snprintf(number, sizeof number, "%" PRId64, batch);
    return ct_config_set(cfg, "train.batch_size", number, what);
}
