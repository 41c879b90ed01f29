/* The loader: order, positions, subsets, any number of workers, early close, errors. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/philox.h"
#include "loader/loader.h"
#include "tests/ct_check.h"
#include "tests/data/tiny_labels.h"

enum { N = 53, H = 3, W = 5, L = 3 };

static int64_t count_of(const ct_loader_spec *s)
{
    int64_t n;
    ck_assert_int_eq(ct_loader_count(s, &n), CT_OK);
    return n;
}

/* A generator without pictures' cost: pixels and label are functions of the index. */
static ct_status render(void *state, int64_t i, ct_image *out, char **label)
{
    (void)state;
    CT_TRY(ct_image_make(W, H, 1, 0, out));
    for (int k = 0; k < W * H; k++) out->px[k] = (uint8_t)(i * 7 + k);
    if (!(*label = ct_calloc(L + 1, 1, "label"))) return CT_ENOMEM;
    for (int k = 0; k < 1 + i % L; k++) (*label)[k] = (char)('a' + (i + k) % 26);
    return CT_OK;
}

static ct_labels *labels(void)
{
    ct_labels *l;
    ck_assert_int_eq(tiny_labels_new(L, NULL, &l), CT_OK);
    return l;
}

static ct_status open_state(const void *user, void **state)
{
    (void)user;
    *state = malloc(1);
    return CT_OK;
}

static ct_dataset *data;

static void set_up(void)
{
    ct_source src = { .name = "test", .n = N, .open = open_state, .render = render, .close = free };
    ct_dataset_spec spec;
    ct_dataset_spec_init(&spec);
    ck_assert_msg(ct_dataset_open_source(&spec, &src, labels(), 3, &data) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_dataset_height(data), H);
    ck_assert_int_eq(ct_dataset_fields(data, &(int){ 0 })[0].dim[0], L);
    ck_assert_str_eq(ct_dataset_name(data, 4), "test/4");
}

static void tear_down(void)
{
    ct_dataset_close(data);
}

static ct_loader_spec spec_of(int batch, int workers)
{
    return (ct_loader_spec){ .data = data, .batch = batch, .shuffle = true, .seed = 5, .workers = workers,
                             .epochs = 3 };
}

/* Compares a batch with what position (epoch, b) must hold. */
static void check_batch(const ct_loader_spec *s, const ct_batch *x, int64_t epoch, int64_t b)
{
    int64_t order[N], n = s->index ? s->n : N;
    ct_loader_order(s, n, epoch, order);
    ck_assert_int_eq(x->epoch, epoch);
    ck_assert_int_eq(x->batch, b);
    int64_t rows = n - b * s->batch < s->batch ? n - b * s->batch : s->batch;
    ck_assert_int_eq(x->n, rows);
    for (int i = 0; i < x->n; i++) {
        int64_t id = order[b * s->batch + i];
        if (s->resident) ck_assert_ptr_null(x->px);
        else ck_assert_mem_eq(x->px + i * H * W, ct_dataset_pixels(data, id), H * W);
        ck_assert_mem_eq((const int32_t *)x->field[0] + i * L, ct_dataset_field(data, 0, id), L * sizeof(int32_t));
        ck_assert_mem_eq((const float *)x->field[1] + i * 4, ct_dataset_field(data, 1, id), 4 * sizeof(float));
        ck_assert_int_eq(x->index[3 * i], s->resident ? id : i);
        ck_assert_int_eq(x->index[3 * i + 1], id);
        ck_assert_int_eq(x->index[3 * i + 2], epoch);
    }
}

/* Runs a loader from its start position to the end, checking every batch. */
static int64_t run(const ct_loader_spec *s)
{
    ct_loader *l;
    const ct_batch *x;
    int64_t count = 0, samples = 0;
    ck_assert_msg(ct_loader_open(s, &l) == CT_OK, "%s", ct_error_message());
    int64_t per = ct_loader_batches(l), pos = s->start_epoch * per + s->start_batch;
    for (;; pos++, count++) {
        ck_assert_int_eq(ct_loader_next(l, &x), CT_OK);
        if (!x) break;
        check_batch(s, x, pos / per, pos % per);
        ck_assert_int_eq(x->last, pos % per == per - 1);
        samples += x->n;
    }
    ck_assert_int_eq(pos, s->epochs * per > pos ? s->epochs * per : pos);
    ck_assert_int_eq(ct_loader_next(l, &x), CT_OK); /* the end stays the end */
    ck_assert_ptr_null(x);
    ck_assert_int_eq(ct_loader_get_stats(l).batches, count);
    ck_assert_int_eq(ct_loader_get_stats(l).samples, samples);
    ck_assert(ct_loader_get_stats(l).wait_s >= 0.0);
    ct_loader_close(l);
    return count;
}

