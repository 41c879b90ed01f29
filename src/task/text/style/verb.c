/* captrain fit-style, from the folder to the files. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/file.h"
#include "base/log.h"
#include "base/version.h"
#include "data/scan.h"
#include "task/task.h"
#include "task/text/style/style.h"

enum { MOST = 400, SHOWN = 40, ROUNDS = 400 };

/* Pictures of one size, spread over the folder's. */
typedef struct seen {
    char **path; /* [files] */
    size_t files;
    ct_image *im; /* [n] */
    int64_t n, other; /* other: of another size, left out */
} seen;

static void seen_free(seen *s)
{
    for (size_t i = 0; i < s->files; i++) ct_free(s->path[i]);
    ct_free(s->path);
    for (int64_t i = 0; i < s->n; i++) ct_image_free(&s->im[i]);
    ct_free(s->im);
}

/* Leaves those of the most frequent size. */
static void keep_one_size(seen *s)
{
    int64_t best = 0, most = 0, kept = 0;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t same = 0;
        for (int64_t k = 0; k < s->n; k++) same += s->im[k].w == s->im[i].w && s->im[k].h == s->im[i].h;
        if (same > most) most = same, best = i;
    }
    const int w = s->n ? s->im[best].w : 0, h = s->n ? s->im[best].h : 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->im[i].w == w && s->im[i].h == h) s->im[kept++] = s->im[i];
        else ct_image_free(&s->im[i]);
    }
    s->other = s->n - kept;
    s->n = kept;
}

static ct_status read_pictures(const char *folder, seen *s)
{
    CT_TRY(ct_scan_pictures(folder, &s->path, &s->files));
    const size_t n = s->files < MOST ? s->files : MOST;
    if (!(s->im = ct_calloc(n, sizeof *s->im, "pictures"))) return CT_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *path = s->path[i * s->files / n];
        const ct_status st = ct_image_read_file(path, NULL, &s->im[s->n]);
        if (st == CT_ENOMEM) return st;
        if (st == CT_OK) s->n++;
        else ct_warn("%s: left out", ct_error_message());
    }
    keep_one_size(s);
    if (s->n == 0) return ct_fail(CT_EDATA, "%s: none of its pictures can be read", folder);
    if (s->im[0].w < 16 || s->im[0].h < 16 || s->im[0].w > 4096 || s->im[0].h > 4096)
        return ct_fail(CT_EDATA, "%s: pictures of %dx%d pixels; 16 to 4096 can be drawn", folder, s->im[0].w,
                       s->im[0].h);
    if (s->other > 0)
        ct_warn("%s: %" PRId64 " pictures of another size than %dx%d are left out", folder, s->other, s->im[0].w,
                s->im[0].h);
    return CT_OK;
}

static ct_status look_at(const seen *s, ct_look *out)
{
    ct_look_one *one = ct_calloc((size_t)s->n, sizeof *one, "looks");
    ct_status st = one ? CT_OK : CT_ENOMEM;
    for (int64_t i = 0; i < s->n && st == CT_OK; i++) st = ct_look_at(&s->im[i], &one[i]);
    if (st == CT_OK) ct_look_join(one, s->n, out);
    ct_free(one);
    return st;
}

static ct_status write_style(const char *path, const ct_style_fit *f, double distance)
{
    ct_printed to;
    CT_TRY(ct_printed_open(&to, path));
    fprintf(to.f, "# A style of captrain's text generator, fitted to %" PRId64 " pictures by captrain %s (seed %" PRIu64
            ").\n# Begun with style %s; distance %.3f, the generator drawing other lots.\n# To train with it: "
            "data.train: synth:text, data.synth.style: this file, data.width: %d, data.height: %d, data.channels: %d;\n"
            "# what is in labels (charset, length) cannot be seen without them.\n", f->real.n, ct_version(), f->seed,
            f->from, distance, f->width, f->height, f->channels);
    return ct_printed_close(&to, ct_text_style_print(&f->found, to.f));
}

