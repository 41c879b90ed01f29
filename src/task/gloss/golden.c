/* Glosses in golden files: input.target, input.target_lens and input.out_lens become the field "target" and the time
 * steps; output.lp1 to output.lp5 are scores. The loss is the usual one, padding steps and all. */
#include "config.h"

#include <string.h>

#include "task/gloss/gloss.h"

ct_status ct_gloss_golden(const char *path, const ct_safetensors *st, ct_model_spec *model, ct_goal *goal,
                          ct_golden_batch *b)
{
    CT_TRY(ct_gloss_usual(NULL, model, goal));
    return ct_golden_sequences(path, st, "output.lp5", model, b);
}

/* Of lp5 our programs give log-probabilities, the file what stands before a log_softmax: a constant added to all
 * classes of a time step is no difference. */
void ct_gloss_golden_score(const ct_goal *goal, const char *name, const ct_desc *d, void *theirs)
{
    (void)goal;
    if (strcmp(name, "lp5") == 0) ct_golden_log_softmax(d, theirs);
}
