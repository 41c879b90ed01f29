/* The generator of gestures: that clips are functions of seed and index, what plans promise, that glosses can be told
 * apart and hands be seen, and what is written as files. */
#include "config.h"

#include <dirent.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/workers.h"
#include "task/gloss/synth/internal.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"

#define ck_ok(call) ck_assert_msg((call) == CT_OK, "%s", ct_error_message())
#define ck_message(text) \
    ck_assert_msg(strstr(ct_error_message(), (text)) != NULL, "no \"%s\" in: %s", (text), ct_error_message())

static const int outside[2] = { -1, 1 };

static ct_gesture_params params(int size)
{
    ct_gesture_params p;
    ct_gesture_params_init(&p);
    p.size = size;
    return p;
}

static ct_gesture_gen *open_gen(const ct_gesture_params *p, uint64_t seed)
{
    ct_gesture_gen *g;
    ck_ok(ct_gesture_gen_open(p, seed, &g));
    return g;
}

static ct_image frame_alone(const ct_gesture_gen *g, int64_t index, ct_gesture_cast cast, int frame)
{
    ct_gesture_pen *pen;
    ct_image im;
    ck_ok(ct_gesture_pen_open(g, &pen));
    ck_ok(ct_gesture_pen_frame(pen, index, cast, frame, &im));
    ct_gesture_pen_close(pen);
    return im;
}

static size_t bytes_of(const ct_image *im) { return (size_t)im->w * (size_t)im->h * (size_t)im->c; }

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
    CT_TRY(ct_gesture_pen_frame(m->pen[worker], k / FRAMES, k % 2 ? CT_GESTURE_ALL : CT_GESTURE_SEEN, (int)(k % FRAMES), &im));
    ct_hash_hex(im.px, bytes_of(&im), m->hash[k]);
    ct_image_free(&im);
    return CT_OK;
}

static many *draw_many(const ct_gesture_gen *g, int step, int threads)
{
    many *m = calloc(1, sizeof *m);
    m->g = g;
    m->step = step;
    ck_ok(ct_parallel_for(CLIPS * FRAMES, threads, draw_item, m));
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
        for (int l = 0; l < k; l++) ck_assert_msg(strcmp(a->hash[k], a->hash[l]) != 0, "frames %d and %d are the same", l, k);
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
        { offsetof(ct_gesture_params, glosses), 1, "--glosses" },  { offsetof(ct_gesture_params, glosses), 201, "--glosses" },
        { offsetof(ct_gesture_params, signers), 0, "--signers" },  { offsetof(ct_gesture_params, signers), 27, "--signers" },
        { offsetof(ct_gesture_params, least), 0, "--length" },     { offsetof(ct_gesture_params, most), 13, "--length" },
        { offsetof(ct_gesture_params, least), 6, "--length" },     { offsetof(ct_gesture_params, size), 31, "--size" },
        { offsetof(ct_gesture_params, size), 513, "--size" } };
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
    ck_assert_str_eq(hash, "LEXICON_HASH");
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
    for (int k = 0; k < 40; k++) ck_assert_msg(abs(seen[k] - total / 40) < 100, "gloss %d: %d of %d", k, seen[k], total);
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

/* ---- poses ---- */

/* What frames are drawn from, as the pen has it. */
typedef struct clip { ct_gloss lexicon[CT_GESTURE_GLOSSES]; ct_signer signer[CT_GESTURE_SIGNERS]; ct_script s; ct_look k; } clip;

static void make_clip(const ct_gesture_params *p, uint64_t seed, int64_t index, clip *c)
{
    const int signer = (int)(index % p->signers);
    ct_script_make(c->lexicon, p, seed, index, signer, &c->signer[signer], &c->s);
    ct_look_make(seed, index, &c->signer[signer], p->size, &c->k);
}

