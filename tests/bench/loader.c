/* How fast pictures get in, one thread: decoding beside what libpng or libjpeg alone takes for the same files, batches
 * of the packed cache through ct_loader_next(), and pictures of a cache that packs files (as clips are by default).
 *
 *   tests/bench/loader             small made-up folders: checks that both decoders give the same pixels and that
 *                                  loader and cache deliver them (what `make check` runs; no time decides)
 *   tests/bench/loader DIR [S]     measures DIR, S seconds (default 2) for each row; `taskset -c 1` for a core of its
 *                                  own. All files of DIR that are .png count, or if there are none, .jpg
 *
 * Times are CPU time of the one thread (CLOCK_THREAD_CPUTIME_ID). PNG is decoded to gray, as texts are, JPEG to RGB, as
 * frames are. */
#include "config.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "loader/loader.h"
#include "tests/bench/bare.h"
#include "tests/data/data_util.h"

typedef struct file_kind {
    const char *suffix, *library;
    int channels; /* that pictures are decoded to */
    int (*bare)(const uint8_t *data, size_t size, uint8_t *px, size_t room, int *w, int *h);
} file_kind;

static const file_kind kinds[] = { { ".png", "libpng", 1, bare_png }, { ".jpg", "libjpeg", 3, bare_jpeg } };

typedef struct file {
    char *name;
    uint8_t *data;
    size_t size;
} file;

typedef struct folder {
    const file_kind *kind;
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

/* All files of that kind in the folder, in memory. */
static ct_status read_kind(const char *dir, const file_kind *kind, folder *out)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    *out = (folder){ .kind = kind };
    if (!d) return ct_fail(CT_EIO, "%s: not a folder that can be read", dir);
    ct_status st = CT_OK;
    while ((e = readdir(d))) {
        size_t len = strlen(e->d_name);
        if (len < 5 || strcmp(e->d_name + len - 4, kind->suffix) != 0) continue;
        CT_GOTO(st, ct_grow(&out->f, out->n, &out->cap, sizeof *out->f, "files"));
        file *f = &out->f[out->n++];
        char *path = ct_path_join(dir, e->d_name);
        *f = (file){ .name = ct_strdup(e->d_name, "files") };
        st = path && f->name ? ct_file_read(path, CT_IMAGE_MAX_FILE, &f->data, &f->size) : CT_ENOMEM;
        ct_free(path);
        if (st != CT_OK) goto fail;
        out->bytes += f->size;
    }
    if (out->n) qsort(out->f, out->n, sizeof *out->f, by_name); /* the order of a data set */
fail:
    closedir(d);
    return st;
}

static ct_status read_folder(const char *dir, folder *out)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        CT_TRY(read_kind(dir, &kinds[k], out));
        if (out->n) return CT_OK;
    }
    return ct_fail(CT_EDATA, "%s: no PNG or JPEG file", dir);
}

static void free_folder(folder *d)
{
    for (size_t i = 0; i < d->n; i++) {
        ct_free(d->f[i].name);
        ct_free(d->f[i].data);
    }
    ct_free(d->f);
}

/* ---- rows of the table ---- */

enum { ROOM = 64 << 20 }; /* bytes of pixels */

static double bare_rate(const folder *d, double seconds, uint8_t *px)
{
    double start = cpu_now(), t;
    int64_t n = 0;
    int w, h;
    do {
        for (size_t i = 0; i < d->n; i++) n += d->kind->bare(d->f[i].data, d->f[i].size, px, ROOM, &w, &h) != 0;
        t = cpu_now() - start;
    } while (t < seconds);
    return (double)n / t;
}

