/* Drawn clips of gestures: as the samples of a run, and as files. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "task/gloss/gloss.h"
#include "task/gloss/reader.h"
#include "task/gloss/lexicon.h"

/* ---- as samples ---- */

typedef struct drawn {
    ct_gesture_gen *gen;
    int64_t unseen_from; /* clips from here on are of the test's cast: behind those of training and validation */
} drawn;

typedef struct pen {
    const drawn *d;
    ct_gesture_pen *pen;
} pen;

static ct_gesture_cast cast_of(const drawn *d, int64_t index)
{
    return index >= d->unseen_from ? CT_GESTURE_ALL : CT_GESTURE_SEEN;
}

static ct_status open_pen(const void *user, void **state)
{
    pen *p = ct_calloc(1, sizeof *p, "drawing of clips");
    *state = NULL;
    if (!p) return CT_ENOMEM;
    p->d = user;
    const ct_status st = ct_gesture_pen_open(p->d->gen, &p->pen);
    if (st == CT_OK) *state = p;
    else ct_free(p);
    return st;
}

static void close_pen(void *state)
{
    pen *p = state;
    if (!p) return;
    ct_gesture_pen_close(p->pen);
    ct_free(p);
}

static void release(const void *user)
{
    union { const void *in; void *out; } d = { user };
    ct_gesture_gen_close(((const drawn *)user)->gen);
    ct_free(d.out);
}

static ct_status plan_of(const drawn *d, int64_t index, ct_gesture_plan *out)
{
    return ct_gesture_gen_plan(d->gen, index, cast_of(d, index), out);
}

/* Clips of a set have been planned before, when it was opened: they exist. */
static int frames_of(const void *user, int64_t index)
{
    ct_gesture_plan plan;
    return plan_of(user, index, &plan) == CT_OK ? plan.frames : 1;
}

static ct_status label_of(const void *user, int64_t index, char **label)
{
    const drawn *d = user;
    ct_gesture_plan plan;
    char text[1024];
    size_t n = 0;
    *label = NULL;
    CT_TRY(plan_of(d, index, &plan));
    for (int i = 0; i < plan.glosses && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "/" : "",
                              ct_gesture_gen_gloss(d->gen, plan.gloss[i]));
    if (n < sizeof text) n += (size_t)snprintf(text + n, sizeof text - n, " (%c)", 'A' + plan.signer);
    if (n >= sizeof text) return ct_fail(CT_EINTERNAL, "the glosses of clip %" PRId64 " are too long", index);
    return (*label = ct_strdup(text, "label")) ? CT_OK : CT_ENOMEM;
}

static ct_status draw_frame(void *state, int64_t index, int frame, ct_image *out)
{
    const pen *p = state;
    return ct_gesture_pen_frame(p->pen, index, cast_of(p->d, index), frame, out);
}

static ct_status open_generator(const ct_config *cfg, const ct_facts *facts, ct_source *source, ct_labels **labels)
{
    static const ct_clip_source clip = { .frames = frames_of, .label = label_of, .frame = draw_frame };
    ct_gesture_params p;
    *labels = NULL;
    CT_TRY(ct_gloss_drawn_params(cfg, &p));
    CT_TRY(ct_gloss_drawn_labels(cfg, facts, labels));
    drawn *d = ct_calloc(1, sizeof *d, "drawn clips");
    const ct_status st = d ? ct_gesture_gen_open(&p, (uint64_t)cfg->data.synth.seed, &d->gen) : CT_ENOMEM;
    if (st != CT_OK) {
        ct_free(d);
        ct_labels_close(*labels);
        *labels = NULL;
        return st;
    }
    d->unseen_from = cfg->data.synth.count + cfg->data.synth.val_count;
    *source = (ct_source){ .name = CT_GLOSS_GENERATOR, .width = p.size, .height = p.size, .user = d,
                           .open = open_pen, .clip = &clip, .close = close_pen, .release = release };
    char text[128];
    const int n = snprintf(text, sizeof text, "%s cast %" PRId64, ct_gesture_gen_key(d->gen), d->unseen_from);
    ct_hash_hex(text, (size_t)n, source->key);
    return CT_OK;
}

const ct_generator ct_gloss_generator = {
    .name = CT_GLOSS_GENERATOR,
    .doc = "clips of gestures as data.synth.* describe them",
    .open = open_generator,
};

/* ---- as files ---- */

/* "N" or, with range, "LO-HI" into *lo and *hi. */
static ct_status read_number(const ct_option *option, size_t options, const char *key, int *lo, int *hi)
{
    const char *text = ct_option_find(option, options, key);
    char *end;
    if (!text) return CT_OK;
    errno = 0;
    long a = strtol(text, &end, 10), b = a;
    bool fine = end != text && a >= 0;
    if (fine && hi && *end == '-') {
        const char *second = end + 1;
        b = strtol(second, &end, 10);
        fine = end != second;
    }
    if (!fine || *end || errno || a > 100000 || b > 100000 || b < a)
        return ct_fail(CT_ECONFIG, "gen: --%s: '%s' is not a number%s", key, text, hi ? " or a range such as 2-5" : "");
    *lo = (int)a;
    if (hi) *hi = (int)b;
    return CT_OK;
}

ct_status ct_gloss_generate(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                            int threads, bool force, FILE *to)
{
    ct_gesture_params p;
    ct_gesture_written w;
    (void)to;
    if (!dir) return ct_fail(CT_ECONFIG, "gen: needs --out DIR");
    ct_gesture_params_init(&p);
    CT_TRY(read_number(option, options, "glosses", &p.glosses, NULL));
    CT_TRY(read_number(option, options, "signers", &p.signers, NULL));
    CT_TRY(read_number(option, options, "length", &p.least, &p.most));
    CT_TRY(read_number(option, options, "size", &p.size, NULL));
    const ct_status st = ct_gesture_write(&p, seed, dir, count, threads, force, &w);
    if (st != CT_OK) return ct_fail_context(st, "gen");
    const int64_t frames = w.frames[0] + w.frames[1] + w.frames[2];
    ct_info("wrote %" PRId64 " clips for training, %" PRId64 " for validation (dev) and %" PRId64 " for a test to %s: %"
            PRId64 " frames, %.0f drawn a second and thread", w.clips[0], w.clips[1], w.clips[2], dir, frames,
            w.draw_s > 0 ? (double)frames / w.draw_s : 0);
    return CT_OK;
}
