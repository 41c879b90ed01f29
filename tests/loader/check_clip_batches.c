/* Batches of clips: tempo, lengths, every number of workers, positions, sets that are packed as files. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/dataset.h"
#include "loader/loader.h"
#include "loader/tempo.h"
#include "tests/ct_check.h"
#include "tests/data/clip_labels.h"
#include "tests/data/data_util.h"

enum { SIDE = 4 };

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

/* ---- drawn clips ---- */

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
        const int32_t *index = b->index + CT_INDEX_OF_CLIPS * (r * b->frames + p);
        ck_assert(index[0] >= 0 && index[0] < s->batch * b->frames);
        ck_assert(index[1] == id && index[2] == b->epoch && index[3] == pick[ct_clip_frame(&rule, own, p)]);
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
        const int64_t cells = (int64_t)b->frames * CT_INDEX_OF_CLIPS;
        for (int64_t i = b->n * cells; i < s->batch * cells; i++) ck_assert_int_eq(b->index[i], 0);
        for (int64_t i = 0; i < b->n * cells; i++) digest = digest * 1099511628211U + (uint64_t)b->index[i];
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

/* ---- packed as files ---- */

static void write_clip(const char *dir, const char *name, int frames, unsigned seed)
{
    ck_assert_int_eq(mkdir(ct_util_path(dir, name), 0755), 0);
    for (int i = 1; i <= frames; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s/%05d.png", name, i);
        ct_util_picture(dir, file, SIDE, SIDE, seed + (unsigned)i);
    }
}

static ct_dataset *open_kept(const char *dir, ct_keep keep)
{
    ct_dataset_spec spec;
    ct_dataset *ds;
    ct_dataset_spec_init(&spec);
    spec.path = dir;
    spec.keep = keep;
    ck_assert_msg(ct_dataset_open(&spec, reader(), 2, &ds) == CT_OK, "%s", ct_error_message());
    ck_assert(ct_dataset_packs_files(ds) == (keep == CT_KEEP_FILES));
    return ds;
}

/* Rows of a batch in two parts show what they show in one. */
static void same_parts(ct_loader_spec s)
{
    ct_loader *l[2];
    const ct_batch *x, *y;
    ct_batch part;
    ck_assert_int_eq(ct_loader_open(&s, &l[0]), CT_OK);
    s.parts = 2;
    ck_assert_int_eq(ct_loader_open(&s, &l[1]), CT_OK);
    for (;;) {
        ck_assert_int_eq(ct_loader_next(l[0], &x), CT_OK);
        ck_assert_int_eq(ct_loader_next(l[1], &y), CT_OK);
        if (!x) break;
        const int32_t *index = x->index;
        for (int k = 0; k < 2; k++) {
            ct_loader_part(l[1], y, k, &part);
            for (int i = 0; i < part.n * part.frames; i++, index += CT_INDEX_OF_CLIPS) {
                const int32_t *own = part.index + CT_INDEX_OF_CLIPS * i;
                ck_assert_int_eq(own[0] < part.n * part.frames, true);
                ck_assert_mem_eq(own + 1, index + 1, 3 * sizeof *own);
                ck_assert_mem_eq(part.px + own[0] * SIDE * SIDE, x->px + index[0] * SIDE * SIDE, SIDE * SIDE);
            }
        }
        ck_assert_int_eq(index - x->index, CT_INDEX_OF_CLIPS * x->n * x->frames);
    }
    ct_loader_close(l[0]);
    ct_loader_close(l[1]);
}

/* Batches of both hold the same pixels. */
START_TEST(packed_files)
{
    char *dir = ct_util_tempdir(), *cache = ct_util_tempdir();
    ck_assert_int_eq(setenv("CAPTRAIN_CACHE_DIR", cache, 1), 0);
    write_clip(dir, "a_1", 5, 10);
    write_clip(dir, "b_2", 1, 20);
    write_clip(dir, "c_3", 9, 30);
    ct_dataset *files = open_kept(dir, CT_KEEP_FILES), *pixels = open_kept(dir, CT_KEEP_PIXELS);
    for (int workers = 0; workers < 3; workers += 2) {
        ct_loader_spec s = { .data = files, .batch = 2, .shuffle = true, .epochs = 2, .frames_step = 16, .tempo = 0.2,
                             .workers = workers };
        ct_loader *l[2];
        const ct_batch *x, *y;
        ck_assert_int_eq(ct_loader_open(&s, &l[0]), CT_OK);
        s.data = pixels;
        ck_assert_int_eq(ct_loader_open(&s, &l[1]), CT_OK);
        for (;;) {
            ck_assert_int_eq(ct_loader_next(l[0], &x), CT_OK);
            ck_assert_int_eq(ct_loader_next(l[1], &y), CT_OK);
            if (!x) break;
            const size_t index = CT_INDEX_OF_CLIPS * (size_t)(x->n * x->frames);
            ck_assert_mem_eq(x->index, y->index, index * sizeof(int32_t));
            for (size_t i = 0; i < index; i += CT_INDEX_OF_CLIPS)
                ck_assert_mem_eq(x->px + x->index[i] * SIDE * SIDE, y->px + y->index[i] * SIDE * SIDE, SIDE * SIDE);
        }
        ck_assert_ptr_null(y);
        ct_loader_close(l[0]);
        ct_loader_close(l[1]);
        same_parts(s);
    }
    ct_dataset_close(files);
    ct_dataset_close(pixels);
    ct_util_remove(dir);
    ct_util_remove(cache);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("clip batches");
    TCase *t = tcase_create("clip batches");
    tcase_add_test(t, tempo);
    tcase_add_test(t, batches);
    tcase_add_test(t, positions);
    tcase_add_test(t, packed_files);
    tcase_add_test(t, no_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
