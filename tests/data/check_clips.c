/* Clips: the rule of lengths, tempo, folders of frames, sets and loaders of clips. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "data/scan.h"
#include "data/tempo.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"

static const ct_clip_rule rule = { .front = 6, .extra = 12, .multiple = 4 };

/* ---- lengths ---- */

START_TEST(lengths)
{
    for (int64_t t = 1; t <= 300; t++) {
        const int64_t n = ct_clip_padded(&rule, t), steps = ((n - 4) / 2 - 4) / 2; /* two convolutions of 5, two pools */
        ck_assert_int_eq(steps, (t + 3) / 4);
        ck_assert_int_eq(n % 4, 0);
        for (int64_t p = 0; p < n; p++) {
            const int64_t want = p < 6 ? 0 : p - 6 < t ? p - 6 : t - 1;
            ck_assert_int_eq(ct_clip_frame(&rule, t, p), want);
        }
        ck_assert_int_ge(n - 6 - t, 6); /* copies behind */
    }
    ck_assert_int_eq(ct_clip_padded(&(ct_clip_rule){ 0 }, 7), 7);
}
END_TEST

START_TEST(thinning)
{
    for (int all = 1; all < 60; all++) {
        for (int most = 1; most <= all; most++) {
            ck_assert_int_eq(ct_clip_thin(all, most, 0), most == 1 ? all / 2 : 0);
            if (most > 1) ck_assert_int_eq(ct_clip_thin(all, most, most - 1), all - 1);
            int64_t least = all, largest = 0;
            for (int k = 1; k < most; k++) {
                const int64_t gap = ct_clip_thin(all, most, k) - ct_clip_thin(all, most, k - 1);
                if (gap < least) least = gap;
                if (gap > largest) largest = gap;
            }
            if (most > 1) ck_assert(least >= 1 && largest - least <= 1); /* even */
        }
        ck_assert_int_eq(ct_clip_thin(all, all + 5, all - 1), all - 1);
    }
}
END_TEST

/* ---- tempo ---- */

START_TEST(tempo)
{
    const ct_tempo t = { .seed = 9, .range = 0.2, .clip = &rule }, off = { .seed = 9, .clip = &rule };
    int32_t pick[400], again[400];
    double sum = 0;
    int64_t hit[100] = { 0 }, drawn = 0;
    for (int frames = 1; frames <= 300; frames += 7) {
        for (int s = 0; s < 20; s++) {
            const int n = ct_tempo_draw(&t, 3, s, frames, 1, pick);
            ck_assert_int_eq(n, ct_tempo_draw(&t, 3, s, frames, 1, again));
            ck_assert_mem_eq(pick, again, (size_t)n * sizeof *pick);
            ck_assert_int_eq(n, ct_tempo_draw(&t, 3, s, frames, 1, NULL));
            ck_assert(n % 4 == 0 && n >= CT_TEMPO_LEAST && n <= CT_TEMPO_MOST + 3);
            ck_assert(n >= ct_tempo_shortest(&t, frames, 1) && n <= ct_tempo_longest(&t, frames, 1));
            for (int k = 0; k < n; k++) {
                ck_assert(pick[k] >= 0 && pick[k] < frames);
                if (k) ck_assert(n <= frames ? pick[k] > pick[k - 1] : pick[k] >= pick[k - 1]);
            }
        }
        ck_assert_int_eq(ct_tempo_draw(&off, 3, 0, frames, 1, pick), frames);
        for (int k = 0; k < frames; k++) ck_assert_int_eq(pick[k], k);
    }
    int longer = 0, other = 0;
    for (int s = 0; s < 4000; s++) { /* 100 frames: 80 to 120, and no frame is preferred */
        const int n = ct_tempo_draw(&t, 1, s, 100, 1, pick);
        sum += n;
        longer += n > 100;
        other += n != ct_tempo_draw(&t, 2, s, 100, 1, NULL);
        for (int k = 0; k < n; k++) hit[pick[k]]++;
        drawn += n;
    }
    ck_assert(sum / 4000 > 100 && sum / 4000 < 103); /* 100 + 1.5 of rounding up */
    ck_assert(longer > 1600 && longer < 2400);
    ck_assert_int_gt(other, 3000);
    for (int k = 0; k < 100; k++) {
        const double share = (double)hit[k] * 100 / (double)drawn;
        ck_assert_msg(share > 0.93 && share < 1.07, "frame %d: %g", k, share);
    }
    for (int s = 0; s < 50; s++) ck_assert_int_eq(ct_tempo_draw(&t, 1, s, 50, 58, NULL), 60); /* 40 to 60, 58 are needed */
}
END_TEST