/* Members of a group walk the same batches, and each has its own rows of them: together all, in the order of one alone;
 * of a batch of fewer samples than members some have none. */
START_TEST(groups_share_batches)
{
    static const int sizes[] = { 1, 2, 3, 5 }, batches[] = { 10, 7, 15 };
    for (int z = 0; z < 4; z++)
        for (int b = 0; b < 3; b++) {
            ct_loader *alone, *l[5];
            const ct_batch *whole, *x;
            ct_loader_spec s = spec_of(batches[b], _i);
            ck_assert_int_eq(ct_loader_open(&s, &alone), CT_OK);
            for (s.rank = 0, s.size = sizes[z]; s.rank < s.size; s.rank++)
                ck_assert_msg(ct_loader_open(&s, &l[s.rank]) == CT_OK, "%s", ct_error_message());
            for (;;) {
                int rows = 0;
                ck_assert_int_eq(ct_loader_next(alone, &whole), CT_OK);
                for (int r = 0; r < s.size; r++) {
                    ck_assert_int_eq(ct_loader_next(l[r], &x), CT_OK);
                    ck_assert_int_eq(x == NULL, whole == NULL);
                    if (!x) continue;
                    ck_assert_int_eq(x->epoch, whole->epoch);
                    ck_assert_int_eq(x->batch, whole->batch);
                    ck_assert_int_eq(x->all, whole->n);
                    ck_assert_mem_eq(x->samples, whole->sample, (size_t)whole->n * sizeof *whole->sample);
                    ck_assert_mem_eq(x->sample, whole->sample + rows, (size_t)x->n * sizeof *x->sample);
                    ck_assert_mem_eq(x->px, whole->px + rows * H * W, (size_t)(x->n * H * W));
                    ck_assert_mem_eq(x->field[0], (const int32_t *)whole->field[0] + rows * L, (size_t)x->n * L * 4);
                    for (int i = 0; i < x->n; i++) ck_assert_int_eq(x->index[3 * i], i);
                    rows += x->n;
                    ck_assert_int_le(x->n, (whole->n + s.size - 1) / s.size);
                }
                if (!whole) break;
                ck_assert_int_eq(rows, whole->n);
            }
            for (int r = 0; r < s.size; r++) ct_loader_close(l[r]);
            ct_loader_close(alone);
        }
    ct_loader *l;
    ct_loader_spec s = spec_of(10, 0);
    s.rank = s.size = 2;
    ck_assert_int_eq(ct_loader_open(&s, &l), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "member 2 of a group of 2"));
}
END_TEST

/* Parts of a member's rows are batches of their own: pictures, fields and lengths of these rows, counted from 0. */
START_TEST(members_have_parts)
{
    static const int sizes[] = { 1, 2, 3 }, parts[] = { 1, 2, 4 };
    for (int z = 0; z < 9; z++) {
        ct_loader *alone, *l[3];
        const ct_batch *whole, *x;
        ct_batch part;
        ct_loader_spec s = spec_of(7, _i);
        ck_assert_int_eq(ct_loader_open(&s, &alone), CT_OK);
        s.parts = parts[z / 3];
        for (s.rank = 0, s.size = sizes[z % 3]; s.rank < s.size; s.rank++)
            ck_assert_msg(ct_loader_open(&s, &l[s.rank]) == CT_OK, "%s", ct_error_message());
        for (;;) {
            int rows = 0;
            ck_assert_int_eq(ct_loader_next(alone, &whole), CT_OK);
            for (int r = 0; r < s.size; r++) {
                ck_assert_int_eq(ct_loader_next(l[r], &x), CT_OK);
                for (int k = 0; x && k < s.parts; k++) {
                    ct_loader_part(l[r], x, k, &part);
                    const int of = s.size * s.parts, at = r * s.parts + k;
                    ck_assert_int_eq(part.n, ct_share_first(whole->n, at + 1, of) - ct_share_first(whole->n, at, of));
                    ck_assert_int_eq(part.all, whole->n);
                    ck_assert_mem_eq(part.sample, whole->sample + rows, (size_t)part.n * sizeof *part.sample);
                    ck_assert_mem_eq(part.px, whole->px + rows * H * W, (size_t)(part.n * H * W));
                    ck_assert_mem_eq(part.field[0], (const int32_t *)whole->field[0] + rows * L, (size_t)part.n * L * 4);
                    ck_assert_mem_eq(part.lengths, whole->lengths + rows, (size_t)part.n * sizeof *part.lengths);
                    ck_assert_mem_eq(part.windows, whole->windows + 4 * rows, (size_t)part.n * 4 * sizeof *part.windows);
                    for (int i = 0; i < part.n; i++) ck_assert_int_eq(part.index[3 * i], i);
                    for (int i = 0; i < part.n; i++) ck_assert_int_eq(part.index[3 * i + 1], whole->sample[rows + i]);
                    rows += part.n;
                }
            }
            if (!whole) break;
            ck_assert_int_eq(rows, whole->n);
        }
        for (int r = 0; r < s.size; r++) ct_loader_close(l[r]);
        ct_loader_close(alone);
    }
}
END_TEST

