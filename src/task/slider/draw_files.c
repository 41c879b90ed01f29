/* Drawn pictures as a data set and as files, and `captrain gen slider`. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/workers.h"
#include "task/slider/draw.h"

void ct_slider_drawn_label(const ct_slider_drawn *d, ct_slider_label *l)
{
    ct_slider_label_init(l);
    memcpy(l->gap, d->gap, sizeof l->gap);
    memcpy(l->piece, d->piece, sizeof l->piece);
    l->angle = d->angle;
    l->fakes = d->fakes;
    for (int i = 0; i < d->fakes; i++) {
        l->fake[i][0] = d->fake[i].x;
        l->fake[i][1] = d->fake[i].y;
        l->fake_angle[i] = d->fake[i].angle;
        l->fake_scale[i] = d->fake[i].scale;
    }
    l->pic = d->background;
    l->side = d->size;
    l->width = d->picture.w;
    l->height = d->picture.h;
    snprintf(l->style, sizeof l->style, "%s", ct_slider_style_name(d->style));
    snprintf(l->confusion, sizeof l->confusion, "%s", ct_slider_confusion_name((int)d->confusion));
    snprintf(l->shape, sizeof l->shape, "%s", d->shape);
}

/* ---- as a data set ---- */

static ct_status source_open(const void *user, void **state)
{
    ct_slider_pen *pen = NULL;
    ct_status st = ct_slider_pen_open(user, &pen);
    *state = pen;
    return st;
}

static ct_status source_render(void *state, int64_t index, ct_image *out, char **label)
{
    ct_slider_drawn d;
    ct_slider_label l;
    *label = NULL;
    CT_TRY(ct_slider_pen_draw(state, index, false, &d));
    ct_slider_drawn_label(&d, &l);
    *label = ct_slider_label_text(&l);
    if (*label) {
        *out = d.picture;
        d.picture = (ct_image){ 0 };
    }
    ct_slider_drawn_free(&d);
    return *label ? CT_OK : CT_ENOMEM;
}

static void source_close(void *state)
{
    ct_slider_pen_close(state);
}

static void source_release(const void *user)
{
    ct_slider_gen_close((ct_slider_gen *)(uintptr_t)user);
}

ct_status ct_slider_source(const ct_slider_params *p, uint64_t seed, ct_source *out)
{
    ct_slider_gen *g;
    CT_TRY(ct_slider_gen_open(p, seed, &g));
    *out = (ct_source){ .name = "synth:slider", .width = p->width, .height = p->height, .user = g,
                        .open = source_open, .render = source_render, .close = source_close,
                        .release = source_release };
    snprintf(out->key, sizeof out->key, "%s", ct_slider_gen_key(g));
    return CT_OK;
}

/* ---- as files ---- */

enum { CHUNK = 1024 }; /* pictures whose labels are kept until they are written */

typedef struct write_job {
    const ct_slider_gen *g;
    const char *dir;
    bool components;
    int64_t first;           /* picture of item 0 */
    ct_slider_pen **pen;     /* [threads] */
    double *draw_s, *total_s; /* [threads] */
    char *entry[CHUNK];      /* text for the JSON file */
} write_job;

/* Processor time of this thread, seconds. */
static double thread_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* DIR/PATH with px [h,w,c]; the path goes into `paths` under `key`. */
static ct_status write_picture(const char *dir, const char *path, const uint8_t *px, const ct_image *size, int c,
                               json_t *paths, const char *key)
{
    ct_status st = CT_OK;
    uint8_t *data = NULL;
    size_t bytes = 0;
    char *full = ct_path_join(dir, path);
    if (!full) return CT_ENOMEM;
    CT_GOTO(st, ct_image_encode_png_fast(px, size->w, size->h, c, &data, &bytes));
    CT_GOTO(st, ct_file_write_light(full, data, bytes));
    st = ct_json_set(paths, key, json_string(path));
fail:
    ct_free(data);
    ct_free(full);
    return st;
}

static ct_status write_pictures(const write_job *j, const ct_slider_drawn *d, const char *name, json_t *paths)
{
    char path[160];
    snprintf(path, sizeof path, "captchas/%s.png", name);
    CT_TRY(write_picture(j->dir, path, d->picture.px, &d->picture, 3, paths, "composite"));
    if (!j->components) return CT_OK;
    snprintf(path, sizeof path, "components/%s_background.png", name);
    CT_TRY(write_picture(j->dir, path, d->clean.px, &d->clean, 3, paths, "background"));
    snprintf(path, sizeof path, "components/%s_piece.png", name);
    return write_picture(j->dir, path, d->piece_rgba, &d->picture, 4, paths, "piece");
}