/* ---- folders of frames ---- */

static void frames_are(const char *dir, const char *want)
{
    char **name, got[512] = "";
    int64_t n;
    ck_assert_msg(ct_scan_frames(dir, &name, &n) == CT_OK, "%s", ct_error_message());
    for (int64_t i = 0; i < n; i++) {
        strcat(strcat(got, name[i]), " ");
        ct_free(name[i]);
    }
    ct_free(name);
    ck_assert_str_eq(got, want);
}

static void refused(const char *dir, ct_status want, const char *words)
{
    char **name;
    int64_t n;
    ck_assert_int_eq(ct_scan_frames(dir, &name, &n), want);
    ck_assert_ptr_null(name);
    ck_assert_msg(strstr(ct_error_message(), words) != NULL, "'%s' does not say '%s'", ct_error_message(), words);
}

START_TEST(folders)
{
    char *dir = ct_util_tempdir();
    for (int i = 8; i <= 11; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.png", i);
        ct_util_picture(dir, name, 4, 4, (unsigned)i);
    }
    ct_util_text(dir, "notes.txt", "not a frame");
    frames_are(dir, "8.png 9.png 10.png 11.png ");
    ct_util_picture(dir, "14.png", 4, 4, 1);
    refused(dir, CT_EDATA, "after frame 11.png comes 14.png: 2 are missing");
    ct_util_picture(dir, "12.png", 4, 4, 1);
    ct_util_picture(dir, "13.png", 4, 4, 1);
    frames_are(dir, "8.png 9.png 10.png 11.png 12.png 13.png 14.png ");
    ct_util_picture(dir, "0012.png", 4, 4, 1);
    refused(dir, CT_EDATA, "have the same number");
    ct_util_picture(dir, "x_fn000012-0.png", 4, 4, 1); /* names that are no numbers: by their bytes */
    frames_are(dir, "0012.png 10.png 11.png 12.png 13.png 14.png 8.png 9.png x_fn000012-0.png ");
    ct_util_text(dir, "sign.mp4", "video");
    refused(ct_util_path(dir, "sign.mp4"), CT_EDATA, "ffmpeg -i ");
    refused(ct_util_path(dir, "notes.txt"), CT_EDATA, "a clip is a folder of pictures");
    refused(ct_util_path(dir, "nowhere"), CT_EIO, "nowhere");
    ck_assert_int_eq(mkdir(ct_util_path(dir, "empty"), 0755), 0);
    refused(ct_util_path(dir, "empty"), CT_EDATA, "empty");
    ct_util_remove(dir);
}
END_TEST

/* ---- a reader: every sub-folder is a clip, its label the name ---- */

static ct_status clip_scan(ct_labels *l, const char *path, ct_scan *out)
{
    static const char *const name[] = { "a_1", "b_2", "c_3", "d_4" };
    (void)l;
    *out = (ct_scan){ .n = 0 };
    out->root = ct_strdup(path, "root");
    out->dir = ct_strdup(path, "dir");
    out->s = ct_calloc(4, sizeof *out->s, "samples");
    for (size_t i = 0; i < 4; i++) {
        ct_sample *s = &out->s[out->n];
        char **frame;
        if (ct_scan_frames(ct_util_path(path, name[i]), &frame, &s->frames) != CT_OK) continue;
        for (int64_t k = 0; k < s->frames; k++) {
            char *full = ct_path_join(name[i], frame[k]);
            ct_free(frame[k]);
            frame[k] = full;
        }
        s->frame = frame;
        s->name = ct_strdup(name[i], "name");
        s->text = ct_strdup(name[i], "text");
        out->n++;
    }
    return CT_OK;
}

static ct_status clip_learn(ct_labels *l, const char *const *text, int64_t n)
{
    (void)text;
    (void)n;
    l->fields = 1;
    l->field[0] = (ct_field){ .name = "length", .dtype = CT_I32, .kind = CT_FIELD_IDS, .ndim = 1, .dim = { 1 } };
    return CT_OK;
}

