/* Places and maps of cells, shared by every backend: in which cell a place lies, what the Gaussian about it is worth,
 * how a map is read between its cells, and how far a prediction is from the truth. All in f64, rounded once by whoever
 * stores it.
 *
 * Pixel i covers [i,i+1) of either axis, and a cell is stride x stride pixels: with u = x/stride, cell floor(u) holds
 * x, and the cell's value lies at u = cell + 0.5. A NaN in either coordinate says that there is no such point. */
#ifndef CT_OPS_MATH_POINTS_MATH_H
#define CT_OPS_MATH_POINTS_MATH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "ops/math/exp_math.h"
#include "ops/math/image_math.h"

#define CT_DECODE_LEAST 0.01 /* least share of picture of any pixel of a cell that may be chosen */

/* The cell of coordinate x (pixels) on a line of n cells, -1 if it lies outside or is a NaN; *offset: from the cell's
 * middle, in cells of [-0.5, 0.5). */
CT_HD static inline int64_t ct_cell_of(double x, int64_t stride, int64_t n, double *offset)
{
    const double u = x / (double)stride;
    *offset = 0;
    if (!(u >= 0 && u < (double)n)) return -1;
    const int64_t cell = (int64_t)u;
    *offset = u - (double)cell - 0.5;
    return cell;
}

/* Coordinate (pixels) of what lies `offset` cells from the middle of a cell: the way back. */
CT_HD static inline double ct_cell_place(int64_t cell, double offset, int64_t stride)
{
    return (double)stride * ((double)cell + 0.5 + offset);
}

/* Cells on either side of the middle one that a Gaussian of sigma cells is drawn on. */
CT_HD static inline int64_t ct_heat_radius(double sigma) { return (int64_t)(3 * sigma); }

/* What a Gaussian of peak 1 is worth `distance` cells from its middle along one axis; the product of both axes is the
 * heat. */
CT_HD static inline double ct_heat_weight(int64_t distance, double sigma)
{
    const double d = (double)distance;
    return exp(-d * d / (2 * sigma * sigma));
}

/* Offset that a cell `distance` cells beyond the point's is to have along one axis, where the point's own has `offset`: as
 * far towards the point as offsets reach. */
CT_HD static inline double ct_heat_offset(int64_t distance, double offset)
{
    const double d = offset - (double)distance;
    return d < -0.5 ? -0.5 : d > 0.5 ? 0.5 : d;
}

/* The four cells of a map of h x w cells about (x,y), with cover 0 for an absent point, whose cells are not to be read. */
CT_HD static inline ct_image_point ct_map_locate(double x, double y, int64_t stride, int64_t h, int64_t w)
{
    ct_image_point p = { 0, 0, 0, 0, 0, 0, 0 };
    if (isnan(x) || isnan(y)) return p;
    (void)ct_image_axis(x / (double)stride, w, &p.col0, &p.col1, &p.wc);
    (void)ct_image_axis(y / (double)stride, h, &p.row0, &p.row1, &p.wr);
    p.cover = 1;
    return p;
}

/* With which weight cell (i,j) counts at p. */
CT_HD static inline double ct_map_weight(const ct_image_point *p, int64_t i, int64_t j)
{
    const double row = (i == p->row0 ? 1 - p->wr : 0) + (i == p->row1 ? p->wr : 0);
    const double col = (j == p->col0 ? 1 - p->wc : 0) + (j == p->col1 ? p->wc : 0);
    return p->cover * row * col;
}

/* ---- point_sums ---- */

/* What is told of errors in one unit of length, in this order: sums of e, of its square, of the errors of point 0 and
 * of point 1, and the number of samples with e <= 1, 2, 5. */
enum { CT_POINT_ERRORS = 7, CT_POINT_SUMS = 2 * CT_POINT_ERRORS + 4 };

/* Adds those of a sample whose points are off by s0 and s1 = |dx| + |dy| pixels of the network, of which one is
 * times/over units. */
CT_HD static inline void ct_point_errors(double s0, double s1, double times, double over, double sum[CT_POINT_ERRORS])
{
    const double e0 = 0.5 * s0 * times / over, e1 = 0.5 * s1 * times / over, e = 0.25 * (s0 + s1) * times / over;
    sum[0] += e;
    sum[1] += e * e;
    sum[2] += e0;
    sum[3] += e1;
    sum[4] += e <= 1;
    sum[5] += e <= 2;
    sum[6] += e <= 5;
}

/* Adds one sample to the CT_POINT_SUMS numbers: pred and truth are (x,y) of point 0, then of point 1, in pixels of the
 * network, of which `scale` are one of the picture and one is `unit` of those that errors are told in first. */
CT_HD static inline void ct_point_count(const double pred[4], const double truth[4], double scale, double unit,
                                        double sum[CT_POINT_SUMS])
{
    double *distance = sum + 2 * CT_POINT_ERRORS;
    if (isnan(truth[0]) || isnan(truth[1]) || isnan(truth[2]) || isnan(truth[3])) return;
    const double s0 = fabs(pred[0] - truth[0]) + fabs(pred[1] - truth[1]);
    const double s1 = fabs(pred[2] - truth[2]) + fabs(pred[3] - truth[3]);
    const double d = fabs((pred[0] - pred[2]) - (truth[0] - truth[2])) / scale;
    ct_point_errors(s0, s1, unit, 1, sum);
    ct_point_errors(s0, s1, 1, scale, sum + CT_POINT_ERRORS);
    distance[0] += d;
    distance[1] += d <= 2;
    distance[2] += d <= 5;
    distance[3] += 1;
}

#endif