/* Hands with all their fingers stay within the picture, move, and nowhere jump. */
START_TEST(hands_inside)
{
    ct_gesture_params p = params(_i ? 64 : 96);
    p.glosses = CT_GESTURE_GLOSSES;
    p.signers = 26;
    static clip c;
    ct_lexicon_make(c.lexicon, p.glosses);
    float least = 1e6f;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        ct_signers_make(seed, p.signers, c.signer);
        for (int64_t i = 0; i < 300; i++) {
            ct_hand hand[2], before[2] = { 0 };
            make_clip(&p, seed, i, &c);
            const ct_signer *s = &c.signer[c.s.plan.signer];
            for (int f = 0; f < c.s.plan.frames; f++) {
                ct_pose_at(c.lexicon, &c.s, f, hand);
                for (int h = 0; h < 2; h++) {
                    ct_bone b[CT_HAND_BONES];
                    ct_hand_bones(&hand[h], s, &c.k, outside[h], b);
                    for (int k = 0; k < CT_HAND_BONES; k++) {
                        const float x[2] = { b[k].ax, b[k].bx }, y[2] = { b[k].ay, b[k].by };
                        for (int e = 0; e < 2; e++) {
                            const float r = e ? b[k].rb : b[k].ra, w = (float)p.size;
                            least = fminf(least, fminf(fminf(x[e] - r, w - x[e] - r), fminf(y[e] - r, w - y[e] - r)));
                        }
                    }
                    ck_assert_msg(least >= 0, "seed %d, clip %d, frame %d: a hand leaves the picture by %f", (int)seed,
                                  (int)i, f, (double)-least);
                    const float step = hypotf(hand[h].out - before[h].out, hand[h].down - before[h].down);
                    ck_assert_msg(f == 0 || step < 1.75f, "seed %d, clip %d, frame %d: a jump of %f", (int)seed, (int)i, f,
                                  (double)step);
                    before[h] = hand[h];
                }
            }
        }
    }
}
END_TEST

/* The right hand moves in every frame of a gloss; where a gloss follows itself, it sinks and comes back. */
START_TEST(hands_move)
{
    const ct_gesture_params p = params(96);
    static clip c;
    int repeats = 0;
    ct_lexicon_make(c.lexicon, p.glosses);
    ct_signers_make(9, p.signers, c.signer);
    for (int64_t i = 0; i < 2000; i++) {
        ct_hand a[2], b[2], m[2], n[2];
        make_clip(&p, 9, i, &c);
        const ct_gesture_plan *q = &c.s.plan;
        for (int k = 0; k < q->glosses; k++) {
            float way = 0;
            for (int f = q->first[k]; f < q->last[k]; f++) {
                ct_pose_at(c.lexicon, &c.s, f, a);
                ct_pose_at(c.lexicon, &c.s, f + 1, b);
                way += hypotf(b[0].out - a[0].out, b[0].down - a[0].down) + fabsf(b[0].angle - a[0].angle) / 60;
            }
            ck_assert_msg(way > 0.6f, "%s moves by %f", c.lexicon[q->gloss[k]].name, (double)way);
            if (k == 0 || q->gloss[k] != q->gloss[k - 1]) continue;
            repeats++;
            ct_pose_at(c.lexicon, &c.s, q->last[k - 1], a);
            ct_pose_at(c.lexicon, &c.s, q->first[k], b);
            ct_pose_at(c.lexicon, &c.s, q->last[k - 1] + 2, m); /* these two lie evenly about the middle */
            ct_pose_at(c.lexicon, &c.s, q->last[k - 1] + 3, n);
            ck_assert(0.5f * (m[0].down + n[0].down) > 0.3f + 0.5f * (a[0].down + b[0].down));
        }
    }
    ck_assert_int_gt(repeats, 50);
}
END_TEST

/* ---- pictures ---- */

