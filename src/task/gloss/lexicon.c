#include "config.h"

#include "task/gloss/lexicon.h"

#include "base/alloc.h"

ct_status ct_gloss_drawn_params(const ct_config *cfg, ct_gesture_params *p)
{
    const ct_cfg_synth *y = &cfg->data.synth;
    ct_gesture_params_init(p);
    p->glosses = (int)y->words;
    p->signers = (int)y->signers;
    p->least = (int)y->glosses_min;
    p->most = (int)y->glosses_max;
    p->size = (int)(cfg->data.height > cfg->data.width ? cfg->data.height : cfg->data.width);
    const ct_status st = ct_gesture_params_check(p);
    if (st == CT_OK) return st;
    return ct_fail_context(st, "data.synth.words, .signers, .glosses_min, .glosses_max, data.height");
}

static ct_status words_of(const ct_gesture_gen *g, ct_vocabulary *out)
{
    const int n = ct_gesture_gen_glosses(g);
    const char **word = ct_calloc((size_t)n, sizeof *word, "vocabulary");
    if (!word) return CT_ENOMEM;
    for (int i = 0; i < n; i++) word[i] = ct_gesture_gen_gloss(g, i);
    const ct_status st = ct_vocabulary_of(word, n, out);
    ct_free(word);
    return st;
}

ct_status ct_gloss_drawn_words(const ct_config *cfg, ct_vocabulary *out)
{
    ct_gesture_params p;
    ct_gesture_gen *g;
    CT_TRY(ct_gloss_drawn_params(cfg, &p));
    CT_TRY(ct_gesture_gen_open(&p, (uint64_t)cfg->data.synth.seed, &g));
    const ct_status st = words_of(g, out);
    ct_gesture_gen_close(g);
    return st;
}
