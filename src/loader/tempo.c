#include "config.h"

#include "loader/tempo.h"

#include <stdlib.h>

#include "base/philox.h"

/* The limits, the multiple, and what the sample must keep. */
static int settle(const ct_tempo *t, double frames, int least)
{
    int n = (int)frames;
    if (n < CT_TEMPO_LEAST) n = CT_TEMPO_LEAST;
    if (n > CT_TEMPO_MOST) n = CT_TEMPO_MOST;
    if (n < least) n = least;
    return (n + t->clip->multiple - 1) / t->clip->multiple * t->clip->multiple;
}

static int scaled(const ct_tempo *t, double by, int frames, int least)
{
    return t->range > 0 ? settle(t, by * (double)frames, least) : frames;
}

int ct_tempo_shortest(const ct_tempo *t, int frames, int least) { return scaled(t, 1 - t->range, frames, least); }
int ct_tempo_longest(const ct_tempo *t, int frames, int least) { return scaled(t, 1 + t->range, frames, least); }

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

int ct_tempo_draw(const ct_tempo *t, int64_t epoch, int64_t sample, int frames, int least, int32_t *pick)
{
    ct_rng rng;
    ct_rng_init(&rng, t->seed, CT_RNG_TEMPO, (uint64_t)epoch << 32 ^ (uint64_t)sample);
    const int n = scaled(t, ct_rng_uniform(&rng, 1 - t->range, 1 + t->range), frames, least);
    if (!pick) return n;
    if (n > frames) {
        for (int i = 0; i < n; i++) pick[i] = (int32_t)ct_rng_below(&rng, (uint32_t)frames);
        qsort(pick, (size_t)n, sizeof *pick, by_number);
        return n;
    }
    /* each frame that is left is as likely as the others (Knuth, The Art of Computer Programming 2, algorithm S) */
    for (int i = 0, k = 0; k < n; i++) {
        if (n - k == frames - i || ct_rng_below(&rng, (uint32_t)(frames - i)) < (uint32_t)(n - k)) pick[k++] = i;
    }
    return n;
}