static ct_status clip_encode(const ct_labels *l, const ct_label_in *in, void *const row[])
{
    (void)l;
    *(int32_t *)row[0] = in->frames;
    return in->frames == 13 ? ct_fail(CT_EDATA, "%s: 13 frames", in->name) : CT_OK;
}

static void clip_blank(const ct_labels *l, void *const row[])
{
    (void)l;
    *(int32_t *)row[0] = 0;
}

static int clip_least(const ct_labels *l, const char *text)
{
    (void)l;
    return (int)strlen(text);
}

static void clip_close(ct_labels *l) { ct_free(l); }

static ct_labels *reader(void)
{
    static const ct_labels_ops ops = { .scan = clip_scan, .learn = clip_learn, .encode = clip_encode, .blank = clip_blank,
                                       .least = clip_least, .close = clip_close };
    ct_labels *l = ct_calloc(1, sizeof *l, "reader");
    l->ops = &ops;
    l->clip = rule;
    return l;
}

/* ---- sets from folders ---- */

enum { SIDE = 4 };

static void write_clip(const char *dir, const char *name, int frames, unsigned seed)
{
    ck_assert_int_eq(mkdir(ct_util_path(dir, name), 0755), 0);
    for (int i = 1; i <= frames; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s/%05d.png", name, i);
        ct_util_picture(dir, file, SIDE, SIDE, seed + (unsigned)i);
    }
}

static ct_dataset *open_clips(const char *dir, int workers, int max_frames, int64_t max_bad, ct_status want)
{
    ct_dataset_spec spec;
    ct_dataset *ds;
    ct_dataset_spec_init(&spec);
    spec.path = dir;
    spec.max_frames = max_frames;
    spec.max_bad = max_bad;
    ck_assert_msg(ct_dataset_open(&spec, reader(), workers, &ds) == want, "%s", ct_error_message());
    return ds;
}

START_TEST(sets)
{
    static const int frames[3] = { 5, 1, 9 };
    char *dir = ct_util_tempdir(), *cache = ct_util_tempdir();
    ck_assert_int_eq(setenv("CAPTRAIN_CACHE_DIR", cache, 1), 0);
    write_clip(dir, "a_1", 5, 10);
    write_clip(dir, "b_2", 1, 20);
    write_clip(dir, "c_3", 9, 30);
    for (int round = 0; round < 3; round++) {
        ct_dataset *ds = open_clips(dir, round == 1 ? 4 : 1, 0, 0, CT_OK);
        ck_assert_int_eq(ct_dataset_was_cached(ds), round > 0);
        ck_assert_int_eq(ct_dataset_size(ds), 3);
        ck_assert_int_eq(ct_dataset_clip(ds)->extra, 12);
        ck_assert(!ct_dataset_contiguous(ds));
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(ct_dataset_frames(ds, i), frames[i]);
            ck_assert_int_eq(*(const int32_t *)ct_dataset_field(ds, 0, i), ct_dataset_frames(ds, i));
            ck_assert_int_eq(ct_dataset_least_frames(ds, i), 3);
            for (int k = 0; k < ct_dataset_frames(ds, i); k++) {
                char file[64];
                ct_image im, of;
                ct_image_opts gray = { .channels = 1, .background = { 255, 255, 255 } };
                snprintf(file, sizeof file, "%s/%05d.png", ct_dataset_name(ds, i), k + 1);
                ck_assert_int_eq(ct_image_read_file(ct_util_path(dir, file), &gray, &im), CT_OK);
                ct_image_to_gray(&im);
                ck_assert_mem_eq(ct_dataset_frame_pixels(ds, i, k), im.px, SIDE * SIDE);
                ck_assert_int_eq(ct_dataset_frame(ds, i, k, &of), CT_OK);
                ck_assert_mem_eq(of.px, im.px, SIDE * SIDE);
                ct_image_free(&of);
                ct_image_free(&im);
            }
        }
        ct_dataset_close(ds);
    }
    ct_dataset *few = open_clips(dir, 2, 3, 0, CT_OK), *all = open_clips(dir, 2, 0, 0, CT_OK);
    ck_assert(strcmp(ct_dataset_key(few), ct_dataset_key(all)) != 0);
    for (int k = 0; k < 3; k++) /* of nine: the first, the middle and the last */
        ck_assert_mem_eq(ct_dataset_frame_pixels(few, 2, k), ct_dataset_frame_pixels(all, 2, 4 * k), SIDE * SIDE);
    ck_assert_int_eq(ct_dataset_frames(few, 1), 1);
    ct_dataset_close(few);
    ct_dataset_close(all);
    ct_util_remove(dir);
    ct_util_remove(cache);
}
END_TEST