/* An entry as the reference has it: what a label says, and what only files have. */
static ct_status fill_entry(const ct_slider_drawn *d, const char *name, json_t *label, json_t *paths, json_t *entry)
{
    char pic[32];
    snprintf(pic, sizeof pic, "Pic%04" PRId64, d->background);
    CT_TRY(ct_json_set(entry, "sample_id", json_string(name)));
    CT_TRY(ct_json_set(entry, "pic_id", json_string(pic)));
    CT_TRY(ct_json_set(entry, "paths", json_incref(paths)));
    CT_TRY(ct_json_set(json_object_get(label, "labels"), "puzzle_size", json_integer(d->size)));
    if (json_object_update_missing(entry, label) != 0) return ct_fail(CT_ENOMEM, "out of memory writing a label");
    if (d->confusion != CT_SLIDER_COMBINED) return CT_OK;
    json_t *list = json_array();
    for (int c = 0; c < CT_SLIDER_CONFUSIONS; c++)
        if (d->confusions & 1u << c && json_array_append_new(list, json_string(ct_slider_confusion_name(c))) != 0)
            return json_decref(list), ct_fail(CT_ENOMEM, "out of memory writing a label");
    return ct_json_set(entry, "confusions", list);
}

static ct_status write_drawn(const write_job *j, const ct_slider_drawn *d, char **text)
{
    ct_status st = CT_OK;
    char hash[33], name[128];
    ct_slider_label l;
    ct_slider_drawn_label(d, &l);
    json_t *paths = json_object(), *entry = json_object(), *label = ct_slider_label_json(&l);
    if (!paths || !entry || !label) {
        st = ct_fail(CT_ENOMEM, "out of memory writing a label");
        goto fail;
    }
    ct_hash_hex(d->picture.px, (size_t)d->picture.w * (size_t)d->picture.h * 3, hash);
    hash[8] = '\0';
    ct_slider_name(&l, hash, name, sizeof name);
    char *dot = strrchr(name, '.');
    if (dot) *dot = '\0';
    CT_GOTO(st, write_pictures(j, d, name, paths));
    CT_GOTO(st, fill_entry(d, name, label, paths, entry));
    *text = ct_json_text(entry, 0);
    if (!*text) st = CT_ENOMEM;
fail:
    json_decref(paths);
    json_decref(label);
    json_decref(entry);
    return st;
}

static ct_status write_item(void *user, int worker, int64_t i)
{
    write_job *j = user;
    ct_slider_drawn d;
    if (!j->pen[worker]) CT_TRY(ct_slider_pen_open(j->g, &j->pen[worker]));
    const double start = thread_time();
    CT_TRY(ct_slider_pen_draw(j->pen[worker], j->first + i, j->components, &d));
    const double drawn = thread_time();
    ct_status st = write_drawn(j, &d, &j->entry[i]);
    ct_slider_drawn_free(&d);
    j->draw_s[worker] += drawn - start;
    j->total_s[worker] += thread_time() - start;
    return st;
}

static ct_status write_entries(write_job *j, int64_t n, bool more, ct_atomic_file *f)
{
    for (int64_t i = 0; i < n; i++) {
        CT_TRY(ct_atomic_write(f, j->entry[i], strlen(j->entry[i])));
        const char *end = i + 1 < n || more ? ",\n" : "\n";
        CT_TRY(ct_atomic_write(f, end, strlen(end)));
    }
    return CT_OK;
}

static void drop_entries(write_job *j)
{
    for (int i = 0; i < CHUNK; i++) {
        ct_free(j->entry[i]);
        j->entry[i] = NULL;
    }
}

/* All pictures, chunk by chunk, and the JSON in their order. */
static ct_status write_all(write_job *j, int64_t count, int threads, const char *labels)
{
    ct_status st = CT_OK;
    ct_atomic_file *f = NULL;
    ct_pace pace = ct_pace_begin("drawing pictures", count);
    CT_TRY(ct_atomic_open(labels, &f));
    CT_GOTO(st, ct_atomic_write(f, "[\n", 2));
    for (j->first = 0; j->first < count; j->first += CHUNK) {
        const int64_t left = count - j->first, n = left < CHUNK ? left : CHUNK;
        CT_GOTO(st, ct_parallel_for(n, threads, write_item, j, &pace));
        CT_GOTO(st, write_entries(j, n, left > n, f));
        drop_entries(j);
    }
    CT_GOTO(st, ct_atomic_write(f, "]\n", 2));
    return ct_atomic_commit(f);
fail:
    drop_entries(j);
    ct_atomic_abort(f);
    return st;
}

static ct_status make_dirs(const char *dir, bool overwrite, bool components)
{
    static const char *const sub[] = { "captchas", "labels", "components" };
    CT_TRY(ct_mkdir_fresh(dir, overwrite));
    for (int i = 0; i < (components ? 3 : 2); i++) {
        char *path = ct_path_join(dir, sub[i]);
        if (!path) return CT_ENOMEM;
        ct_status st = ct_mkdir_p(path);
        ct_free(path);
        CT_TRY(st);
    }
    return CT_OK;
}

