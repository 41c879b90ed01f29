/* The slider task: in a picture with a gap and the piece that fits into it, where are both? */
#ifndef CT_TASK_SLIDER_SLIDER_H
#define CT_TASK_SLIDER_SLIDER_H

#include "task/slider/label.h"
#include "task/task.h"

extern const ct_task ct_task_slider;

/* Letterbox pixels, in which errors are told, are always those of pictures this large: errors of a smaller model are
 * scaled up. */
#define CT_SLIDER_WIDTH 512
#define CT_SLIDER_HEIGHT 256

/* ---- reader.c, folder.c ---- */

/* Fields of a sample, in pixels of the picture as the set holds it. */
enum {
    CT_SLIDER_POINTS,    /* "points" [2,2]: gap, piece */
    CT_SLIDER_FAKE,      /* "fakes" [CT_SLIDER_MAX_FAKES,2]; NAN behind the last */
    CT_SLIDER_DIRECTION, /* "direction" [2,2]: the gap, and the end of an arrow of CT_SLIDER_ARROW pixels that points
                            where the gap's own right is; NAN: angle not known */
    CT_SLIDER_SCALE,     /* "scale" [1]: pixels of the set per pixel of the stored picture */
    CT_SLIDER_FIELDS
};
#define CT_SLIDER_ARROW 32.0

/* A reader for folders and for what the generator writes. */
ct_status ct_slider_labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out);
/* Samples of a folder: pictures in DIR/captchas or in DIR, labels in labels/all_labels.json or in their names. */
ct_status ct_slider_scan(ct_labels *l, const char *path, ct_scan *out);
/* What a label says. *fault: what is wrong with it, as a word of ct_slider_faults or "label", with the message in why;
 * NULL: nothing. CT_ENOMEM. */
ct_status ct_slider_judge(const ct_label_in *in, ct_slider_label *out, const char **fault, char *why, size_t size);
extern const ct_label_fault ct_slider_faults[];

/* Whether a folder holds samples as the reference has them, whoever asks. */
ct_status ct_slider_claims(const char *path, bool *yes);

/* ---- propose.c ---- */
ct_status ct_slider_propose(const ct_seen *seen, ct_propose_put *put, void *user);

/* ---- generator.c ---- */
extern const ct_generator ct_slider_generator;

/* ---- survey.c ---- */
ct_status ct_slider_survey(const ct_labels *l, ct_survey **out);

#endif
