/* Pictures, or clips, that a program has in memory, on their way into a data set. */
#ifndef CT_SERVE_STACK_H
#define CT_SERVE_STACK_H

#include "captrain.h"
#include "data/dataset.h"

/* One sample: its frames; of a picture the only one. */
typedef struct ct_stack_sample {
    ct_image *frame; /* [frames] owned; the data set takes the pixels over one by one */
    int frames;
} ct_stack_sample;

typedef struct ct_stack {
    const ct_dataset_spec *spec; /* geometry, as training had it */
    ct_stack_sample *sample;     /* [n] */
    int64_t n, cap;
} ct_stack;

/* Room for `most` samples. */
ct_status ct_stack_make(ct_stack *s, const ct_dataset_spec *spec, int64_t most);
void ct_stack_free(ct_stack *s); /* a zeroed one is fine */
/* Adds a sample of `frames` pictures that lie in memory one after another, picture[0].size bytes apart; `name` is for
 * those that have none. CT_EINVAL, CT_EIO, CT_EFORMAT, CT_EDATA: this sample cannot be read, the stack is as before.
 * CT_ENOMEM. */
ct_status ct_stack_add(ct_stack *s, const ct_picture *picture, size_t frames, const char *name);
/* A data set of them, which takes the pixels; clip NULL: samples are pictures. */
ct_status ct_stack_open(ct_stack *s, const ct_clip_rule *clip, ct_dataset **out);

#endif
