/* How models of sliders leave for other programs: the maps that places are read from. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "task/slider/findings.h"

#define TURN 0.01 /* degrees that an angle may be off; a change of a score by 1e-4 is 0.006 */

static ct_status write(const ct_place *p, ct_status (*put)(void *user, const char *key, const char *value), void *user)
{
    char stride[16];
    snprintf(stride, sizeof stride, "%d", CT_SLIDER_STRIDE);
    CT_TRY(put(user, "stride", stride));
    return put(user, "align", p->goal->value[CT_SLIDER_ALIGN] > 0 ? "1" : "0");
}

/* The angle, where the loss taught it: elsewhere it is the direction of next to nothing. */
static const char *differs(const ct_findings *model, const ct_findings *file, int64_t i, char *buf, size_t size)
{
    const ct_slider_findings *t = ct_slider_findings_of(model);
    const double a = t->f[i].angle, b = ct_slider_findings_of(file)->f[i].angle;
    if (!t->turned || fabs(remainder(a - b, 360)) <= TURN || (isnan(a) && isnan(b))) return NULL;
    snprintf(buf, size, "an angle of %.3f degrees, the file one of %.3f", a, b);
    return buf;
}

const ct_leaving ct_slider_leaving = {
    .decoder = "points",
    .output = { { .name = "heat_gap_logit", .output = "heat_gap_logit" },
                { .name = "heat_piece_logit", .output = "heat_piece_logit" },
                { .name = "offset", .output = "offset" },
                { .name = "angle", .output = "angle", .where_read = true } },
    .write = write,
    .differs = differs,
};
