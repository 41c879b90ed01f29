#include "config.h"

#include "base/shortest.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 17 }; /* digits that tell any double from its neighbours */

/* v = 0.d1 d2 d3 ... * 10^point */
typedef struct decimal {
    bool negative;
    int n, point;
    char digit[MOST + 1];
} decimal;

/* The decimal of n digits that is nearest to v. What stands between the digits, the point, is the locale's. */
static void round_to(double v, int n, decimal *d)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", n - 1, fabs(v));
    const char *e = strchr(text, 'e');
    d->negative = signbit(v);
    d->n = 0;
    for (const char *p = text; p < e; p++)
        if (*p >= '0' && *p <= '9' && d->n < MOST) d->digit[d->n++] = *p;
    d->point = atoi(e + 1) + 1;
}

/* The next larger decimal of as many digits; one of nines gets shorter. */
static void step_up(decimal *d)
{
    int i = d->n - 1;
    while (i >= 0 && d->digit[i] == '9') d->digit[i--] = '0';
    if (i >= 0) {
        d->digit[i]++;
        return;
    }
    d->digit[0] = '1';
    d->point++;
}

/* What it reads back as. Without a point, so that the locale has no say. */
static double value(const decimal *d, bool single)
{
    char text[64];
    snprintf(text, sizeof text, "%s%.*se%d", d->negative ? "-" : "", d->n, d->digit, d->point - d->n);
    return single ? (double)strtof(text, NULL) : strtod(text, NULL);
}

/* Among the decimals of n digits the nearest one is the one to try, and the one above it where the numbers below v lie
 * closer than those above: at powers of two. A decimal of up to DBL_DIG (FLT_DIG) digits is v rounded to so many, zeros
 * behind it; that does not hold for denormal numbers, which have fewer. */
static void shortest(double v, bool single, decimal *d)
{
    int exponent;
    const bool power = fabs(frexp(v, &exponent)) == 0.5, normal = fabs(v) >= (single ? (double)FLT_MIN : DBL_MIN);
    for (int n = !normal ? 1 : single ? FLT_DIG : DBL_DIG;; n++) {
        round_to(v, n, d);
        if (n >= MOST || value(d, single) == v) break;
        if (!power) continue;
        step_up(d);
        if (value(d, single) == v) break;
    }
    while (d->n > 1 && d->digit[d->n - 1] == '0') d->n--;
}

char *ct_shortest(double v, char buf[CT_SHORTEST_BYTES])
{
    decimal d;
    char *p = buf;
    shortest(v, false, &d);
    if (d.negative) *p++ = '-';
    if (v == 0) {
        strcpy(p, "0.0");
    } else if (d.point < -3 || d.point > 16) {
        *p++ = d.digit[0];
        if (d.n > 1) *p++ = '.';
        snprintf(p, CT_SHORTEST_BYTES - 3, "%.*se%d", d.n - 1, d.digit + 1, d.point - 1);
    } else {
        if (d.point <= 0) *p++ = '0';
        for (int i = 0; i < d.point; i++) *p++ = i < d.n ? d.digit[i] : '0';
        *p++ = '.';
        for (int i = d.point; i < 0; i++) *p++ = '0';
        for (int i = d.point > 0 ? d.point : 0; i < d.n; i++) *p++ = d.digit[i];
        if (p[-1] == '.') *p++ = '0';
        *p = '\0';
    }
    return buf;
}

double ct_shortest_float(float v)
{
    decimal d;
    if (!isfinite(v) || v == 0) return (double)v;
    shortest((double)v, true, &d);
    return value(&d, false);
}