/* A clip with a damaged frame, with frames of two sizes, or that its label refuses, is bad as a whole. */
START_TEST(bad_clips)
{
    char *dir = ct_util_tempdir(), *cache = ct_util_tempdir();
    ck_assert_int_eq(setenv("CAPTRAIN_CACHE_DIR", cache, 1), 0);
    write_clip(dir, "a_1", 5, 10);
    write_clip(dir, "b_2", 6, 20);
    write_clip(dir, "c_3", 7, 30);
    write_clip(dir, "d_4", 13, 40);
    ct_util_text(dir, "b_2/00004.png", "\x89PNG\r\n\x1a\n and no more");
    ct_util_picture(dir, "c_3/00006.png", SIDE + 1, SIDE, 9);
    ck_assert_ptr_null(open_clips(dir, 2, 0, 2, CT_EDATA));
    ct_dataset *ds = open_clips(dir, 2, 0, 3, CT_OK);
    ck_assert_int_eq(ct_dataset_size(ds), 1);
    ck_assert_int_eq(ct_dataset_bad_count(ds), 3);
    static const char *const words[] = { "frame b_2/00004.png: ", "frame c_3/00006.png has 5x4 pixels, the first one has 4x4",
                                         "13 frames" };
    for (int i = 0; i < 3; i++)
        ck_assert_msg(strstr(ct_dataset_bad(ds, i).reason, words[i]) != NULL, "%s", ct_dataset_bad(ds, i).reason);
    ct_dataset_close(ds);

    const char *path[] = { ct_util_path(dir, "c_3"), ct_util_path(dir, "a_1"), ct_util_path(dir, "nothing") };
    ct_dataset_spec spec;
    ct_labels *none;
    ct_dataset_spec_init(&spec);
    ck_assert_int_eq(ct_labels_none(&rule, &none), CT_OK);
    ck_assert_msg(ct_dataset_open_files(&spec, none, path, 3, 2, &ds) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_dataset_size(ds), 1);
    ck_assert_str_eq(ct_dataset_name(ds, 0), path[1]);
    ck_assert_int_eq(ct_dataset_frames(ds, 0), 5);
    ck_assert_int_eq(ct_dataset_bad_count(ds), 2);
    ct_dataset_close(ds);
    spec.size_rule = CT_SIZE_LETTERBOX;
    spec.height = spec.width = 8;
    ck_assert_int_eq(ct_labels_none(&rule, &none), CT_OK);
    ck_assert_int_eq(ct_dataset_open_files(&spec, none, path, 1, 1, &ds), CT_ECONFIG);
    ct_util_remove(dir);
    ct_util_remove(cache);
}
END_TEST

/* ---- drawn clips, and batches of them ---- */

enum { N = 41 };

static int drawn_frames(const void *user, int64_t i)
{
    (void)user;
    return 20 + (int)(i * i * 7 % 90); /* 20 to 109 */
}

static ct_status drawn_label(const void *user, int64_t i, char **label)
{
    (void)user;
    return (*label = ct_asprintf("clip %d", (int)i)) ? CT_OK : CT_ENOMEM;
}

/* Pixels that say which clip and frame they are of. */
static ct_status drawn_frame(void *state, int64_t i, int frame, ct_image *out)
{
    (void)state;
    CT_TRY(ct_image_make(SIDE, SIDE, 1, 0, out));
    for (int k = 0; k < SIDE * SIDE; k++) out->px[k] = (uint8_t)(k % 2 ? frame : i);
    return CT_OK;
}

static ct_status open_state(const void *user, void **state)
{
    (void)user;
    *state = malloc(1);
    return CT_OK;
}

static ct_dataset *drawn_set(int max_frames)
{
    static const ct_clip_source clip = { drawn_frames, drawn_label, drawn_frame };
    const ct_source src = { .name = "test", .n = N, .open = open_state, .close = free, .clip = &clip };
    ct_dataset_spec spec;
    ct_dataset *ds;
    ct_dataset_spec_init(&spec);
    spec.max_frames = max_frames;
    ck_assert_msg(ct_dataset_open_source(&spec, &src, reader(), 3, &ds) == CT_OK, "%s", ct_error_message());
    return ds;
}

