/* Drawn pictures (task/slider/synth/synth.h) as a data set and as files. */
#ifndef CT_TASK_SLIDER_DRAW_H
#define CT_TASK_SLIDER_DRAW_H

#include "data/dataset.h"
#include "task/slider/synth/synth.h"
#include "task/slider/label.h"
#include "task/task.h"

/* The label of a picture. */
void ct_slider_drawn_label(const ct_slider_drawn *d, ct_slider_label *out);

/* The generator as a data set: the text of a label is ct_slider_label_text(). The source owns what it needs
 * (ct_source.release). */
ct_status ct_slider_source(const ct_slider_params *p, uint64_t seed, ct_source *out);

/* Writes pictures 0..count-1 as DIR/captchas/NAME.png and DIR/labels/all_labels.json; with components also
 * DIR/components/NAME_background.png and NAME_piece.png (RGBA), all of the picture's size. NAME is
 * Pic%04d_Bgx{}Bgy{}_Sdx{}Sdy{}_{hash8}: background, rounded centres of gap and piece, hash of the pixels. DIR is
 * created; one that is not empty is an error (CT_EIO) unless overwrite. */
typedef struct ct_slider_written {
    int64_t images;
    double draw_s;       /* processor time of all threads that went into drawing */
    double total_s;      /* and into everything */
} ct_slider_written;
ct_status ct_slider_write(const ct_slider_params *p, uint64_t seed, int64_t count, const char *dir, bool overwrite,
                          bool components, int threads, ct_slider_written *out);

/* `captrain gen slider`, as ct_task.generate has it: options style, without_style, backgrounds, width, height,
 * components, json. */
ct_status ct_slider_generate(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                             int threads, bool force, FILE *to);

#endif
