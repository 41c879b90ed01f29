/* The length of clips. A sample of some models is a clip: frames in a row instead of one picture. Such models look at
 * several frames at once, so a clip of T frames gets copies of its first frame in front and of its last behind, which
 * is the only place where lengths are made. Used by models (how many time steps), data sets and loaders (how many
 * pictures) alike. */
#ifndef CT_BASE_CLIP_H
#define CT_BASE_CLIP_H

#include <stdint.h>

/* T frames become ceil(T/multiple)*multiple + extra pictures, `front` of them copies of the first frame. All 0: samples
 * are single pictures. */
typedef struct ct_clip_rule {
    int front, extra, multiple; /* frames */
} ct_clip_rule;

/* Pictures of a clip of so many frames, at least 1. */
static inline int64_t ct_clip_padded(const ct_clip_rule *r, int64_t frames)
{
    return r->multiple == 0 ? frames : (frames + r->multiple - 1) / r->multiple * r->multiple + r->extra;
}

/* The frame, 0.., that picture p of a clip shows. */
static inline int64_t ct_clip_frame(const ct_clip_rule *r, int64_t frames, int64_t p)
{
    const int64_t i = p - r->front;
    return i < 0 ? 0 : i < frames ? i : frames - 1;
}

/* Of a clip of `all` frames `most` are taken, evenly spaced, the first and the last among them: which is number k of
 * these, 0 <= k < most. most >= all: every one. */
static inline int64_t ct_clip_thin(int64_t all, int64_t most, int64_t k)
{
    if (most >= all) return k;
    if (most == 1) return all / 2;
    return (2 * k * (all - 1) + most - 1) / (2 * (most - 1));
}

/* Columns of the index that goes with the pictures of a batch: (row, sample id, epoch), and of clips the frame. */
enum { CT_INDEX_OF_PICTURES = 3, CT_INDEX_OF_CLIPS = 4 };

#endif
