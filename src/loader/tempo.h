/* Clips shown faster or slower: which of its frames a clip gives in an epoch. Frames are drawn as the original does
 * (TFNet's TemporalRescale): of T frames n are taken in their order, n = T times a uniform number within 1 - tempo and
 * 1 + tempo, within CT_TEMPO_LEAST and CT_TEMPO_MOST, rounded up to a multiple of the clip rule; n <= T: each at most
 * once; else drawn with replacement. A function of (seed, epoch, sample). */
#ifndef CT_DATA_TEMPO_H
#define CT_DATA_TEMPO_H

#include <stdint.h>

#include "base/clip.h"

#define CT_TEMPO_LEAST 32 /* frames */
#define CT_TEMPO_MOST 230

typedef struct ct_tempo {
    uint64_t seed;
    double range;            /* tempo, 0 to 0.5; 0: every frame once, whatever the limits */
    const ct_clip_rule *clip;
} ct_tempo;

/* How many frames a clip of so many gives; `least`: a shortened one keeps so many. With pick, [that many], the frames,
 * ascending: room for ct_tempo_longest(). */
int ct_tempo_draw(const ct_tempo *t, int64_t epoch, int64_t sample, int frames, int least, int32_t *pick);
/* The fewest and the most that may be drawn. */
int ct_tempo_shortest(const ct_tempo *t, int frames, int least);
int ct_tempo_longest(const ct_tempo *t, int frames, int least);

#endif
