/* Opening sets of clips: their frames are the items of the pack, those of a clip in a row. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/build.h"
#include "data/dataset_internal.h"

/* The frames of all clips, one after another. */
typedef struct film {
    char **file;         /* [frames] owned */
    int64_t frames, cap;
    int64_t *first;      /* [clips] of each */
    int *count;          /* [clips] */
    int64_t clips;
} film;

static void film_free(film *f)
{
    for (int64_t i = 0; i < f->frames; i++) ct_free(f->file[i]);
    ct_free(f->file);
    ct_free(f->first);
    ct_free(f->count);
}

static ct_status film_make(film *f, int64_t clips)
{
    const size_t n = clips > 0 ? (size_t)clips : 1;
    *f = (film){ 0 };
    f->first = ct_calloc(n, sizeof *f->first, "clips");
    f->count = ct_calloc(n, sizeof *f->count, "clips");
    return f->first && f->count ? CT_OK : CT_ENOMEM;
}

/* Adds a clip of the n frames name[], in folder `dir` unless that is NULL, or of as many of them as the spec has. */
static ct_status film_add(film *f, const ct_dataset_spec *s, const char *dir, char *const *name, int64_t n)
{
    const int64_t most = s->max_frames > 0 && s->max_frames < n ? s->max_frames : n;
    f->first[f->clips] = f->frames;
    for (int64_t k = 0; k < most; k++) {
        size_t cap = (size_t)f->cap;
        const char *file = name[ct_clip_thin(n, most, k)];
        CT_TRY(ct_grow(&f->file, (size_t)f->frames, &cap, sizeof *f->file, "frames of clips"));
        f->cap = (int64_t)cap;
        char *own = dir ? ct_path_join(dir, file) : ct_strdup(file, "frame of a clip");
        if (!own) return CT_ENOMEM;
        f->file[f->frames++] = own;
    }
    f->count[f->clips++] = (int)most;
    return CT_OK;
}

/* Why clip c of the film cannot be used, as a bad sample; *bad false: it can. */
static ct_status judge_clip(ct_dataset *ds, const film *f, int64_t c, const char *name, bool *bad)
{
    const ct_pack *p = &ds->pack;
    const int64_t first = f->first[c];
    char *why = NULL;
    *bad = false;
    for (int64_t k = first; k < first + f->count[c] && !*bad; k++) {
        if (p->state[k] == CT_PACK_BAD) {
            *bad = true;
            why = ct_asprintf("frame %s: %s", f->file[k], p->text[k]);
        } else if (p->from[k][0] != p->from[first][0] || p->from[k][1] != p->from[first][1]) {
            *bad = true;
            why = ct_asprintf("frame %s has %dx%d pixels, the first one has %dx%d", f->file[k], p->from[k][0],
                              p->from[k][1], p->from[first][0], p->from[first][1]);
        }
    }
    if (!*bad) return CT_OK;
    const ct_status st = why ? ct_dataset_add_bad(ds, name, why) : CT_ENOMEM;
    ct_free(why);
    return st;
}

/* The frames of the clips of the scan that are not bad already; clip c is candidate cand[c]. */
static ct_status list_scanned(ct_dataset *ds, const ct_scan *scan, film *f, size_t *cand)
{
    for (size_t i = 0; i < scan->n; i++) {
        const ct_sample *x = &scan->s[i];
        if (x->bad) {
            CT_TRY(ct_dataset_add_bad(ds, x->name, x->bad));
            continue;
        }
        if (x->frames < 1) return ct_fail(CT_EINTERNAL, "%s: a clip without frames", x->name);
        cand[f->clips] = i;
        CT_TRY(film_add(f, &ds->spec, NULL, x->frame, x->frames));
    }
    return CT_OK;
}

static ct_status take_scanned(ct_dataset *ds, ct_scan *scan, const film *f, const size_t *cand)
{
    for (int64_t c = 0; c < f->clips; c++) {
        ct_sample *x = &scan->s[cand[c]];
        bool bad;
        CT_TRY(judge_clip(ds, f, c, x->name, &bad));
        if (bad) continue;
        ct_dataset_keep(ds, x->name, x->text, f->first[c], f->count[c]);
        x->name = x->text = NULL;
    }
    return CT_OK;
}