START_TEST(any_workers)
{
    static const int workers[] = { 0, 1, 4, 9 }, batches[] = { 1, 7, 16, N, 100 };
    for (int w = 0; w < 4; w++) {
        for (int b = 0; b < 5; b++) {
            for (int kind = 0; kind < 8; kind++) {
                ct_loader_spec s = spec_of(batches[b], workers[w]);
                s.shuffle = kind & 1;
                s.resident = kind & 2;
                s.drop_last = kind & 4 && batches[b] <= N;
                s.depth = kind + w;
                int64_t per = s.drop_last ? N / s.batch : (N + s.batch - 1) / s.batch;
                ck_assert_int_eq(run(&s), 3 * per);
            }
        }
    }
}
END_TEST

START_TEST(any_position)
{
    for (int workers = 0; workers <= 3; workers += 3) {
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            for (int64_t b = 0; b <= 6; b++) { /* 6: the same as the next epoch's first */
                ct_loader_spec s = spec_of(10, workers);
                s.start_epoch = epoch;
                s.start_batch = b;
                ck_assert_int_eq(run(&s), 18 - epoch * 6 - b);
            }
        }
    }
}
END_TEST

START_TEST(orders)
{
    ct_loader_spec s = spec_of(10, 0);
    int64_t a[N], b[N], seen[N] = { 0 };
    ct_loader_order(&s, N, 0, a);
    ct_loader_order(&s, N, 1, b);
    ck_assert_mem_ne(a, b, sizeof a);
    for (int i = 0; i < N; i++) seen[a[i]]++;
    for (int i = 0; i < N; i++) ck_assert_int_eq(seen[i], 1);
    s.seed = 6;
    ct_loader_order(&s, N, 0, b);
    ck_assert_mem_ne(a, b, sizeof a);
    s.shuffle = false;
    ct_loader_order(&s, N, 9, b);
    for (int i = 0; i < N; i++) ck_assert_int_eq(b[i], i);
    static const int64_t index[4] = { 50, 3, 7, 20 };
    s.index = index;
    s.n = 4;
    ct_loader_order(&s, 4, 0, b);
    ck_assert_mem_eq(b, index, sizeof index);
}
END_TEST

START_TEST(subset)
{
    ct_subset kept, held;
    ck_assert_int_eq(ct_split(N, 0.25, 1, &kept, &held), CT_OK);
    for (int workers = 0; workers <= 2; workers++) {
        ct_loader_spec s = spec_of(8, workers);
        s.index = held.index;
        s.n = held.n;
        ck_assert_int_eq(run(&s), 3 * ((held.n + 7) / 8));
    }
    ct_subset_free(&kept);
    ct_subset_free(&held);
}
END_TEST

START_TEST(early_close)
{
    for (int workers = 0; workers <= 5; workers++) {
        for (int taken = 0; taken < 8; taken++) {
            ct_loader_spec s = spec_of(4, workers);
            s.epochs = -1;
            s.depth = taken % 4;
            ct_loader *l;
            const ct_batch *x;
            ck_assert_int_eq(ct_loader_open(&s, &l), CT_OK);
            for (int i = 0; i < taken; i++) {
                ck_assert_int_eq(ct_loader_next(l, &x), CT_OK);
                check_batch(&s, x, i / 14, i % 14);
            }
            ct_loader_close(l);
        }
    }
    ct_loader_close(NULL);
}
END_TEST

