/* How fast pictures get in, one thread: PNG decoding beside what libpng alone takes for the same files, and batches of
 * the packed cache through ct_loader_next().
 *
 *   tests/bench/loader             a small made-up folder: checks that both decoders give the same pixels and that
 *                                  the loader delivers them (what `make check` runs; no time decides)
 *   tests/bench/loader DIR [S]     measures DIR, S seconds (default 2) for each row; `taskset -c 1` for a core of its
 * own
 *
 * Times are CPU time of the one thread (CLOCK_THREAD_CPUTIME_ID). "bare libpng" is the least a reader of PNG can do:
 * the file is in memory, one png_struct per picture (libpng has no way to reuse one), rows expanded to 8 bits, nothing
 * converted. */
#include "config.h"

#include <dirent.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "loader/loader.h"
#include "tests/data/data_util.h"

typedef struct file {
    char *name;
    uint8_t *data;
    size_t size;
} file;

typedef struct folder {
    const char *dir;
    file *f;
    size_t n, cap;
    size_t bytes;
} folder;

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const file *)a)->name, ((const file *)b)->name);
}

/* All PNG files of the folder, in memory. */
static ct_status read_folder(const char *dir, folder *out)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    *out = (folder){ .dir = dir };
    if (!d) return ct_fail(CT_EIO, "%s: not a folder that can be read", dir);
    ct_status st = CT_OK;
    while ((e = readdir(d))) {
        size_t len = strlen(e->d_name);
        if (len < 5 || strcmp(e->d_name + len - 4, ".png") != 0) continue;
        CT_GOTO(st, ct_grow(&out->f, out->n, &out->cap, sizeof *out->f, "files"));
        file *f = &out->f[out->n++];
        char *path = ct_path_join(dir, e->d_name);
        *f = (file){ .name = ct_strdup(e->d_name, "files") };
        st = path && f->name ? ct_file_read(path, CT_IMAGE_MAX_FILE, &f->data, &f->size) : CT_ENOMEM;
        ct_free(path);
        if (st != CT_OK) goto fail;
        out->bytes += f->size;
    }
    if (out->n == 0) st = ct_fail(CT_EDATA, "%s: no PNG file", dir);
    else qsort(out->f, out->n, sizeof *out->f, by_name); /* the order of a data set */
fail:
    closedir(d);
    return st;
}

static void free_folder(folder *d)
{
    for (size_t i = 0; i < d->n; i++) {
        ct_free(d->f[i].name);
        ct_free(d->f[i].data);
    }
    ct_free(d->f);
}

/* ---- bare libpng ---- */

typedef struct source {
    const file *f;
    size_t at;
} source;

static void on_read(png_structp png, png_bytep out, size_t n)
{
    source *s = png_get_io_ptr(png);
    if (n > s->f->size - s->at) png_error(png, "too short");
    memcpy(out, s->f->data + s->at, n);
    s->at += n;
}

/* Rows of the picture into px (room for `room` bytes); bytes per pixel, or 0 if it fails. */
static int bare(const file *f, uint8_t *px, size_t room, int *w, int *h)
{
    source s = { .f = f };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    volatile int channels = 0;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_read_struct(&png, &info, NULL);
        return 0;
    }
    png_set_read_fn(png, &s, on_read);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_scale_16(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    *w = (int)png_get_image_width(png, info);
    *h = (int)png_get_image_height(png, info);
    size_t row = png_get_rowbytes(png, info);
    if (row * (size_t)*h > room) png_error(png, "too large");
    for (int p = 0; p < passes; p++)
        for (int y = 0; y < *h; y++) png_read_row(png, px + row * (size_t)y, NULL);
    png_read_end(png, NULL);
    channels = png_get_channels(png, info);
    png_destroy_read_struct(&png, &info, NULL);
    return channels;
}

/* ---- rows of the table ---- */

enum { ROOM = 64 << 20 }; /* bytes of pixels */

static double bare_rate(const folder *d, double seconds, uint8_t *px)
{
    double start = cpu_now(), t;
    int64_t n = 0;
    int w, h;
    do {
        for (size_t i = 0; i < d->n; i++) n += bare(&d->f[i], px, ROOM, &w, &h) != 0;
        t = cpu_now() - start;
    } while (t < seconds);
    return (double)n / t;
}

/* As a data set decodes: from memory into 1 channel. */
static ct_status read_rate(const folder *d, double seconds, double *rate)
{
    const ct_image_opts gray = { 1, { 255, 255, 255 } };
    double start = cpu_now(), t;
    int64_t n = 0;
    do {
        for (size_t i = 0; i < d->n; i++, n++) {
            ct_image im;
            CT_TRY(ct_image_read_mem(d->f[i].data, d->f[i].size, d->f[i].name, &gray, &im));
            ct_image_free(&im);
        }
        t = cpu_now() - start;
    } while (t < seconds);
    *rate = (double)n / t;
    return CT_OK;
}

/* Batches of 64 made in this thread. */
static ct_status loader_rate(const ct_dataset *ds, bool shuffle, double seconds, double *rate)
{
    const ct_loader_spec spec = { .data = ds, .batch = 64, .shuffle = shuffle, .seed = 1, .epochs = -1 };
    const ct_batch *b;
    ct_loader *l;
    CT_TRY(ct_loader_open(&spec, &l));
    ct_status st = CT_OK;
    double start = cpu_now(), t;
    int64_t n = 0;
    do {
        for (int k = 0; k < 64 && st == CT_OK; k++) {
            st = ct_loader_next(l, &b);
            if (st == CT_OK) n += b->n;
        }
        t = cpu_now() - start;
    } while (t < seconds && st == CT_OK);
    *rate = (double)n / t;
    ct_loader_close(l);
    return st;
}