ct_status ct_clips_scanned(ct_dataset *ds, ct_scan *scan, int workers)
{
    ct_status st;
    film f = { 0 };
    size_t *cand = ct_calloc(scan->n ? scan->n : 1, sizeof *cand, "clips");
    if (!cand) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, film_make(&f, (int64_t)scan->n));
    CT_GOTO(st, list_scanned(ds, scan, &f, cand));
    CT_GOTO(st, ct_dataset_room(ds, f.clips));
    if (f.clips == 0) goto fail;
    CT_GOTO(st, ct_build_files(&ds->spec, scan->dir, (const char *const *)f.file, f.frames, workers, &ds->pack, ds->key,
                               &ds->cached));
    CT_GOTO(st, take_scanned(ds, scan, &f, cand));
fail:
    film_free(&f);
    ct_free(cand);
    return st;
}

/* ---- clips that are named one by one ---- */

/* The frames of folder path[i], which becomes clip number f->clips, or a bad sample. */
static ct_status list_folder(ct_dataset *ds, const char *path, film *f, bool *good)
{
    char **name;
    int64_t n;
    ct_status st = ct_scan_frames(path, &name, &n);
    *good = st == CT_OK;
    if (st == CT_EIO || st == CT_EDATA || st == CT_EFORMAT) {
        char *reason = ct_reason_dup(path);
        st = reason ? ct_dataset_add_bad(ds, path, reason) : CT_ENOMEM;
        ct_free(reason);
        return st;
    }
    if (st != CT_OK) return st;
    st = film_add(f, &ds->spec, path, name, n);
    for (int64_t k = 0; k < n; k++) ct_free(name[k]);
    ct_free(name);
    return st;
}

static ct_status take_folders(ct_dataset *ds, const char *const *path, const film *f)
{
    for (int64_t c = 0; c < f->clips; c++) {
        bool bad;
        CT_TRY(judge_clip(ds, f, c, path[c], &bad));
        if (bad) continue;
        char *name = ct_strdup(path[c], "sample name"), *text = name ? ct_strdup("", "label") : NULL;
        if (!text) {
            ct_free(name);
            return CT_ENOMEM;
        }
        ct_dataset_keep(ds, name, text, f->first[c], f->count[c]);
    }
    return CT_OK;
}

ct_status ct_clips_files(ct_dataset *ds, const char *const *path, int64_t n, int workers)
{
    ct_status st;
    film f = { 0 };
    const char **clip = ct_calloc((size_t)n, sizeof *clip, "clips");
    if (!clip) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, film_make(&f, n));
    for (int64_t i = 0; i < n; i++) {
        bool good;
        clip[f.clips] = path[i];
        CT_GOTO(st, list_folder(ds, path[i], &f, &good));
    }
    CT_GOTO(st, ct_dataset_room(ds, f.clips));
    if (f.clips == 0) goto fail;
    CT_GOTO(st, ct_build_files(&ds->spec, "", (const char *const *)f.file, f.frames, workers, &ds->pack, ds->key,
                               &ds->cached));
    CT_GOTO(st, take_folders(ds, clip, &f));
fail:
    film_free(&f);
    ct_free(clip);
    return st;
}

/* ---- drawn ---- */

ct_status ct_clips_drawn(ct_dataset *ds, const ct_source *src)
{
    int64_t row = 0;
    CT_TRY(ct_dataset_room(ds, src->n));
    for (int64_t i = 0; i < src->n; i++) {
        const int frames = ct_source_frames(&ds->spec, src, i);
        char *name = ct_asprintf("%s/%" PRId64, src->name, src->first + i), *text = NULL;
        if (name) text = ct_strdup(ds->pack.text[row], "label");
        if (!text) {
            ct_free(name);
            return CT_ENOMEM;
        }
        ct_dataset_keep(ds, name, text, row, frames);
        row += frames;
    }
    return CT_OK;
}
