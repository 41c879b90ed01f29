/* The generator of gestures: that clips are functions of seed and index, what lexicon and plans promise, and what is
 * written as files. */
#include "config.h"

#include <dirent.h>
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/workers.h"
#include "tests/data/data_util.h"
#include "tests/task/gloss/synth/gesture_util.h"

/* ---- a function of seed and index ---- */

enum { CLIPS = 6, FRAMES = 16 };

typedef struct many { const ct_gesture_gen *g; ct_gesture_pen *pen[4]; char hash[CLIPS * FRAMES][33]; int step; } many;

/* Item i in an order that `step` (coprime to the number of items) makes. */
static ct_status draw_item(void *user, int worker, int64_t i)
{
    many *m = user;
    ct_image im;
    const int64_t k = i * m->step % (CLIPS * FRAMES);
    if (!m->pen[worker]) CT_TRY(ct_gesture_pen_open(m->g, &m->pen[worker]));
    const ct_gesture_cast cast = k % 2 ? CT_GESTURE_ALL : CT_GESTURE_SEEN;
    CT_TRY(ct_gesture_pen_frame(m->pen[worker], k / FRAMES, cast, (int)(k % FRAMES), &im));
    ct_hash_hex(im.px, bytes_of(&im), m->hash[k]);
    ct_image_free(&im);
    return CT_OK;
}

static many *draw_many(const ct_gesture_gen *g, int step, int threads)
{
    many *m = calloc(1, sizeof *m);
    m->g = g;
    m->step = step;
    ck_ok(ct_parallel_for(CLIPS * FRAMES, threads, draw_item, m, NULL));
    for (int t = 0; t < 4; t++) ct_gesture_pen_close(m->pen[t]);
    return m;
}

START_TEST(any_order)
{
    const ct_gesture_params p = params(48);
    ct_gesture_gen *g = open_gen(&p, 3), *again = open_gen(&p, 3), *other = open_gen(&p, 4);
    many *a = draw_many(g, 1, 1), *b = draw_many(again, 53, 4), *c = draw_many(other, 1, 2);
    for (int k = 0; k < CLIPS * FRAMES; k++) {
        ck_assert_msg(strcmp(a->hash[k], b->hash[k]) == 0, "frame %d depends on the order", k);
        ck_assert_msg(strcmp(a->hash[k], c->hash[k]) != 0, "frame %d is the same with another seed", k);
        for (int l = 0; l < k; l++)
            ck_assert_msg(strcmp(a->hash[k], a->hash[l]) != 0, "frames %d and %d are the same", l, k);
    }
    free(a);
    free(b);
    free(c);
    ct_gesture_gen_close(g);
    ct_gesture_gen_close(again);
    ct_gesture_gen_close(other);
}
END_TEST

START_TEST(keys)
{
    ct_gesture_params p[6];
    char key[7][33];
    for (int i = 0; i < 6; i++) ct_gesture_params_init(&p[i]);
    p[1].glosses = 41;
    p[2].signers = 9;
    p[3].least = 3;
    p[4].most = 6;
    p[5].size = 64;
    for (int i = 0; i < 7; i++) {
        ct_gesture_gen *g = open_gen(&p[i % 6], i < 6 ? 1 : 2), *same = open_gen(&p[i % 6], i < 6 ? 1 : 2);
        ck_assert_str_eq(ct_gesture_gen_key(g), ct_gesture_gen_key(same));
        ck_assert(strlen(ct_gesture_gen_key(g)) == 32 && strspn(ct_gesture_gen_key(g), "0123456789abcdef") == 32);
        memcpy(key[i], ct_gesture_gen_key(g), 33);
        for (int k = 0; k < i; k++) ck_assert_msg(strcmp(key[i], key[k]) != 0, "keys %d and %d are the same", k, i);
        ct_gesture_gen_close(g);
        ct_gesture_gen_close(same);
    }
}
END_TEST