/* What row r of a batch must show, from the rule and the draw alone. */
static void check_clip(const ct_loader_spec *s, const ct_batch *b, int r)
{
    const ct_tempo t = { .seed = s->seed, .range = s->tempo, .clip = &rule };
    const int64_t id = b->sample[r];
    const int frames = ct_dataset_frames(s->data, id);
    int32_t pick[400];
    const int own = ct_tempo_draw(&t, b->epoch, id, frames, ct_dataset_least_frames(s->data, id), pick);
    ck_assert_int_eq(b->lengths[r], ct_clip_padded(&rule, own));
    ck_assert_int_le(b->lengths[r], b->frames);
    if (s->frames_step == 0) ck_assert_int_eq(b->lengths[r], b->frames);
    ck_assert_int_eq(((const int32_t *)b->field[0])[r], frames);
    for (int p = 0; p < b->frames; p++) {
        const int32_t *index = b->index + 3 * (r * b->frames + p);
        ck_assert(index[0] >= 0 && index[0] < s->batch * b->frames);
        ck_assert(index[1] == id && index[2] == b->epoch);
        const uint8_t *px = b->px + (size_t)index[0] * SIDE * SIDE;
        ck_assert_int_eq(px[0], id);
        ck_assert_int_eq(px[1], pick[ct_clip_frame(&rule, own, p)]);
    }
}

static bool has_shape(const ct_batch_shape *shape, size_t n, const ct_batch *b)
{
    for (size_t i = 0; i < n; i++)
        if (shape[i].length == b->length && shape[i].rows == b->n) return true;
    return false;
}

/* All batches of three epochs; a digest of what they hold. */
static uint64_t run(const ct_loader_spec *s, int64_t *batches, size_t *shapes)
{
    ct_batch_shape *shape;
    ct_loader *l;
    const ct_batch *b;
    uint64_t digest = 0;
    int seen[N] = { 0 };
    int64_t longest = 0;
    ck_assert_msg(ct_loader_shapes(s, &shape, shapes) == CT_OK, "%s", ct_error_message());
    ck_assert_msg(ct_loader_open(s, &l) == CT_OK, "%s", ct_error_message());
    *batches = ct_loader_batches(l);
    int64_t count;
    ck_assert_int_eq(ct_loader_count(s, &count), CT_OK);
    ck_assert_int_eq(count, *batches);
    for (int64_t k = 0;; k++) {
        ck_assert_int_eq(ct_loader_next(l, &b), CT_OK);
        if (!b) {
            ck_assert_int_eq(k, 3 * *batches);
            break;
        }
        ck_assert_int_eq(b->length, b->frames);
        ck_assert_ptr_null(b->windows);
        ck_assert_msg(has_shape(shape, *shapes, b), "%d clips of %d pictures", b->n, b->frames);
        for (int r = 0; r < b->n; r++) {
            check_clip(s, b, r);
            seen[b->sample[r]]++;
        }
        for (int64_t i = (int64_t)b->n * b->frames * 3; i < (int64_t)s->batch * b->frames * 3; i++)
            ck_assert_int_eq(b->index[i], 0);
        for (int64_t i = 0; i < (int64_t)b->n * b->frames * 3; i++) digest = digest * 1099511628211U + (uint64_t)b->index[i];
        if (b->frames > longest) longest = b->frames;
    }
    for (int i = 0; i < N && !s->drop_last; i++) ck_assert_int_eq(seen[i], 3);
    ck_assert_int_le(longest, ct_loader_longest(s));
    for (size_t i = 1; i < *shapes; i++)
        ck_assert(shape[i].length > shape[i - 1].length ||
                  (shape[i].length == shape[i - 1].length && shape[i].rows < shape[i - 1].rows));
    ct_loader_close(l);
    ct_free(shape);
    return digest;
}

