/* The pictures of gestures: where hands are, that they can be seen, and that glosses can be told apart. */
#include "config.h"

#include <math.h>

#include "tests/task/gloss/synth/gesture_util.h"

static const int outside[2] = { -1, 1 };

/* ---- poses ---- */

/* What frames are drawn from, as the pen has it. */
typedef struct clip {
    ct_gloss lexicon[CT_GESTURE_GLOSSES];
    ct_signer signer[CT_GESTURE_SIGNERS];
    ct_script s;
    ct_look k;
} clip;

static void make_clip(const ct_gesture_params *p, uint64_t seed, int64_t index, clip *c)
{
    const int signer = (int)(index % p->signers);
    ct_script_make(c->lexicon, p, seed, index, signer, &c->signer[signer], &c->s);
    ct_look_make(seed, index, &c->signer[signer], p->size, &c->k);
}

/* How near to an edge of the picture a hand comes, pixels; negative: it leaves it. */
static float room_of(const ct_hand *h, const clip *c, int out, int size)
{
    ct_bone b[CT_HAND_BONES];
    float least = 1e6f;
    const float w = (float)size;
    ct_hand_bones(h, &c->signer[c->s.plan.signer], &c->k, out, b);
    for (int k = 0; k < CT_HAND_BONES; k++)
        for (int e = 0; e < 2; e++) {
            const float x = e ? b[k].bx : b[k].ax, y = e ? b[k].by : b[k].ay, r = e ? b[k].rb : b[k].ra;
            least = fminf(least, fminf(fminf(x, w - x), fminf(y, w - y)) - r);
        }
    return least;
}

/* Hands with all their fingers stay within the picture, and nowhere jump. */
static void check_hands(const clip *c, int size)
{
    ct_hand hand[2], before[2] = { 0 };
    for (int f = 0; f < c->s.plan.frames; f++) {
        ct_pose_at(c->lexicon, &c->s, f, hand);
        for (int h = 0; h < 2; h++) {
            const float room = room_of(&hand[h], c, outside[h], size);
            const float step = hypotf(hand[h].out - before[h].out, hand[h].down - before[h].down);
            ck_assert_msg(room > 0.01f * (float)size, "frame %d: a hand %f pixels from the edge", f, (double)room);
            ck_assert_msg(f == 0 || step < 1.75f, "frame %d: a jump of %f", f, (double)step);
            before[h] = hand[h];
        }
    }
}