START_TEST(ranges)
{
    static const struct { size_t at; int v; const char *option; } bad[] = {
#define AT(member) offsetof(ct_gesture_params, member)
        { AT(glosses), 1, "--glosses" }, { AT(glosses), 201, "--glosses" }, { AT(signers), 0, "--signers" },
        { AT(signers), 27, "--signers" }, { AT(least), 0, "--length" }, { AT(most), 13, "--length" },
        { AT(least), 6, "--length" }, { AT(size), 31, "--size" }, { AT(size), 513, "--size" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ct_gesture_params p = params(96);
        ct_gesture_gen *g;
        memcpy((char *)&p + bad[i].at, &bad[i].v, sizeof bad[i].v);
        ck_assert_int_eq(ct_gesture_gen_open(&p, 1, &g), CT_ECONFIG);
        ck_message(bad[i].option);
        ck_assert_ptr_null(g);
    }
    ct_gesture_params p = { .glosses = 2, .signers = 1, .least = 1, .most = 12, .size = 32 };
    ct_gesture_gen *g = open_gen(&p, 1);
    ct_gesture_plan plan;
    ct_gesture_pen *pen;
    ct_image im;
    ck_assert_int_eq(ct_gesture_gen_plan(g, -1, CT_GESTURE_ALL, &plan), CT_EINVAL);
    ck_assert_int_eq(ct_gesture_gen_plan(g, INT64_C(1) << 52, CT_GESTURE_ALL, &plan), CT_EINVAL);
    const int64_t last = (INT64_C(1) << 52) - 1;
    ck_ok(ct_gesture_gen_plan(g, last, CT_GESTURE_SEEN, &plan));
    ck_assert_int_eq(plan.signer, 0);
    ck_ok(ct_gesture_pen_open(g, &pen));
    ck_ok(ct_gesture_pen_frame(pen, last, CT_GESTURE_SEEN, plan.frames - 1, &im));
    ct_image_free(&im);
    ck_assert_int_eq(ct_gesture_pen_frame(pen, last, CT_GESTURE_SEEN, plan.frames, &im), CT_EINVAL);
    ck_message("has no frame");
    ck_assert_int_eq(ct_gesture_pen_frame(pen, last, CT_GESTURE_SEEN, -1, &im), CT_EINVAL);
    ck_assert_int_eq(ct_gesture_pen_frame(pen, -5, CT_GESTURE_SEEN, 0, &im), CT_EINVAL);
    ck_message("no clip -5");
    ck_assert_ptr_null(im.px);
    ct_gesture_pen_close(pen);
    ct_gesture_gen_close(g);
}
END_TEST

/* Memory that ends anywhere is an error, and the next try works. */
START_TEST(memory)
{
    const ct_gesture_params p = params(32);
    ct_gesture_gen *g = NULL;
    ct_gesture_pen *pen = NULL;
    ct_image im = { 0 };
    ct_status st = CT_ENOMEM;
    int failures = 0;
    for (; st != CT_OK; failures++) {
        ck_assert_int_lt(failures, 20);
        ct_alloc_fail_after(failures);
        st = ct_gesture_gen_open(&p, 1, &g);
        if (st == CT_OK) st = ct_gesture_pen_open(g, &pen);
        if (st == CT_OK) st = ct_gesture_pen_frame(pen, 0, CT_GESTURE_SEEN, 0, &im);
        ct_alloc_fail_after(-1);
        ck_assert(st == CT_OK || (st == CT_ENOMEM && im.px == NULL));
        ct_image_free(&im);
        ct_gesture_pen_close(pen);
        ct_gesture_gen_close(g);
        pen = NULL;
        g = NULL;
    }
    ck_assert_int_ge(failures, 5);
}
END_TEST

/* ---- the lexicon ---- */

START_TEST(all_glosses)
{
    ct_gloss all[CT_GESTURE_GLOSSES], some[40];
    char names[32 * CT_GESTURE_GLOSSES] = "", hash[33];
    ct_lexicon_make(all, CT_GESTURE_GLOSSES);
    ct_lexicon_make(some, 40);
    for (int i = 0; i < CT_GESTURE_GLOSSES; i++) {
        const char *name = all[i].name;
        ck_assert_msg(strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == strlen(name) && strlen(name) > 6, "%s", name);
        ck_assert(i >= 40 || strcmp(name, some[i].name) == 0);
        for (int k = 0; k < i; k++) {
            ck_assert_str_ne(name, all[k].name);
            ck_assert_msg(ct_gloss_clear(&all[i], &all[k]), "%s and %s look the same", name, all[k].name);
        }
        strcat(strcat(names, name), "\n");
    }
    /* Models know glosses by these names: they are what they were. */
    ct_hash_hex(names, strlen(names), hash);
    ck_assert_str_eq(hash, "001fae563d6b26095e0c697a35bc2f03");
    const ct_gesture_params p = params(96);
    ct_gesture_gen *g = open_gen(&p, 1), *h = open_gen(&p, 2);
    ck_assert_int_eq(ct_gesture_gen_glosses(g), 40);
    for (int i = 0; i < 40; i++) {
        ck_assert_str_eq(ct_gesture_gen_gloss(g, i), some[i].name);
        ck_assert_str_eq(ct_gesture_gen_gloss(h, i), some[i].name);
    }
    ck_assert(ct_gesture_gen_gloss(g, 40) == NULL && ct_gesture_gen_gloss(g, -1) == NULL);
    ct_gesture_gen_close(g);
    ct_gesture_gen_close(h);
}
END_TEST

/* Every component occurs among 40 glosses, and of every five three differ in their paths alone. */
START_TEST(components)
{
    ct_gloss g[40];
    int path[CT_PATHS] = { 0 }, place[CT_PLACES] = { 0 }, shape[CT_SHAPES] = { 0 }, hands[3] = { 0 }, pairs = 0;
    ct_lexicon_make(g, 40);
    for (int i = 0; i < 40; i++) {
        path[g[i].path]++;
        place[g[i].place]++;
        shape[g[i].shape]++;
        hands[g[i].hands]++;
        for (int k = 0; k < i; k++) pairs += ct_gloss_only_path(&g[i], &g[k]);
        const int at = i % 5, first = i - at;
        if (at == 1 || at == 2) ck_assert(ct_gloss_only_path(&g[first], &g[i]));
        if (at == 1) ck_assert(g[first].path / 2 == g[i].path / 2); /* opposites */
    }
    for (int k = 0; k < CT_PATHS; k++) ck_assert_msg(path[k] > 0, "path %d", k);
    for (int k = 0; k < CT_PLACES; k++) ck_assert_msg(place[k] > 1, "place %d", k);
    for (int k = 0; k < CT_SHAPES; k++) ck_assert_msg(shape[k] > 0, "shape %d", k);
    ck_assert(hands[0] >= 15 && hands[1] >= 3 && hands[2] >= 3);
    ck_assert_msg(pairs >= 24, "%d pairs differ in their paths alone", pairs);
}
END_TEST

/* Opposites are each other's reverse in time or mirror images; paths move, and stay within what places allow for. */
START_TEST(paths)
{
    static const struct { enum ct_path a, b; bool reverse; float out, down; } opposite[] = {
        { CT_PATH_LIFT, CT_PATH_DROP, true, 1, 1 },   { CT_PATH_PUSH, CT_PATH_PULL, true, 1, 1 },
        { CT_PATH_ROLL, CT_PATH_REEL, false, -1, 1 }, { CT_PATH_ARCH, CT_PATH_DIP, false, 1, -1 } };
    float x, y, turn, u, v, w;
    for (size_t k = 0; k < sizeof opposite / sizeof *opposite; k++)
        for (float p = 0; p <= 1; p += 0.125f) {
            ct_path_at(opposite[k].a, p, &x, &y, &turn);
            ct_path_at(opposite[k].b, opposite[k].reverse ? 1 - p : p, &u, &v, &w);
            ck_assert(fabsf(x - opposite[k].out * u) < 1e-4f && fabsf(y - opposite[k].down * v) < 1e-4f);
        }
    for (int k = 0; k < CT_PATHS; k++) {
        float way = 0;
        ct_path_at((enum ct_path)k, 0, &u, &v, &w);
        for (int i = 1; i <= 100; i++) {
            ct_path_at((enum ct_path)k, (float)i / 100, &x, &y, &turn);
            ck_assert_msg(fabsf(x) < 1.2f && fabsf(y) < 1.2f && fabsf(turn) < 45, "path %d", k);
            way += hypotf(x - u, y - v) + fabsf(turn - w) / 60;
            u = x;
            v = y;
            w = turn;
        }
        ck_assert_msg(way > 1.9f, "path %d is %f long", k, (double)way);
    }
}
END_TEST

/* ---- plans ---- */

enum { PLANS = 4000 };

START_TEST(plans)
{
    ct_gesture_params p = params(96);
    ct_gesture_gen *g = open_gen(&p, 11);
    int length[6] = { 0 }, seen[40] = { 0 }, total = 0, repeats = 0;
    double frames = 0;
    for (int64_t i = 0; i < PLANS; i++) {
        ct_gesture_plan a, b;
        ck_ok(ct_gesture_gen_plan(g, i, CT_GESTURE_SEEN, &a));
        ck_ok(ct_gesture_gen_plan(g, i, CT_GESTURE_ALL, &b));
        ck_assert(a.glosses >= 2 && a.glosses <= 5 && a.glosses == b.glosses);
        ck_assert_int_eq(memcmp(a.gloss, b.gloss, sizeof a.gloss), 0);
        length[a.glosses]++;
        frames += a.frames;
        int before = -1;
        for (int k = 0; k < a.glosses; k++) {
            ck_assert(a.gloss[k] >= 0 && a.gloss[k] < 40);
            seen[a.gloss[k]]++;
            total++;
            const int n = a.last[k] - a.first[k] + 1, gap = a.first[k] - before - 1;
            ck_assert_msg(n >= 6 && n <= 13, "a gloss of %d frames", n);
            ck_assert_msg(gap >= 2 && gap <= (k ? 4 : 7), "a transition of %d frames", gap);
            if (k > 0 && a.gloss[k] == a.gloss[k - 1]) {
                ck_assert_int_eq(gap, 4);
                repeats++;
            }
            before = a.last[k];
        }
        ck_assert(a.frames - before - 1 >= 3 && a.frames - before - 1 <= 6);
    }
    for (int n = 2; n <= 5; n++) ck_assert_msg(abs(length[n] - PLANS / 4) < 150, "%d clips of %d", length[n], n);
    for (int k = 0; k < 40; k++)
        ck_assert_msg(abs(seen[k] - total / 40) < 100, "gloss %d: %d of %d", k, seen[k], total);
    ck_assert_msg(repeats > 150, "%d glosses follow themselves", repeats); /* one of 40 of 10,000 */
    ck_assert_msg(frames / PLANS > 35 && frames / PLANS < 60, "%f frames a clip", frames / PLANS);
    ct_gesture_gen_close(g);
}
END_TEST

/* Who signs: in training never the last signer, in tests that one in 2 of 5 clips; all others alike. */
START_TEST(signers)
{
    static const int counts[] = { 1, 2, 8, 26 };
    ct_gesture_params p = params(96);
    const int n = p.signers = counts[_i];
    ct_gesture_gen *g = open_gen(&p, 5);
    int seen[2][CT_GESTURE_SIGNERS] = { 0 };
    for (int64_t i = 0; i < PLANS; i++)
        for (int cast = 0; cast < 2; cast++) {
            ct_gesture_plan a;
            ck_ok(ct_gesture_gen_plan(g, i, cast ? CT_GESTURE_ALL : CT_GESTURE_SEEN, &a));
            ck_assert(a.signer >= 0 && a.signer < n);
            seen[cast][a.signer]++;
        }
    if (n > 1) {
        ck_assert_int_eq(seen[0][n - 1], 0);
        ck_assert(abs(seen[1][n - 1] - PLANS * 2 / 5) < 160 && seen[1][n - 1] > PLANS / 3);
        for (int s = 0; s < n - 1; s++) {
            const double usual = (double)PLANS / (n - 1);
            ck_assert_msg(fabs(seen[0][s] - usual) < 5 * sqrt(usual), "signer %d: %d", s, seen[0][s]);
            ck_assert_msg(fabs(seen[1][s] - 0.6 * usual) < 5 * sqrt(0.6 * usual), "signer %d: %d", s, seen[1][s]);
        }
    }
    ct_gesture_gen_close(g);
}
END_TEST

/* ---- files ---- */

/* DIR/NAME as text; free(). */
static char *text_of(const char *dir, const char *name)
{
    uint8_t *data;
    size_t n;
    ck_ok(ct_file_read(ct_util_path(dir, name), 1 << 24, &data, &n));
    char *out = strdup((char *)data);
    ck_assert(strlen(out) == n);
    ct_free(data);
    return out;
}

static int files_in(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    ck_assert_msg(d != NULL, "no folder %s", path);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* A clip's folder holds the frames of its plan, as JPEG can tell them. */
static void check_clip(const char *folder, const ct_gesture_gen *g, int64_t index, ct_gesture_cast cast)
{
    ct_gesture_plan plan;
    char name[16];
    ck_ok(ct_gesture_gen_plan(g, index, cast, &plan));
    ck_assert_int_eq(files_in(folder), plan.frames);
    for (int f = 0; f < plan.frames; f += plan.frames - 1) {
        ct_image im, drawn = frame_alone(g, index, cast, f);
        snprintf(name, sizeof name, "%05d.jpg", f + 1);
        ck_ok(ct_image_read_file(ct_util_path(folder, name), NULL, &im));
        ck_assert(im.w == drawn.w && im.h == drawn.h && im.c == 3);
        double sum = 0;
        for (size_t k = 0; k < bytes_of(&im); k++) sum += abs(im.px[k] - drawn.px[k]);
        ck_assert_msg(sum / (double)bytes_of(&im) < 4, "%s: %f levels", name, sum / (double)bytes_of(&im));
        ct_image_free(&im);
        ct_image_free(&drawn);
    }
}

/* A table and all that it names; returns its rows. */
static int check_part(const char *dir, const char *part, int number, const ct_gesture_gen *g)
{
    static const char head[] = "Number,Translator,Chinese Sentences,Gloss,Note\n";
    char file[32], want[64], folder[128];
    snprintf(file, sizeof file, "%s.csv", part);
    char *text = text_of(dir, file), *rest = text + strlen(head);
    ck_assert(strncmp(text, head, strlen(head)) == 0 && strchr(text, '\r') == NULL);
    const ct_gesture_cast cast = number == 2 ? CT_GESTURE_ALL : CT_GESTURE_SEEN;
    int rows = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line; rows++) {
        ct_gesture_plan plan;
        ck_ok(ct_gesture_gen_plan(g, (int64_t)number << 48 | rows, cast, &plan));
        char *column[5];
        for (int k = 0; k < 5; k++) ck_assert_ptr_nonnull(column[k] = strsep(&line, ","));
        ck_assert(line == NULL && column[4][0] == '\0');
        snprintf(want, sizeof want, "%s-%05d", part, rows + 1);
        ck_assert_str_eq(column[0], want);
        ck_assert(column[1][0] == 'A' + plan.signer && column[1][1] == '\0');
        const size_t words = strlen(column[2]);
        ck_assert(words > 10 && column[2][words - 1] == '.');
        ck_assert(strspn(column[2], "abcdefghijklmnopqrstuvwxyz ;.") == words);
        int k = 0;
        for (char *token; (token = strsep(&column[3], "/")); k++)
            ck_assert_str_eq(token, ct_gesture_gen_gloss(g, plan.gloss[k]));
        ck_assert_int_eq(k, plan.glosses);
        snprintf(folder, sizeof folder, "%s/%s/%s/%s", dir, part, column[1], column[0]);
        check_clip(folder, g, (int64_t)number << 48 | rows, cast);
    }
    free(text);
    return rows;
}

static void same_file(const char *a, const char *b, const char *name)
{
    uint8_t *x, *y;
    size_t n, m;
    ck_ok(ct_file_read(ct_util_path(a, name), 1 << 24, &x, &n));
    ck_ok(ct_file_read(ct_util_path(b, name), 1 << 24, &y, &m));
    ck_assert_msg(n == m && memcmp(x, y, n) == 0, "%s", name);
    ct_free(x);
    ct_free(y);
}

START_TEST(files)
{
    ct_gesture_params p = params(32);
    p.most = 3;
    char *one = ct_util_tempdir(), *two = ct_util_tempdir();
    ct_gesture_written w, v;
    ct_gesture_gen *g = open_gen(&p, 5);
    ck_ok(ct_gesture_write(&p, 5, one, 25, 1, false, &w));
    ck_ok(ct_gesture_write(&p, 5, two, 9, 3, false, &v));
    ck_assert(w.clips[0] == 20 && w.clips[1] == 2 && w.clips[2] == 3);
    ck_assert(v.clips[0] == 7 && v.clips[1] == 1 && v.clips[2] == 1);
    ck_assert(w.draw_s > 0 && w.total_s > w.draw_s && w.frames[0] > 20 * 15 && w.frames[2] > 3 * 15);
    static const char *const part[3] = { "train", "dev", "test" };
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(check_part(one, part[k], k, g), (int)w.clips[k]);
        ck_assert_int_eq(check_part(two, part[k], k, g), (int)v.clips[k]);
    }
    ct_gesture_plan plan;
    char name[64];
    for (int i = 0; i < 7; i++) { /* whatever the number of threads and of clips */
        ck_ok(ct_gesture_gen_plan(g, i, CT_GESTURE_SEEN, &plan));
        for (int f = 0; f < plan.frames; f += 5) {
            snprintf(name, sizeof name, "train/%c/train-%05d/%05d.jpg", 'A' + plan.signer, i + 1, f + 1);
            same_file(one, two, name);
        }
    }
    ct_gesture_gen_close(g);
    ct_util_remove(one);
    ct_util_remove(two);
}
END_TEST

