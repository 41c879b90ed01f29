/* A label of a slider picture, and its text: an entry of the reference's labels/all_labels.json, on one line. Reader
 * and generator write and read it here. Places are in pixels of the stored picture: pixel i covers [i,i+1), y grows
 * downwards. Angles are degrees, counter-clockwise as one sees it. */
#ifndef CT_TASK_SLIDER_LABEL_H
#define CT_TASK_SLIDER_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "formats/json.h"

#define CT_SLIDER_MAX_FAKES 8     /* gaps that only look like one, at most */
#define CT_SLIDER_WORD 32     /* bytes of a style or kind, with its NUL */
#define CT_SLIDER_SIDE 40.0   /* of a piece whose label does not say it, pixels */

typedef struct ct_slider_label {
    double gap[2], piece[2];  /* x, y of the centroids */
    double angle;             /* by which the gap is turned against the piece; NAN: not known */
    double scale;             /* of the gap against the piece */
    int fakes;
    double fake[CT_SLIDER_MAX_FAKES][2];
    double fake_angle[CT_SLIDER_MAX_FAKES], fake_scale[CT_SLIDER_MAX_FAKES];
    int64_t pic;              /* number of the background; -1: not known */
    double side;              /* of the piece, pixels; 0: not known */
    int width, height;        /* of the picture, pixels; 0: not known */
    char style[CT_SLIDER_WORD], confusion[CT_SLIDER_WORD], shape[CT_SLIDER_WORD]; /* "": not known */
} ct_slider_label;

/* Nothing known: angle NAN, scale 1, pic -1. */
void ct_slider_label_init(ct_slider_label *l);

/* The entry as a new object: pic_id, labels, augmented_labels where there are fakes, image_size, and style, confusion,
 * shape where they are known. The caller may add to it (sample_id, paths). NULL without memory. */
json_t *ct_slider_label_json(const ct_slider_label *l);
/* The same as text; ct_free(). NULL with CT_ENOMEM recorded. */
char *ct_slider_label_text(const ct_slider_label *l);

/* An entry; members it does not know are left alone, but for those that look like one it knows in another unit.
 * CT_EDATA: the message begins with `name`. CT_ENOMEM. */
ct_status ct_slider_label_take(const char *name, const json_t *entry, ct_slider_label *out);
ct_status ct_slider_label_parse(const char *name, const char *text, ct_slider_label *out);

/* "Pic0012_Bgx210Bgy80_Sdx38Sdy80_0a1b2c3d.png": what such a name says goes to pic, gap and piece, the rest is as after
 * ct_slider_label_init(). False: it is none. */
bool ct_slider_name_parse(const char *name, ct_slider_label *out);
/* Does it begin as such a name does? */
bool ct_slider_name_like(const char *name);
/* Such a name, without folder, into buf; coordinates rounded to whole pixels. */
void ct_slider_name(const ct_slider_label *l, const char hash8[9], char *buf, size_t size);

#endif
