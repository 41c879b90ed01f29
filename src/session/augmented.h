/* Pictures of a training as its model gets to see them, for people to look at. */
#ifndef CT_SESSION_AUGMENTED_H
#define CT_SESSION_AUGMENTED_H

#include "loader/loader.h"
#include "session/session.h"

#define CT_AUGMENTED_MOST 16 /* pictures */

typedef struct ct_augmented {
    int64_t sample; /* number in the data set */
    char *label;    /* as text */
    ct_image image;
} ct_augmented;

/* The samples that a training on `view` would begin with in batches of `most` (at most CT_AUGMENTED_MOST), as its first
 * epoch has them: resized, cropped, moved, mirrored, with noise; of a clip the frame in its middle. A function of
 * configuration and data alone: computed on the CPU, whatever the session trains on. */
ct_status ct_augmented_draw(const ct_session *s, const ct_config *cfg, const ct_view *view, int most,
                            ct_augmented **out, int *n);
void ct_augmented_free(ct_augmented *a, int n); /* NULL is fine */

#endif