START_TEST(hands_inside)
{
    ct_gesture_params p = params(_i ? 64 : 96);
    p.glosses = CT_GESTURE_GLOSSES;
    p.signers = CT_GESTURE_SIGNERS;
    static clip c;
    ct_lexicon_make(c.lexicon, p.glosses);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        ct_signers_make(seed, p.signers, c.signer);
        for (int64_t i = 0; i < 300; i++) {
            make_clip(&p, seed, i, &c);
            check_hands(&c, p.size);
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

/* Of one-handed glosses the left hand rests; else it is the right one's mirror image, or moves along with it. */
START_TEST(left_hands)
{
    ct_gesture_params p = params(96);
    static clip c;
    int seen[3] = { 0 };
    p.glosses = CT_GESTURE_GLOSSES;
    ct_lexicon_make(c.lexicon, p.glosses);
    ct_signers_make(9, p.signers, c.signer);
    for (int64_t i = 0; i < 500; i++) {
        ct_hand rest[2], from[2], to[2];
        make_clip(&p, 9, i, &c);
        const ct_gesture_plan *q = &c.s.plan;
        ct_pose_at(c.lexicon, &c.s, q->frames - 1, rest);
        for (int k = 0; k < q->glosses; k++) {
            const enum ct_hands hands = c.lexicon[q->gloss[k]].hands;
            ct_pose_at(c.lexicon, &c.s, q->first[k], from);
            ct_pose_at(c.lexicon, &c.s, (q->first[k] + q->last[k]) / 2, to);
            const float out[2] = { to[0].out - from[0].out, to[1].out - from[1].out };
            const float down[2] = { to[0].down - from[0].down, to[1].down - from[1].down };
            seen[hands]++;
            if (hands == CT_HANDS_ONE) {
                ck_assert(memcmp(&from[1], &rest[1], sizeof *rest) == 0 && memcmp(&to[1], &rest[1], sizeof *rest) == 0);
                continue;
            }
            ck_assert(memcmp(&from[0].fingers, &from[1].fingers, sizeof from[0].fingers) == 0);
            if (hands == CT_HANDS_TWIN && c.lexicon[q->gloss[k]].path == CT_PATH_WAVE) { /* both turn one way */
                const float turn[2] = { to[0].angle - from[0].angle, to[1].angle - from[1].angle };
                ck_assert(fabsf(turn[0] + turn[1]) < 1e-3f && fabsf(turn[0]) > 5);
                continue;
            }
            ck_assert(fabsf(down[0] - down[1]) < 1e-5f);
            ck_assert(fabsf(out[0] - (hands == CT_HANDS_TWIN ? -out[1] : out[1])) < 1e-5f);
        }
    }
    ck_assert(seen[0] > 500 && seen[1] > 100 && seen[2] > 100);
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

/* In 64x64 pixels no gloss, wherever its jitter takes it, looks like another: between their frames there are at least
 * the levels of 15 pixels that differ by 100. */
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

/* What a hand laid over a picture changes, levels of the pixels that it covers: of all, or of its palm. */
static double change(const ct_film *film, ct_film *with, const ct_hand *h, const ct_signer *s, const ct_look *k,
                     bool palm)
{
    const ct_spot m = ct_hand_middle(h, k, outside[0]);
    const size_t n = (size_t)film->size * (size_t)film->size;
    double sum = 0;
    int changed = 0;
    for (int c = 0; c < 3; c++) memcpy(with->ch[c], film->ch[c], n * sizeof *with->ch[c]);
    ct_hand_draw(with, h, s, k, outside[0]);
    for (size_t q = 0; q < n; q++) {
        const float a[3] = { film->ch[0][q], film->ch[1][q], film->ch[2][q] };
        const float b[3] = { with->ch[0][q], with->ch[1][q], with->ch[2][q] };
        const float x = (float)(q % (size_t)film->size) + 0.5f - m.x, y = (float)(q / (size_t)film->size) + 0.5f - m.y;
        if (memcmp(a, b, sizeof a) == 0 || (palm && hypotf(x, y) > 1.5f)) continue;
        sum += (double)ct_colour_distance(a, b);
        changed++;
    }
    ck_assert_msg(changed > (palm ? 3 : 60), "%d pixels of a hand", changed);
    return sum / changed;
}

/* Hands are seen before the trunk, the face and the wall, whoever signs. */
START_TEST(hands_seen)
{
    enum { SIZE = 64 };
    static const struct { const char *what; float out, down, angle; double least, palm; } over[] = {
        { "trunk", 0.1f, 0.9f, -30, 50, 100 }, { "face", 0.05f, -0.6f, 0, 25, 0 }, { "wall", 1.5f, 0, 0, 42, 58 } };
    const ct_hand rest = { .out = 0.6f, .down = 2.1f, .angle = -150, .side = -1,
                           .fingers = *ct_shape_fingers(CT_SHAPE_LOOSE) }, both[2] = { rest, rest };
    static ct_signer signer[CT_GESTURE_SIGNERS];
    ct_film film, with;
    ck_ok(ct_film_open(SIZE, &film));
    ck_ok(ct_film_open(SIZE, &with));
    for (uint64_t seed = 1; seed <= 20; seed++) {
        ct_signers_make(seed, CT_GESTURE_SIGNERS, signer);
        for (int i = 0; i < CT_GESTURE_SIGNERS; i++) {
            ct_look k;
            ct_look_make(seed, i, &signer[i], SIZE, &k);
            ct_wall_draw(&film, seed, i, &signer[i], &k);
            ct_body_draw(&film, &signer[i], &k, both, 0);
            for (int o = 0; o < 3; o++) {
                const ct_hand h = { .out = over[o].out, .down = over[o].down, .angle = over[o].angle, .side = 1,
                                    .fingers = *ct_shape_fingers(CT_SHAPE_SPREAD) };
                const double levels = change(&film, &with, &h, &signer[i], &k, false);
                const double palm = change(&film, &with, &h, &signer[i], &k, true);
                ck_assert_msg(palm > over[o].palm, "seed %d, signer %d before the %s: %f levels of the palm",
                              (int)seed, i, over[o].what, palm);
                ck_assert_msg(levels > over[o].least, "seed %d, signer %d before the %s: %f levels", (int)seed, i,
                              over[o].what, levels);
            }
        }
    }
    ct_film_close(&film);
    ct_film_close(&with);
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

int main(void)
{
    Suite *s = suite_create("pictures of gestures");
    TCase *t = tcase_create("gestures");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, hands_inside, 0, 2);
    tcase_add_test(t, hands_move);
    tcase_add_test(t, left_hands);
    tcase_add_loop_test(t, told_apart, 0, 8);
    tcase_add_test(t, hands_seen);
    tcase_add_test(t, frames);
    tcase_add_test(t, clips_differ);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