/* Nine frames of a gloss before a plain wall, moved by (dx, dy) units, without noise: [9,3,size,size]. */
enum { PHASES = 9 };
static float *drawn_gloss(const ct_gloss *lexicon, int gloss, const ct_signer *s, int size, const struct ct_turn *turn)
{
    ct_script script = { .plan = { .glosses = 1, .gloss = { gloss }, .first = { 2 }, .last = { 1 + PHASES },
                                   .frames = 4 + PHASES }, .turn = { *turn }, .fall = 3 + PHASES };
    const size_t n = (size_t)size * (size_t)size;
    float *out = malloc(PHASES * 3 * n * sizeof *out);
    ct_look k;
    ct_film film;
    ct_hand hand[2];
    ct_look_make(1, 0, s, size, &k);
    ck_ok(ct_film_open(size, &film));
    for (int f = 0; f < PHASES; f++) {
        for (int c = 0; c < 3; c++)
            for (size_t i = 0; i < n; i++) film.ch[c][i] = 150;
        ct_pose_at(lexicon, &script, 2 + f, hand);
        ct_body_draw(&film, s, &k, hand, f);
        for (size_t c = 0; c < 3; c++) memcpy(out + ((size_t)f * 3 + c) * n, film.ch[c], n * sizeof *out);
    }
    ct_film_close(&film);
    return out;
}

static double distance(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += fabsf(a[i] - b[i]);
    return sum / (double)n;
}

/* In 64x64 pixels no gloss, wherever its jitter takes it, looks like another: on each of the two that are most alike at
 * least so many pixels of each frame differ by 100 levels. */
START_TEST(told_apart)
{
    enum { N = 40, SIZE = 64, ASIDE = 9 };
    const size_t n = (size_t)PHASES * 3 * SIZE * SIZE;
    static ct_gloss lexicon[N];
    static ct_signer signer[8];
    float *drawn[N];
    ct_lexicon_make(lexicon, N);
    ct_signers_make(21, 8, signer);
    const struct ct_turn usual = { 0, 0, 1 };
    for (int i = 0; i < N; i++) drawn[i] = drawn_gloss(lexicon, i, &signer[_i], SIZE, &usual);
    for (int i = 0; i < N; i++)
        for (int t = 0; t < ASIDE; t++) {
            const struct ct_turn other = { 0.14f * (float)(t / 3 - 1), 0.14f * (float)(t % 3 - 1), 1 };
            float *aside = drawn_gloss(lexicon, i, &signer[_i], SIZE, &other);
            for (int k = 0; k < i; k++) {
                const double pixels = distance(drawn[k], aside, n) * SIZE * SIZE / 100;
                ck_assert_msg(pixels > 15, "%s looks like %s: %f", lexicon[i].name, lexicon[k].name, pixels);
            }
            free(aside);
        }
    for (int i = 0; i < N; i++) free(drawn[i]);
}
END_TEST

/* Hands are seen before the trunk, the face and the wall, whoever signs: they change the picture. */
START_TEST(hands_seen)
{
    enum { SIZE = 64, SIGNERS = 26 };
    static const struct { const char *what; float out, down, angle; double least; } over[] = {
        { "trunk", 0.1f, 0.9f, -30, 40 }, { "face", 0.05f, -0.6f, 0, 9 }, { "wall", 1.5f, 0, 0, 35 } };
    const size_t n = SIZE * SIZE;
    static ct_signer signer[SIGNERS];
    for (uint64_t seed = 1; seed <= 20; seed++) {
        ct_signers_make(seed, SIGNERS, signer);
        for (int i = 0; i < SIGNERS; i++) {
            const ct_hand rest = { .out = 0.6f, .down = 2.1f, .angle = -150, .side = -1,
                                   .fingers = *ct_shape_fingers(CT_SHAPE_LOOSE) };
            const ct_hand both[2] = { rest, rest };
            ct_look k;
            ct_film film, with;
            ck_ok(ct_film_open(SIZE, &film));
            ck_ok(ct_film_open(SIZE, &with));
            ct_look_make(seed, i, &signer[i], SIZE, &k);
            ct_wall_draw(&film, seed, i, &signer[i], &k);
            ct_body_draw(&film, &signer[i], &k, both, 0);
            for (int o = 0; o < 3; o++) {
                const ct_hand h = { .out = over[o].out, .down = over[o].down, .angle = over[o].angle, .side = 1,
                                    .fingers = *ct_shape_fingers(CT_SHAPE_SPREAD) };
                double sum = 0;
                int changed = 0;
                for (int c = 0; c < 3; c++) memcpy(with.ch[c], film.ch[c], n * sizeof *with.ch[c]);
                ct_hand_draw(&with, &h, &signer[i], &k, -1);
                for (size_t q = 0; q < n; q++) {
                    const float a[3] = { film.ch[0][q], film.ch[1][q], film.ch[2][q] };
                    const float b[3] = { with.ch[0][q], with.ch[1][q], with.ch[2][q] };
                    if (memcmp(a, b, sizeof a) == 0) continue;
                    sum += ct_colour_distance(a, b);
                    changed++;
                }
                ck_assert_msg(changed > 60, "%d pixels of a hand", changed);
                ck_assert_msg(sum / changed > over[o].least, "seed %d, signer %d before the %s: %f levels", (int)seed, i,
                              over[o].what, sum / changed);
            }
            ct_film_close(&film);
            ct_film_close(&with);
        }
    }
}
END_TEST