static ct_status open_set(const char *dir, ct_dataset **ds, double *seconds)
{
    ct_dataset_spec spec;
    ct_dataset_spec_init(&spec);
    spec.path = dir;
    double start = cpu_now();
    ct_labels *labels;
    CT_TRY(ct_labels_none(NULL, &labels));
    ct_status st = ct_dataset_open(&spec, labels, 1, ds);
    *seconds = cpu_now() - start;
    return st;
}

static ct_status measure(const char *dir, double seconds)
{
    folder d;
    ct_dataset *ds = NULL;
    ct_status st;
    double own, first, again, plain, shuffled;
    uint8_t *px = ct_malloc(ROOM, "pixels");
    if (!px) return CT_ENOMEM;
    CT_GOTO(st, read_folder(dir, &d));
    double libpng = bare_rate(&d, seconds, px);
    CT_GOTO(st, read_rate(&d, seconds, &own));
    CT_GOTO(st, open_set(dir, &ds, &first));
    bool cached = ct_dataset_was_cached(ds);
    ct_dataset_close(ds);
    CT_GOTO(st, open_set(dir, &ds, &again));
    CT_GOTO(st, loader_rate(ds, false, seconds, &plain));
    CT_GOTO(st, loader_rate(ds, true, seconds, &shuffled));
    double n = (double)d.n;
    printf("%zu PNG files, %.1f kB each; data set %dx%dx%d\n", d.n, (double)d.bytes / n * 1e-3, ct_dataset_width(ds),
           ct_dataset_height(ds), ct_dataset_channels(ds));
    printf("%-44s %10.0f images/s\n", "bare libpng, from memory", libpng);
    printf("%-44s %10.0f images/s (%.2f of bare libpng)\n", "decoded to gray, from memory", own, own / libpng);
    printf("%-44s %10.0f images/s\n", cached ? "opening the folder, cache there" : "opening the folder, no cache yet",
           n / first);
    printf("%-44s %10.0f images/s\n", "opening it again: hashing files and cache", n / again);
    printf("%-44s %10.0f images/s\n", "batches of 64 in order", plain);
    printf("%-44s %10.0f images/s\n", "batches of 64 shuffled", shuffled);
fail:
    ct_dataset_close(ds);
    free_folder(&d);
    ct_free(px);
    return st;
}

/* ---- what make check runs ---- */

/* Both decoders agree on a gray and an RGB file, and the loader delivers those pixels. */
static ct_status check(void)
{
    enum { N = 9, W = 37, H = 11 };
    char *dir = ct_util_tempdir();
    folder d = { 0 };
    ct_dataset *ds = NULL;
    ct_loader *l = NULL;
    const ct_batch *b = NULL;
    ct_status st;
    double seconds;
    uint8_t *px = ct_malloc(ROOM, "pixels");
    for (unsigned i = 0; i < N; i++) {
        char name[32];
        snprintf(name, sizeof name, "A%u_0.png", i);
        ct_util_picture(dir, name, W, H, i);
    }
    CT_GOTO(st, px ? read_folder(dir, &d) : CT_ENOMEM);
    CT_GOTO(st, open_set(dir, &ds, &seconds));
    const ct_loader_spec spec = { .data = ds, .batch = N, .epochs = 1 };
    CT_GOTO(st, ct_loader_open(&spec, &l));
    CT_GOTO(st, ct_loader_next(l, &b));
    if (d.n != N || !b || b->n != N) st = ct_fail(CT_EINTERNAL, "%zu files, not %d, or a short batch", d.n, N);
    for (int i = 0; i < N && st == CT_OK; i++) {
        int w = 0, h = 0;
        ct_image im = { 0 };
        if (bare(&d.f[i], px, ROOM, &w, &h) != 3 || w != W || h != H) {
            st = ct_fail(CT_EINTERNAL, "%s: bare libpng reads something else", d.f[i].name);
            break;
        }
        CT_GOTO(st, ct_image_read_mem(d.f[i].data, d.f[i].size, d.f[i].name, NULL, &im));
        if (memcmp(im.px, px, 3 * W * H) != 0) st = ct_fail(CT_EINTERNAL, "%s: decoders differ", d.f[i].name);
        ct_image_to_gray(&im);
        if (st == CT_OK && memcmp(im.px, b->px + (size_t)i * W * H, W * H) != 0)
            st = ct_fail(CT_EINTERNAL, "%s: the loader delivers other pixels", d.f[i].name);
        ct_image_free(&im);
    }
fail:
    ct_loader_close(l);
    ct_dataset_close(ds);
    free_folder(&d);
    ct_free(px);
    ct_util_remove(dir);
    return st;
}

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? atof(argv[2]) : 2;
    ct_log_set_level(CT_LOG_WARN);
    if (argc > 3 || !(seconds > 0)) {
        fputs("usage: loader [DIR [SECONDS]]\n", stderr);
        return 2;
    }
    ct_status st = argc > 1 ? measure(argv[1], seconds) : check();
    if (st != CT_OK) fprintf(stderr, "loader: %s\n", ct_error_message());
    return st == CT_OK ? 0 : 1;
}