static void print(const ct_style_fit *f, const ct_look *drawn, double distance, FILE *to)
{
    fprintf(to, "%-50s %20s %20s\n", "", "seen", "drawn");
    for (int k = 0; k < CT_LOOK_NUMBERS; k++)
        fprintf(to, "%-50s %9.2f +- %7.2f %9.2f +- %7.2f\n", ct_look_rows[k].name, f->real.mean[k], f->real.sd[k],
                drawn->mean[k], drawn->sd[k]);
    fprintf(to, "distance %.3f; of the style it began with, %s: %.3f\n", distance, f->from, f->began);
}

/* "style.html" of "style.yaml". */
static char *page_path(const char *out)
{
    const char *dot = strrchr(out, '.'), *slash = strrchr(out, '/');
    return ct_asprintf("%.*s.html", (int)(dot && dot > (slash ? slash : out) ? (size_t)(dot - out) : strlen(out)), out);
}

static ct_status finish(const ct_fit_style_opts *o, const seen *s, const ct_style_fit *f, FILE *to)
{
    const int64_t n = s->n < 200 ? s->n : 200;
    ct_image *made = ct_calloc((size_t)n, sizeof *made, "pictures");
    char *page = o->html ? ct_strdup(o->html, "a path") : page_path(o->out);
    ct_look drawn;
    ct_status st = made && page ? CT_OK : CT_ENOMEM;
    if (st != CT_OK) goto fail;
    CT_GOTO(st, ct_look_drawn(&f->found, f->seed + 1, n, f->threads, made, &drawn));
    const double distance = ct_look_distance(&f->real, &drawn);
    CT_GOTO(st, write_style(o->out, f, distance));
    CT_GOTO(st, ct_fit_page(page, f, &drawn, distance, s->im, made, n < SHOWN ? n : SHOWN));
    print(f, &drawn, distance, to);
    ct_info("wrote %s and %s", o->out, page);
fail:
    for (int64_t i = 0; made && i < n; i++) ct_image_free(&made[i]);
    ct_free(made);
    ct_free(page);
    return st;
}

/* --charset and --length: what cannot be seen. */
static ct_status read_options(const ct_fit_style_opts *o, ct_style_fit *f)
{
    const char *length = ct_option_find(o->option, o->noptions, "length");
    int end = 0, range = 0;
    f->charset = ct_option_find(o->option, o->noptions, "charset");
    if (f->charset && strlen(f->charset) >= CT_TEXT_ALPHABET_BYTES)
        return ct_fail(CT_ECONFIG, "fit-style: --charset: longer than %d bytes", CT_TEXT_ALPHABET_BYTES - 1);
    if (!length) return CT_OK;
    if (sscanf(length, "%d%n-%d%n", &f->length_min, &end, &f->length_max, &range) == 1) f->length_max = f->length_min;
    if ((size_t)(range ? range : end) != strlen(length) || f->length_min < 1 || f->length_max < f->length_min ||
        f->length_max > CT_TEXT_LENGTH)
        return ct_fail(CT_ECONFIG, "fit-style: --length: '%s' is not a number or a range LO-HI from 1 to %d", length,
                       CT_TEXT_LENGTH);
    return CT_OK;
}

ct_status ct_text_fit_style(const ct_fit_style_opts *o, FILE *to)
{
    seen s = { .n = 0 };
    ct_style_fit *f = ct_calloc(1, sizeof *f, "a style");
    ct_status st = f ? CT_OK : CT_ENOMEM;
    if (st != CT_OK) goto fail;
    CT_GOTO(st, read_pictures(o->folder, &s));
    CT_GOTO(st, look_at(&s, &f->real));
    f->width = s.im[0].w;
    f->height = s.im[0].h;
    f->channels = f->real.mean[CT_LOOK_TINT] < 2 && f->real.mean[CT_LOOK_INK_TINT] < 4 ? 1 : 3;
    CT_GOTO(st, read_options(o, f));
    f->seed = o->seed ? o->seed : 1;
    f->rounds = o->rounds ? o->rounds : ROUNDS;
    f->threads = o->threads > 0 ? o->threads : ct_cpus();
    ct_info("fit-style: %" PRId64 " pictures of %dx%d pixels, %s; %" PRId64 " rounds", s.n, f->width, f->height,
            f->channels == 1 ? "gray" : "coloured", f->rounds);
    CT_GOTO(st, ct_fit_search(f));
    st = finish(o, &s, f, to);
fail:
    seen_free(&s);
    ct_free(f);
    return st;
}