START_TEST(slow_consumer)
{
    ct_loader_spec s = spec_of(4, 4);
    ct_loader *l;
    const ct_batch *x;
    ck_assert_int_eq(ct_loader_open(&s, &l), CT_OK);
    for (int i = 0; i < 10; i++) { /* a batch must not change while the consumer has it */
        ck_assert_int_eq(ct_loader_next(l, &x), CT_OK);
        usleep(3000);
        check_batch(&s, x, 0, i);
    }
    ct_loader_close(l);
}
END_TEST

START_TEST(errors)
{
    ct_loader *l;
    ct_loader_spec s = spec_of(0, 0);
    ck_assert_int_eq(ct_loader_open(&s, &l), CT_EINVAL);
    s = spec_of(N + 1, 0);
    s.drop_last = true;
    ck_assert_int_eq(ct_loader_open(&s, &l), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "nothing is left"));
    s = spec_of(10, 0);
    s.start_batch = 7;
    ck_assert_int_eq(ct_loader_open(&s, &l), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "batch 7 of epoch 0; an epoch has 6 batches"));
    static const int64_t index[2] = { 1, N };
    s = spec_of(10, 0);
    s.index = index;
    s.n = 2;
    ck_assert_int_eq(ct_loader_open(&s, &l), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "sample 53"));
    s.n = 0;
    ck_assert_int_eq(ct_loader_open(&s, &l), CT_EINVAL);
    ck_assert_ptr_null(l);
    s = spec_of(10, 0);
    s.start_epoch = 5;                     /* behind the last epoch: at the end at once */
    ck_assert_int_eq(run(&s), 0);
}
END_TEST

START_TEST(out_of_memory)
{
    for (long n = 0;; n++) {
        ct_loader *l;
        ct_loader_spec s = spec_of(4, 2);
        ct_alloc_fail_after(n);
        ct_status st = ct_loader_open(&s, &l);
        long made = ct_alloc_fail_after(-1);
        if (made <= n) {
            ck_assert_int_eq(st, CT_OK);
            ck_assert_int_gt(n, 10);
            ct_loader_close(l);
            break;
        }
        ck_assert_int_eq(st, CT_ENOMEM);
        ck_assert_ptr_null(l);
    }
}
END_TEST

/* ---- buckets ---- */

enum { HEIGHT = 4, STEP = 8, WIDEST = 52, MOST = 300 };

/* Pictures of random widths, HEIGHT rows: the first pixel is the index, the others 100. */
static ct_status render_wide(void *state, int64_t i, ct_image *out, char **label)
{
    const uint64_t seed = *(const uint64_t *)state;
    int w = 1 + (int)(ct_philox4x32(seed, (uint64_t)i, 0).v[0] % 70); /* some are squeezed */
    CT_TRY(ct_image_make(w, HEIGHT, 1, 100, out));
    out->px[0] = (uint8_t)i;
    return (*label = ct_strdup("x", "label")) ? CT_OK : CT_ENOMEM;
}

static ct_status open_wide(const void *user, void **state)
{
    *state = malloc(sizeof(uint64_t));
    memcpy(*state, user, sizeof(uint64_t));
    return CT_OK;
}

static ct_dataset *wide_set(uint64_t seed, int64_t n)
{
    ct_source src = { .name = "wide", .n = n, .user = &seed, .open = open_wide, .render = render_wide, .close = free };
    ct_dataset_spec spec;
    ct_dataset *ds;
    ct_dataset_spec_init(&spec);
    spec.size_rule = CT_SIZE_FIT_HEIGHT;
    spec.height = HEIGHT;
    spec.width = WIDEST;
    spec.width_step = STEP;
    spec.min_width = 3;
    ck_assert_msg(ct_dataset_open_source(&spec, &src, labels(), 2, &ds) == CT_OK, "%s", ct_error_message());
    return ds;
}

/* The batches of an epoch as loader.h defines them, made the slow way: id[] batch after batch, first[b] where they
 * begin. Returns how many there are. */