ct_status ct_slider_write(const ct_slider_params *p, uint64_t seed, int64_t count, const char *dir, bool overwrite,
                          bool components, int threads, ct_slider_written *out)
{
    ct_status st = CT_OK;
    ct_slider_gen *g = NULL;
    char *labels = NULL;
    write_job *j = NULL;
    *out = (ct_slider_written){ .images = count };
    if (count < 1) return ct_fail(CT_EINVAL, "no pictures are asked for (count %" PRId64 ")", count);
    if (threads < 1) threads = 1;
    CT_GOTO(st, ct_slider_gen_open(p, seed, &g));
    CT_GOTO(st, make_dirs(dir, overwrite, components));
    labels = ct_path_join(dir, "labels/all_labels.json");
    j = ct_calloc(1, sizeof *j, "slider generator");
    if (j) {
        *j = (write_job){ .g = g, .dir = dir, .components = components };
        j->pen = ct_calloc((size_t)threads, sizeof *j->pen, "slider generator");
        j->draw_s = ct_calloc((size_t)threads, sizeof *j->draw_s, "slider generator");
        j->total_s = ct_calloc((size_t)threads, sizeof *j->total_s, "slider generator");
    }
    if (!labels || !j || !j->pen || !j->draw_s || !j->total_s) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, write_all(j, count, threads, labels));
    for (int i = 0; i < threads; i++) {
        out->draw_s += j->draw_s[i];
        out->total_s += j->total_s[i];
    }
fail:
    for (int i = 0; j && j->pen && i < threads; i++) ct_slider_pen_close(j->pen[i]);
    if (j) {
        ct_free(j->pen);
        ct_free(j->draw_s);
        ct_free(j->total_s);
    }
    ct_free(j);
    ct_free(labels);
    ct_slider_gen_close(g);
    return st;
}

/* ---- captrain gen slider ---- */

static ct_status read_size(const ct_option *option, size_t options, const char *key, int *out)
{
    const char *text = ct_option_find(option, options, key);
    char *end;
    if (!text) return CT_OK;
    errno = 0;
    const long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < 1 || v > 4096)
        return ct_fail(CT_ECONFIG, "gen: --%s: '%s' is not a number of pixels", key, text);
    *out = (int)v;
    return CT_OK;
}

enum { MOST_NAMES = 64 };

/* The values of all options `key`. */
static ct_status collect(const ct_option *option, size_t options, const char *key, const char *name[], size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < options; i++) {
        if (strcmp(option[i].key, key) != 0) continue;
        if (*n == MOST_NAMES) return ct_fail(CT_ECONFIG, "gen: --%s: more than %d times", key, MOST_NAMES);
        name[(*n)++] = option[i].value;
    }
    return CT_OK;
}

static ct_status read_options(const ct_option *option, size_t options, ct_slider_params *p)
{
    const char *with[MOST_NAMES], *without[MOST_NAMES], *confusion[MOST_NAMES];
    size_t n, m, c;
    ct_slider_params_init(p);
    CT_TRY(collect(option, options, "style", with, &n));
    CT_TRY(collect(option, options, "without_style", without, &m));
    CT_TRY(collect(option, options, "confusion", confusion, &c));
    ct_status st = ct_slider_params_styles(p, with, n, without, m);
    if (st != CT_OK) return ct_fail_context(st, "gen: --style, --without-style");
    st = ct_slider_params_confusions(p, confusion, c);
    if (st != CT_OK) return ct_fail_context(st, "gen: --confusion");
    const char *backgrounds = ct_option_find(option, options, "backgrounds");
    if (backgrounds) CT_TRY(ct_slider_params_backgrounds(p, backgrounds));
    CT_TRY(read_size(option, options, "width", &p->width));
    CT_TRY(read_size(option, options, "height", &p->height));
    if ((p->width > 0) != (p->height > 0)) return ct_fail(CT_ECONFIG, "gen: --width and --height go together");
    return CT_OK;
}

static ct_status tell(const ct_slider_written *w, const char *dir, bool json, FILE *to)
{
    const double rate = (double)w->images / w->draw_s;
    if (!json) {
        ct_info("wrote %" PRId64 " images to %s; %.0f images drawn a second and thread", w->images, dir, rate);
        return CT_OK;
    }
    json_t *o = json_object();
    ct_status st = o ? CT_OK : ct_fail(CT_ENOMEM, "out of memory writing JSON");
    if (st == CT_OK) st = ct_json_set(o, "images", json_integer(w->images));
    if (st == CT_OK) st = ct_json_set(o, "draw_per_s_per_thread", ct_json_number(rate));
    if (st == CT_OK)
        st = ct_json_set(o, "write_per_s_per_thread", ct_json_number((double)w->images / w->total_s));
    if (st == CT_OK) st = ct_json_print(o, 0, to);
    json_decref(o);
    return st;
}

ct_status ct_slider_generate(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                             int threads, bool force, FILE *to)
{
    ct_slider_params p;
    ct_slider_written w;
    const char *style = ct_option_find(option, options, "style");
    if (style && strcmp(style, "list") == 0) {
        for (int i = 0; ct_slider_style_name(i); i++)
            fprintf(to, "%-10s%s\n", ct_slider_style_name(i), ct_slider_style_doc(i));
        return CT_OK;
    }
    if (!dir) return ct_fail(CT_ECONFIG, "gen: needs --out DIR");
    CT_TRY(read_options(option, options, &p));
    CT_TRY(ct_slider_write(&p, seed, count, dir, force, ct_option_find(option, options, "components") != NULL, threads,
                           &w));
    return tell(&w, dir, ct_option_find(option, options, "json") != NULL, to);
}
