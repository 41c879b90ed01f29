/* What slider models are trained for: the numbers of a ct_goal. */
#ifndef CT_TASK_SLIDER_GOAL_H
#define CT_TASK_SLIDER_GOAL_H

#include "task/task.h"

#define CT_SLIDER_STRIDE 4          /* pixels to a cell, both ways */
#define CT_SLIDER_PADDING_EPS 1e-4  /* probabilities in the padding are kept this far from 0 and 1 */
#define CT_SLIDER_ROW_EPS 1e-8      /* added to the mean of a row */

typedef enum ct_slider_loss { CT_SLIDER_LOSS_BASIC, CT_SLIDER_LOSS_EARLY, CT_SLIDER_LOSS_LATE } ct_slider_loss;

/* Places in ct_goal.value. A term of weight 0 is not computed, but for heat and offset. */
enum {
    CT_SLIDER_ALPHA, CT_SLIDER_BETA, CT_SLIDER_POSITIVE, CT_SLIDER_EPS, CT_SLIDER_OFFSET_BETA, CT_SLIDER_MARGIN,
    CT_SLIDER_ANGLE_POSITIVE, CT_SLIDER_CAP, CT_SLIDER_TAU, CT_SLIDER_SIGMA, CT_SLIDER_ALIGN,
    CT_SLIDER_W_HEAT, CT_SLIDER_W_OFFSET, CT_SLIDER_W_HARD_NEGATIVE, CT_SLIDER_W_ANGLE, CT_SLIDER_W_PADDING,
    CT_SLIDER_W_ROW_CE, CT_SLIDER_W_ROW_EMD, CT_SLIDER_AROUND
};

/* The goal that a loss is by itself: the columns of the reference's loss.yaml, early and late; basic is heatmaps and
 * offsets alone. */
void ct_slider_goal(ct_slider_loss loss, ct_goal *goal);
const char *ct_slider_loss_name(const ct_goal *goal);

/* The goal of a configuration: loss.*, heatmap.*, coordinate.*. CT_ECONFIG: keys that contradict each other, or the
 * model. */
ct_status ct_slider_specify(const ct_config *cfg, const ct_facts *facts, ct_model_spec *model, ct_goal *goal);
ct_status ct_slider_usual(const char *loss, ct_model_spec *model, ct_goal *goal);

/* program.c */
ct_status ct_slider_build(ct_parts *p);
ct_status ct_slider_random(const ct_place *p, const char *name, const ct_desc *d, ct_rng *rng, void *host);

/* golden.c */
ct_status ct_slider_golden(const char *path, const ct_safetensors *st, ct_model_spec *model, ct_goal *goal,
                           ct_golden_batch *b);

#endif