static int64_t expected_batches(const ct_loader_spec *s, int64_t epoch, int64_t *id, int64_t *first)
{
    static int64_t order[MOST], open[8][MOST];
    int64_t n = s->index ? s->n : ct_dataset_size(s->data), held[8] = { 0 }, batches = 0, at = 0;
    ct_loader_order(s, n, epoch, order);
    for (int64_t i = 0; i < n; i++) {
        int b = ct_dataset_sample_bucket(s->data, order[i]);
        open[b][held[b]++] = order[i];
        if (held[b] < s->batch) continue;
        first[batches++] = at;
        for (int64_t k = 0; k < held[b]; k++) id[at++] = open[b][k];
        held[b] = 0;
    }
    for (int b = 0; b < ct_dataset_buckets(s->data) && !s->drop_last; b++) {
        if (held[b] == 0) continue;
        first[batches++] = at;
        for (int64_t k = 0; k < held[b]; k++) id[at++] = open[b][k];
    }
    first[batches] = at;
    return batches;
}

static void check_wide_batch(const ct_loader_spec *s, const ct_batch *x, const int64_t *id, int64_t rows)
{
    ck_assert_int_eq(x->n, rows);
    for (int i = 0; i < x->n; i++) {
        const int b = ct_dataset_sample_bucket(s->data, id[i]), w = ct_dataset_sample_width(s->data, id[i]);
        ck_assert_int_eq(x->index[3 * i + 1], id[i]);
        ck_assert_int_eq(x->index[3 * i + 2], x->epoch);
        ck_assert_int_eq(x->width, ct_dataset_bucket_width(s->data, b));
        ck_assert_int_eq(x->lengths[i], w);
        ck_assert(w <= x->width && w > x->width - STEP && (x->width % STEP == 0 || x->width == WIDEST));
        const size_t bytes = (size_t)HEIGHT * (size_t)x->width;
        const uint8_t *want = ct_dataset_pixels(s->data, id[i]);
        const uint8_t *got = s->resident ? ct_dataset_bucket_pixels(s->data, b) : x->px;
        if (s->resident) ck_assert_ptr_null(x->px);
        else ck_assert_int_eq(x->index[3 * i], i);
        ck_assert_mem_eq(got + (size_t)x->index[3 * i] * bytes, want, bytes);
        for (int c = w; c < x->width; c++) ck_assert_int_eq(want[c], 255);
    }
}

/* Runs from the start position to the end; every batch is compared. */
static void run_wide(const ct_loader_spec *s)
{
    static int64_t id[MOST], first[MOST + 1];
    ct_loader *l;
    const ct_batch *x;
    int64_t made = -1, per = expected_batches(s, 0, id, first);
    ck_assert_int_eq(count_of(s), per);
    if (per == 0) {
        ck_assert_int_eq(ct_loader_open(s, &l), CT_EINVAL);
        return;
    }
    ck_assert_msg(ct_loader_open(s, &l) == CT_OK, "%s", ct_error_message());
    ck_assert_int_eq(ct_loader_batches(l), per);
    for (int64_t pos = s->start_epoch * per + s->start_batch;; pos++) {
        ck_assert_int_eq(ct_loader_next(l, &x), CT_OK);
        if (!x) {
            ck_assert_int_eq(pos, s->epochs * per);
            break;
        }
        if (made != pos / per) ck_assert_int_eq(expected_batches(s, made = pos / per, id, first), per);
        int64_t b = pos % per;
        ck_assert(x->epoch == made && x->batch == b && x->last == (b == per - 1));
        check_wide_batch(s, x, id + first[b], first[b + 1] - first[b]);
    }
    ct_loader_close(l);
}

