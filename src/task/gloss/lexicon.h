/* What the generator draws by the configuration's data.synth.* keys. */
#ifndef CT_TASK_GLOSS_LEXICON_H
#define CT_TASK_GLOSS_LEXICON_H

#include "config/config.h"
#include "task/gloss/synth/synth.h"
#include "task/gloss/vocabulary.h"

#define CT_GLOSS_GENERATOR "synth:gestures"

/* CT_ECONFIG naming the keys. */
ct_status ct_gloss_drawn_params(const ct_config *cfg, ct_gesture_params *p);
/* All words there are, whether they are drawn or not. */
ct_status ct_gloss_drawn_words(const ct_config *cfg, ct_vocabulary *out);

#endif