/* A folder that is not empty is left alone, or taken over: no frame of an earlier clip stays behind a shorter one, and
 * there is no table without its clips. */
START_TEST(forced)
{
    ct_gesture_params p = params(32), shorter = p;
    p.signers = shorter.signers = 1;
    p.least = p.most = 4;
    shorter.least = shorter.most = 1;
    char *dir = ct_util_tempdir();
    ct_gesture_written w;
    ck_ok(ct_gesture_write(&p, 5, dir, 3, 1, false, &w));
    ck_assert_int_eq(ct_gesture_write(&p, 5, dir, 3, 1, false, &w), CT_EIO);
    ck_message("not empty");
    ct_util_text(dir, "train/A/train-00001/notes.txt", "mine");
    ck_ok(ct_gesture_write(&shorter, 5, dir, 3, 1, true, &w));
    ck_assert_int_eq(files_in(ct_util_path(dir, "train/A/train-00001")), (int)w.frames[0] + 1);
    ck_assert(ct_path_is_file(ct_util_path(dir, "train/A/train-00001/notes.txt")));
    ck_assert_int_eq(files_in(ct_util_path(dir, "test/A/test-00001")), (int)w.frames[2]);
    /* a clip that cannot be written: its table is not there, nor are older ones */
    ct_util_remove(strdup(ct_util_path(dir, "dev/A/dev-00001")));
    ct_util_text(dir, "dev/A/dev-00001", "a file");
    ck_assert(ct_gesture_write(&shorter, 5, dir, 3, 1, true, &w) != CT_OK);
    ck_message("dev-00001");
    ck_assert(ct_path_exists(ct_util_path(dir, "train.csv")));
    ck_assert(!ct_path_exists(ct_util_path(dir, "dev.csv")) && !ct_path_exists(ct_util_path(dir, "test.csv")));
    ck_assert_int_eq(ct_gesture_write(&p, 5, dir, 2, 1, true, &w), CT_EINVAL);
    ck_message("2 clips");
    p.size = 7;
    ck_assert_int_eq(ct_gesture_write(&p, 5, dir, 3, 1, true, &w), CT_ECONFIG);
    ct_util_remove(dir);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gestures");
    TCase *t = tcase_create("gestures");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, any_order);
    tcase_add_test(t, keys);
    tcase_add_test(t, ranges);
    tcase_add_test(t, memory);
    tcase_add_test(t, all_glosses);
    tcase_add_test(t, components);
    tcase_add_test(t, paths);
    tcase_add_test(t, plans);
    tcase_add_loop_test(t, signers, 0, 4);
    tcase_add_test(t, files);
    tcase_add_test(t, forced);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