static double spread(const ct_image *im)
{
    double sum = 0, squares = 0;
    const double n = (double)bytes_of(im);
    for (size_t i = 0; i < bytes_of(im); i++) {
        sum += im->px[i];
        squares += (double)im->px[i] * im->px[i];
    }
    return sqrt(squares / n - sum / n * (sum / n));
}

/* Frames show something, and from one to the next little changes, but something does. */
START_TEST(frames)
{
    const ct_gesture_params p = params(96);
    ct_gesture_gen *g = open_gen(&p, 13);
    ct_gesture_pen *pen;
    ck_ok(ct_gesture_pen_open(g, &pen));
    for (int64_t i = 0; i < 12; i++) {
        ct_gesture_plan plan;
        ct_image a = { 0 }, b;
        ck_ok(ct_gesture_gen_plan(g, i, CT_GESTURE_ALL, &plan));
        for (int f = 0; f < plan.frames; f++, a = b) {
            ck_ok(ct_gesture_pen_frame(pen, i, CT_GESTURE_ALL, f, &b));
            ck_assert(b.w == 96 && b.h == 96 && b.c == 3);
            ck_assert_msg(spread(&b) > 18, "clip %d, frame %d: %f", (int)i, f, spread(&b));
            double sum = 0;
            for (size_t k = 0; a.px && k < bytes_of(&b); k++) sum += abs(a.px[k] - b.px[k]);
            sum /= (double)bytes_of(&b);
            ck_assert_msg(f == 0 || (sum > 0.3 && sum < 14), "clip %d, frame %d: %f levels", (int)i, f, sum);
            ct_image_free(&a);
        }
        ct_image_free(&a);
    }
    ct_gesture_pen_close(pen);
    ct_gesture_gen_close(g);
}
END_TEST

/* Who signs, light and wall are those of the clip: of two frames of a clip the upper edge is nearly the same, of two
 * clips it is not. */
START_TEST(clips_differ)
{
    const ct_gesture_params p = params(64);
    ct_gesture_gen *g = open_gen(&p, 17);
    double within = 0, between = 0;
    for (int64_t i = 0; i < 20; i++) {
        ct_image a = frame_alone(g, i, CT_GESTURE_SEEN, 0), b = frame_alone(g, i, CT_GESTURE_SEEN, 3);
        ct_image c = frame_alone(g, i + 1, CT_GESTURE_SEEN, 0);
        for (int k = 0; k < 3 * 64 * 4; k++) {
            within += abs(a.px[k] - b.px[k]);
            between += abs(a.px[k] - c.px[k]);
        }
        ct_image_free(&a);
        ct_image_free(&b);
        ct_image_free(&c);
    }
    ck_assert_msg(between > 5 * within, "%f levels within, %f between clips", within, between);
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
        ck_assert(words > 10 && column[2][words - 1] == '.' && strspn(column[2], "abcdefghijklmnopqrstuvwxyz ;.") == words);
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
    TCase *t = tcase_create("clips");
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
    tcase_add_loop_test(t, hands_inside, 0, 2);
    tcase_add_test(t, hands_move);
    tcase_add_loop_test(t, told_apart, 0, 8);
    tcase_add_test(t, hands_seen);
    tcase_add_test(t, frames);
    tcase_add_test(t, clips_differ);
    tcase_add_test(t, files);
    tcase_add_test(t, forced);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