/* As a data set decodes: from memory into the channels it has. */
static ct_status read_rate(const folder *d, double seconds, double *rate)
{
    const ct_image_opts opts = { d->kind->channels, { 255, 255, 255 } };
    double start = cpu_now(), t;
    int64_t n = 0;
    do {
        for (size_t i = 0; i < d->n; i++, n++) {
            ct_image im;
            CT_TRY(ct_image_read_mem(d->f[i].data, d->f[i].size, d->f[i].name, &opts, &im));
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

/* Pictures of a cache that packs files, one after the other. */
static ct_status packed_rate(const ct_dataset *ds, double seconds, uint8_t *px, double *rate)
{
    double start = cpu_now(), t;
    int64_t n = 0;
    do {
        for (int64_t i = 0; i < ct_dataset_size(ds); i++, n++) CT_TRY(ct_dataset_read(ds, i, 0, px));
        t = cpu_now() - start;
    } while (t < seconds);
    *rate = (double)n / t;
    return CT_OK;
}

static ct_status open_set(const char *dir, const file_kind *kind, ct_keep keep, ct_dataset **ds, double *seconds)
{
    ct_dataset_spec spec;
    ct_dataset_spec_init(&spec);
    spec.path = dir;
    spec.channels = kind->channels;
    spec.keep = keep;
    double start = cpu_now();
    ct_labels *labels;
    CT_TRY(ct_labels_none(NULL, &labels));
    ct_status st = ct_dataset_open(&spec, labels, 1, ds);
    *seconds = cpu_now() - start;
    return st;
}

static void row(const char *what, double rate, const file_kind *kind, double bare)
{
    printf("%-44s %10.0f pictures/s", what, rate);
    if (kind) printf(" (%.2f of bare %s)", rate / bare, kind->library);
    putchar('\n');
}

static ct_status measure(const char *dir, double seconds)
{
    folder d = { 0 };
    ct_dataset *ds = NULL;
    ct_status st;
    double own, first, again, plain, shuffled, packed;
    uint8_t *px = ct_malloc(ROOM, "pixels");
    if (!px) return CT_ENOMEM;
    CT_GOTO(st, read_folder(dir, &d));
    const double bare = bare_rate(&d, seconds, px);
    CT_GOTO(st, read_rate(&d, seconds, &own));
    CT_GOTO(st, open_set(dir, d.kind, CT_KEEP_FILES, &ds, &first));
    CT_GOTO(st, packed_rate(ds, seconds, px, &packed));
    ct_dataset_close(ds);
    ds = NULL;
    CT_GOTO(st, open_set(dir, d.kind, CT_KEEP_PIXELS, &ds, &first));
    bool cached = ct_dataset_was_cached(ds);
    ct_dataset_close(ds);
    ds = NULL;
    CT_GOTO(st, open_set(dir, d.kind, CT_KEEP_PIXELS, &ds, &again));
    CT_GOTO(st, loader_rate(ds, false, seconds, &plain));
    CT_GOTO(st, loader_rate(ds, true, seconds, &shuffled));
    const double n = (double)d.n;
    printf("%zu files %s, %.1f kB each; data set %dx%dx%d\n", d.n, d.kind->suffix, (double)d.bytes / n * 1e-3,
           ct_dataset_width(ds), ct_dataset_height(ds), ct_dataset_channels(ds));
    row("the library alone, from memory", bare, NULL, bare);
    row(d.kind->channels == 1 ? "decoded to gray, from memory" : "decoded to RGB, from memory", own, d.kind, bare);
    row("from a cache that packs files", packed, d.kind, bare);
    row(cached ? "opening the folder, cache there" : "opening the folder, no cache yet", n / first, NULL, bare);
    row("opening it again: hashing files and cache", n / again, NULL, bare);
    row("batches of 64 in order", plain, NULL, bare);
    row("batches of 64 shuffled", shuffled, NULL, bare);
fail:
    ct_dataset_close(ds);
    free_folder(&d);
    ct_free(px);
    return st;
}

/* ---- what make check runs ---- */

enum { N = 9, W = 37, H = 11 };

/* N pictures of that kind. */
static void write_pictures(const char *dir, const file_kind *kind)
{
    for (unsigned i = 0; i < N; i++) {
        char name[32];
        snprintf(name, sizeof name, "A%u_0%s", i, kind->suffix);
        if (strcmp(kind->suffix, ".png") == 0) {
            ct_util_picture(dir, name, W, H, i);
            continue;
        }
        uint8_t px[W * H * 3];
        for (size_t k = 0; k < sizeof px; k++) px[k] = (uint8_t)(k / 3 * (i + 1) + 40 * (k % 3));
        const ct_jpeg_kind jpeg = { .w = W, .h = H, .space = 3, .quality = 90 };
        ct_blob b = ct_util_jpeg(&jpeg, px);
        ct_util_write(dir, name, b.data, b.size);
        free(b.data);
    }
}

/* File i: the library's pixels are ours, and those that the data sets deliver. */
static ct_status check_picture(const folder *d, int i, const uint8_t *batch, const ct_dataset *files, uint8_t *px)
{
    const size_t bytes = (size_t)d->kind->channels * W * H;
    const file *f = &d->f[i];
    int w = 0, h = 0;
    ct_image im = { 0 };
    uint8_t packed[W * H * 3];
    if (d->kind->bare(f->data, f->size, px, ROOM, &w, &h) != 3 || w != W || h != H)
        return ct_fail(CT_EINTERNAL, "%s: bare %s reads something else", f->name, d->kind->library);
    CT_TRY(ct_image_read_mem(f->data, f->size, f->name, NULL, &im));
    ct_status st = CT_OK;
    if (memcmp(im.px, px, 3 * W * H) != 0) st = ct_fail(CT_EINTERNAL, "%s: decoders differ", f->name);
    if (d->kind->channels == 1) ct_image_to_gray(&im);
    if (st == CT_OK && memcmp(im.px, batch + (size_t)i * bytes, bytes) != 0)
        st = ct_fail(CT_EINTERNAL, "%s: the loader delivers other pixels", f->name);
    if (st == CT_OK) st = ct_dataset_read(files, i, 0, packed);
    if (st == CT_OK && memcmp(im.px, packed, bytes) != 0)
        st = ct_fail(CT_EINTERNAL, "%s: the cache of files delivers other pixels", f->name);
    ct_image_free(&im);
    return st;
}

static ct_status check(const file_kind *kind)
{
    char *dir = ct_util_tempdir();
    folder d = { 0 };
    ct_dataset *ds = NULL, *files = NULL;
    ct_loader *l = NULL;
    const ct_batch *b = NULL;
    ct_status st;
    double seconds;
    uint8_t *px = ct_malloc(ROOM, "pixels");
    write_pictures(dir, kind);
    CT_GOTO(st, px ? read_folder(dir, &d) : CT_ENOMEM);
    CT_GOTO(st, open_set(dir, kind, CT_KEEP_PIXELS, &ds, &seconds));
    CT_GOTO(st, open_set(dir, kind, CT_KEEP_FILES, &files, &seconds));
    const ct_loader_spec spec = { .data = ds, .batch = N, .epochs = 1 };
    CT_GOTO(st, ct_loader_open(&spec, &l));
    CT_GOTO(st, ct_loader_next(l, &b));
    if (d.n != N || d.kind != kind || !b || b->n != N || !ct_dataset_packs_files(files) || ct_dataset_packs_files(ds))
        st = ct_fail(CT_EINTERNAL, "%zu files, not %d, a short batch, or files where pixels are wanted", d.n, N);
    for (int i = 0; i < N && st == CT_OK; i++) st = check_picture(&d, i, b->px, files, px);
fail:
    ct_loader_close(l);
    ct_dataset_close(ds);
    ct_dataset_close(files);
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
    ct_status st = CT_OK;
    if (argc > 1) st = measure(argv[1], seconds);
    else
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && st == CT_OK; k++) st = check(&kinds[k]);
    if (st != CT_OK) fprintf(stderr, "loader: %s\n", ct_error_message());
    return st == CT_OK ? 0 : 1;
}