/* Random sets, batch sizes, workers, subsets, positions: always the batches of the definition. */
START_TEST(bucket_order)
{
    for (uint64_t trial = 0; trial < 60; trial++) {
        ct_philox r = ct_philox4x32(99, trial, 0), q = ct_philox4x32(99, trial, 1);
        ct_dataset *ds = wide_set(trial, 1 + r.v[0] % (MOST - 1));
        ct_subset kept = { 0 }, held = { 0 };
        ct_loader_spec s = { .data = ds, .batch = 1 + (int)(r.v[1] % 20), .shuffle = r.v[2] & 1, .seed = trial,
                             .drop_last = r.v[2] & 2, .resident = r.v[2] & 4, .workers = (int)(r.v[3] % 5),
                             .depth = (int)(q.v[0] % 4), .epochs = 3 };
        if (q.v[1] % 3 == 0 && ct_dataset_size(ds) > 1) {
            ck_assert_int_eq(ct_split(ct_dataset_size(ds), 0.3, trial, &kept, &held), CT_OK);
            s.index = held.index;
            s.n = held.n;
        }
        run_wide(&s);
        int64_t per = count_of(&s);
        if (per > 0) { /* resumed somewhere */
            s.start_epoch = q.v[2] % 3;
            s.start_batch = q.v[3] % (uint64_t)(per + 1);
            run_wide(&s);
        }
        ct_subset_free(&kept);
        ct_subset_free(&held);
        ct_dataset_close(ds);
    }
}
END_TEST

/* Each sample once an epoch, and the shapes that are announced are those that come. */
START_TEST(bucket_shapes)
{
    for (uint64_t trial = 0; trial < 20; trial++) {
        ct_dataset *ds = wide_set(trial, 20 + (int64_t)trial * 13);
        for (int drop = 0; drop < 2; drop++) {
            ct_loader_spec s = { .data = ds, .batch = 3 + (int)trial % 7, .shuffle = true, .drop_last = drop,
                                 .workers = 2, .epochs = 1 };
            ct_batch_shape *shape = NULL;
            size_t n = 0, last = 0;
            int seen[MOST] = { 0 };
            bool met[64] = { false };
            int64_t samples = 0;
            if (count_of(&s) == 0) {
                ck_assert_int_eq(ct_loader_shapes(&s, &shape, &n), CT_EINVAL);
                continue;
            }
            ck_assert_int_eq(ct_loader_shapes(&s, &shape, &n), CT_OK);
            for (size_t i = 1; i < n; i++) {
                ck_assert(shape[i].length > shape[i - 1].length ||
                          (shape[i].length == shape[i - 1].length && shape[i].rows < shape[i - 1].rows));
            }
            ct_loader *l;
            const ct_batch *x;
            ck_assert_int_eq(ct_loader_open(&s, &l), CT_OK);
            while (ct_loader_next(l, &x) == CT_OK && x) {
                for (last = 0; last < n && (shape[last].length != x->width || shape[last].rows != x->n); last++) { }
                ck_assert_msg(last < n, "%d rows of %d pixels were not announced", x->n, x->width);
                met[last] = true;
                for (int i = 0; i < x->n; i++) ck_assert_int_eq(seen[x->index[3 * i + 1]]++, 0);
                samples += x->n;
            }
            for (size_t i = 0; i < n; i++) ck_assert(met[i]);
            if (!drop) ck_assert_int_eq(samples, ct_dataset_size(ds));
            ct_loader_close(l);
            ct_free(shape);
        }
        ct_dataset_close(ds);
    }
}
END_TEST

/* The sets of buckets: widths, counts, rows, and every sample in one. */
START_TEST(bucket_sets)
{
    ct_dataset *ds = wide_set(5, MOST);
    ck_assert_int_gt(ct_dataset_buckets(ds), 5);
    ck_assert(ct_dataset_contiguous(ds));
    int64_t n = 0;
    for (int b = 0; b < ct_dataset_buckets(ds); b++) {
        int64_t count = 0;
        if (b > 0) ck_assert_int_gt(ct_dataset_bucket_width(ds, b), ct_dataset_bucket_width(ds, b - 1));
        for (int64_t i = 0; i < MOST; i++) {
            if (ct_dataset_sample_bucket(ds, i) != b) continue;
            size_t at = (size_t)count * HEIGHT * (size_t)ct_dataset_bucket_width(ds, b);
            ck_assert_ptr_eq(ct_dataset_pixels(ds, i), ct_dataset_bucket_pixels(ds, b) + at);
            ck_assert_int_eq(ct_dataset_sample_row(ds, i), count);
            ck_assert(ct_dataset_sample_width(ds, i) >= 3);
            count++;
        }
        ck_assert_int_gt(count, 0);
        ck_assert_int_eq(ct_dataset_bucket_count(ds, b), count);
        n += count;
    }
    ck_assert_int_eq(n, MOST);
    ck_assert_int_eq(ct_dataset_width(ds), WIDEST);
    ct_dataset_close(ds);

    ck_assert_int_eq(ct_dataset_buckets(data), 1); /* another size rule: one bucket, true width = width */
    ck_assert_int_eq(ct_dataset_bucket_width(data, 0), W);
    ck_assert_int_eq(ct_dataset_bucket_count(data, 0), N);
    ck_assert(ct_dataset_sample_row(data, 7) == 7 && ct_dataset_sample_width(data, 7) == W);
}
END_TEST