START_TEST(batches)
{
    ct_dataset *ds = drawn_set(0);
    ck_assert_str_eq(ct_dataset_name(ds, 3), "test/3");
    ck_assert_str_eq(ct_dataset_label_text(ds, 3), "clip 3");
    for (int how = 0; how < 3; how++) {
        ct_loader_spec s = { .data = ds, .batch = 3, .shuffle = how > 0, .seed = 7, .epochs = 3,
                             .frames_step = how > 0 ? 16 : 0, .tempo = how == 2 ? 0.2 : 0 };
        int64_t n[3];
        size_t shapes;
        const uint64_t want = run(&s, &n[0], &shapes);
        s.workers = 1;
        ck_assert(run(&s, &n[1], &shapes) == want);
        s.workers = 4;
        ck_assert(run(&s, &n[2], &shapes) == want);
        ck_assert(n[0] == n[1] && n[1] == n[2]);
        ck_assert_uint_le(shapes, how == 0 ? 2 * 23 : 2 * 9); /* few programs in training */
        s.drop_last = true;
        run(&s, &n[1], &shapes);
        ck_assert_int_lt(n[1], n[0]);
    }
    ct_loader_spec plain = { .data = ds, .batch = 3, .shuffle = true, .seed = 7, .epochs = 3, .frames_step = 16 };
    ct_loader_spec fast = plain;
    int64_t a, b;
    fast.tempo = 0.2; /* whatever the tempo: the same batches of other lengths */
    ck_assert_int_eq(ct_loader_count(&plain, &a), CT_OK);
    ck_assert_int_eq(ct_loader_count(&fast, &b), CT_OK);
    ck_assert_int_eq(a, b);
    ct_dataset_close(ds);
}
END_TEST

START_TEST(positions)
{
    ct_dataset *ds = drawn_set(40);
    ct_loader_spec s = { .data = ds, .batch = 4, .shuffle = true, .seed = 3, .epochs = 2, .frames_step = 16, .tempo = 0.3 };
    ct_loader *whole, *part;
    const ct_batch *x, *y;
    for (int i = 0; i < N; i++) ck_assert_int_le(ct_dataset_frames(ds, i), 40);
    ck_assert_int_eq(ct_loader_open(&s, &whole), CT_OK);
    for (int64_t at = 0; at < ct_loader_batches(whole); at++) { /* opened anywhere it goes on exactly there */
        s.start_batch = at;
        ck_assert_int_eq(ct_loader_next(whole, &x), CT_OK);
        ck_assert_int_eq(ct_loader_open(&s, &part), CT_OK);
        ck_assert_int_eq(ct_loader_next(part, &y), CT_OK);
        ck_assert(x->n == y->n && x->frames == y->frames);
        ck_assert_mem_eq(x->index, y->index, sizeof(int32_t) * 3 * (size_t)(x->n * x->frames));
        ct_loader_close(part);
    }
    ct_loader_close(whole);
    s.start_batch = 0;
    s.resident = true;
    ck_assert_int_eq(ct_loader_open(&s, &whole), CT_EINVAL);
    s.resident = false;
    s.tempo = 0.6;
    ck_assert_int_eq(ct_loader_open(&s, &whole), CT_EINVAL);
    ct_dataset_close(ds);
}
END_TEST

START_TEST(no_memory)
{
    int failed = 0;
    for (long n = 0;; n++) {
        ct_dataset *ds = drawn_set(12);
        const ct_loader_spec s = { .data = ds, .batch = 4, .shuffle = true, .epochs = 1, .frames_step = 16, .tempo = 0.2 };
        ct_loader *l = NULL;
        const ct_batch *b;
        ct_batch_shape *shape = NULL;
        size_t shapes;
        ct_alloc_fail_after(n);
        ct_status st = ct_loader_shapes(&s, &shape, &shapes);
        if (st == CT_OK) st = ct_loader_open(&s, &l);
        if (st == CT_OK) st = ct_loader_next(l, &b);
        ct_loader_close(l);
        const long made = ct_alloc_fail_after(-1);
        ct_free(shape);
        ct_dataset_close(ds);
        if (st == CT_OK && made <= n) break;
        ck_assert_int_eq(st, CT_ENOMEM);
        failed++;
    }
    ck_assert_int_gt(failed, 10);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("clips");
    TCase *t = tcase_create("clips");
    tcase_add_test(t, lengths);
    tcase_add_test(t, thinning);
    tcase_add_test(t, tempo);
    tcase_add_test(t, folders);
    tcase_add_test(t, sets);
    tcase_add_test(t, bad_clips);
    tcase_add_test(t, batches);
    tcase_add_test(t, positions);
    tcase_add_test(t, no_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
