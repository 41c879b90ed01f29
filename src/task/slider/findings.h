/* What a scoring pass finds of sliders. Pixels: "letterbox" ones are those of CT_SLIDER_WIDTH x CT_SLIDER_HEIGHT
 * pictures, "original" ones those of the stored pictures. The error of a point is the mean of |dx| and |dy|, that of a
 * sample the mean of gap and piece; the distance is what a slider has to be moved: from the piece's x to the gap's. */
#ifndef CT_TASK_SLIDER_FINDINGS_H
#define CT_TASK_SLIDER_FINDINGS_H

#include "task/slider/goal.h"
#include "task/slider/slider.h"

/* Metric slots: what point_sums counts, in its order. First letterbox pixels, then the same in original ones. */
enum {
    CT_SLIDER_SUM_ERROR, CT_SLIDER_SUM_SQUARE, CT_SLIDER_SUM_GAP, CT_SLIDER_SUM_PIECE, CT_SLIDER_SUM_1,
    CT_SLIDER_SUM_2, CT_SLIDER_SUM_5, CT_SLIDER_PIXEL_SUMS,
    CT_SLIDER_SUM_DISTANCE = 2 * CT_SLIDER_PIXEL_SUMS, CT_SLIDER_SUM_DISTANCE_2, CT_SLIDER_SUM_DISTANCE_5,
    CT_SLIDER_SUM_COUNTED, CT_SLIDER_SUMS
};

enum { CT_SLIDER_METRICS = 7 };
extern const ct_metric_row ct_slider_metrics[CT_SLIDER_METRICS];

/* The same numbers of a part of the samples, of sums [CT_SLIDER_PIXEL_SUMS] over n of them, as members of `into`. */
ct_status ct_slider_numbers(const double *sums, double n, json_t *into);

typedef struct ct_slider_found {
    double at[2][2];        /* gap, piece: x, y in pixels of the set */
    double conf[2];         /* probabilities of their cells */
    double angle;           /* degrees, counter-clockwise */
    double error[2][2];     /* of gap and piece, in letterbox and in original pixels: [kind][point] */
    double distance;        /* error of the distance, original pixels */
} ct_slider_found;

/* A sample that the report shows. */
typedef struct ct_slider_kept {
    int64_t i;              /* place in the view; -1: nothing */
    double error;           /* letterbox pixels */
    uint8_t *heat;          /* [h,w,2] 0..255, owned */
} ct_slider_kept;

enum { CT_SLIDER_BEST, CT_SLIDER_WORST, CT_SLIDER_RANDOM, CT_SLIDER_KEPT };

typedef struct ct_slider_findings {
    ct_findings base;
    ct_slider_found *f;     /* [view.n] */
    double unit;            /* letterbox pixels per pixel of the set */
    double sums[CT_SLIDER_SUMS]; /* as the host counts */
    ct_slider_kept *kept[CT_SLIDER_KEPT]; /* [keep] each; best and worst first */
    int keep[CT_SLIDER_KEPT];
    bool heatmaps;          /* the report shows them */
    bool turned;            /* the loss has a term for the angle */
    int map_h, map_w;       /* cells */
} ct_slider_findings;

static inline const ct_slider_findings *ct_slider_findings_of(const ct_findings *f)
{
    return (const ct_slider_findings *)f;
}
static inline double ct_slider_error(const ct_slider_found *f, int kind)
{
    return (f->error[kind][0] + f->error[kind][1]) / 2;
}

/* The label of sample i of the view. */
ct_status ct_slider_label_of(const ct_findings *f, int64_t i, ct_slider_label *out);
/* A place in the set as a place in the stored picture of sample i. */
void ct_slider_original(const ct_findings *f, int64_t i, const double at[2], double out[2]);

ct_status ct_slider_look(const ct_place *p, const ct_view *v, bool labels, const ct_option *option, size_t options,
                         ct_findings **out);
ct_status ct_slider_collect(ct_findings *f, const ct_outcome *o);
ct_status ct_slider_settle(ct_findings *f, double sums[CT_METRIC_COUNT]);
void ct_slider_drop(ct_findings *f);
bool ct_slider_right(const ct_findings *f, int64_t i);

/* eval.c */
ct_status ct_slider_eval_json(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into);
ct_status ct_slider_eval_text(const ct_findings *f, const double sums[CT_METRIC_COUNT], FILE *to);
/* The less sure of its two places. */
double ct_slider_confidence(const ct_findings *f, int64_t i);
ct_status ct_slider_predict_json(const ct_findings *f, int64_t i, json_t *into);
ct_status ct_slider_predict_text(const ct_findings *f, int64_t i, FILE *to);
ct_status ct_slider_reading(const ct_findings *f, int64_t i, ct_reading_draft *into);
ct_status ct_slider_result(const ct_findings *f, const double sums[CT_METRIC_COUNT], json_t *into);
ct_status ct_slider_example(const ct_findings *f, int64_t i, char **label, char **predicted);

/* leaving.c */
extern const ct_leaving ct_slider_leaving;

/* report.c */
ct_status ct_slider_report(const ct_findings *f, const double sums[CT_METRIC_COUNT], int64_t gallery, FILE *to);

#endif