START_TEST(bucket_out_of_memory)
{
    ct_dataset *ds = wide_set(1, 40);
    for (long n = 0;; n++) {
        ct_loader *l = NULL;
        ct_batch_shape *shape = NULL;
        size_t shapes;
        ct_loader_spec s = { .data = ds, .batch = 3, .shuffle = true, .workers = 1, .epochs = 1 };
        ct_alloc_fail_after(n);
        ct_status st = ct_loader_open(&s, &l);
        if (st == CT_OK) st = ct_loader_shapes(&s, &shape, &shapes);
        long made = ct_alloc_fail_after(-1);
        ct_free(shape);
        ct_loader_close(l);
        if (made <= n) {
            ck_assert_int_eq(st, CT_OK);
            ck_assert_int_gt(n, 20);
            break;
        }
        ck_assert_int_eq(st, CT_ENOMEM);
    }
    ct_dataset_close(ds);
}
END_TEST

/* train.workers: auto. */
START_TEST(workers_by_themselves)
{
    const int n = ct_cpus(), left = n - 1 < 1 ? 1 : n - 1 > 4 ? 4 : n - 1;
    for (int wanted = 0; wanted < 9; wanted++) ck_assert_int_eq(ct_loader_workers(wanted, n, 3, 3), wanted);
    ck_assert_int_eq(ct_loader_workers(-1, n, 1, 1), 1); /* computing takes all of them */
    ck_assert_int_eq(ct_loader_workers(-1, 1, 1, 1), left);
    ck_assert_int_eq(ct_loader_workers(-1, 1, 0, 0), left);
    ck_assert_int_eq(ct_loader_workers(-1, 0, 1000, 1), 1);
    /* where all compute on the same processors each has its share, whatever part of the machine they are */
    for (int beside = 2; beside < 5; beside++) {
        const int share = n / beside - 1 < 1 ? 1 : n / beside - 1 > 4 ? 4 : n / beside - 1;
        ck_assert_int_eq(ct_loader_workers(-1, 1, beside, beside), share);
    }
    for (int here = 1; here < 40; here++) {
        const int each = ct_loader_workers(-1, 1, here, 1);
        ck_assert(each >= 1 && each <= 4 && (each == 1 || each * here <= 16));
    }
}
END_TEST

/* A generator that fails: its status and message arrive, with the picture named. */
static ct_status render_failing(void *state, int64_t i, ct_image *out, char **label)
{
    if (i == 1017) return ct_fail(CT_ECONFIG, "broken");
    return render(state, i, out, label);
}

START_TEST(failing_source)
{
    ct_source src = { .name = "test", .first = 1000, .n = N, .open = open_state, .render = render_failing,
                      .close = free };
    ct_dataset_spec spec;
    ct_dataset *ds;
    ct_dataset_spec_init(&spec);
    for (int workers = 1; workers <= 3; workers++) {
        ck_assert_int_eq(ct_dataset_open_source(&spec, &src, labels(), workers, &ds), CT_ECONFIG);
        ck_assert_str_eq(ct_error_message(), "test/1017: broken");
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("loader");
    TCase *t = tcase_create("loader");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, any_workers);
    tcase_add_loop_test(t, groups_share_batches, 0, 3);
    tcase_add_loop_test(t, members_have_parts, 0, 3);
    tcase_add_test(t, any_position);
    tcase_add_test(t, orders);
    tcase_add_test(t, subset);
    tcase_add_test(t, early_close);
    tcase_add_test(t, slow_consumer);
    tcase_add_test(t, errors);
    tcase_add_test(t, out_of_memory);
    tcase_add_test(t, bucket_order);
    tcase_add_test(t, bucket_shapes);
    tcase_add_test(t, bucket_sets);
    tcase_add_test(t, bucket_out_of_memory);
    tcase_add_test(t, workers_by_themselves);
    tcase_add_test(t, failing_source);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
