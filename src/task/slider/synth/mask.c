/* Masks: coverage of an outline and the distance from it. Near the outline distances are exact, to the segments of the
 * polygon; coverage follows from them, so that an outline may lie anywhere between pixels. Deep inside they are summed
 * up from pixel to pixel. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "task/slider/synth/internal.h"

#define FAR 1e9f

enum { CROSSINGS = 24 }; /* of a row of pixels with the outline */

static int least(int a, int b) { return a < b ? a : b; }
static int most(int a, int b) { return a > b ? a : b; }

void ct_mask_free(ct_mask *m)
{
    if (!m) return;
    ct_free(m->buffer);
    ct_free(m->inside);
    *m = (ct_mask){ 0 };
}

/* The box: the outline with the band around it, as far as it lies in the picture. */
static ct_status place_box(const ct_outline *o, double x, double y, int w, int h, ct_mask *m)
{
    double extent[4];
    ct_outline_extent(o, extent);
    const double margin = CT_BAND + 1;
    m->x0 = most(0, (int)floor(x - extent[0] - margin));
    m->y0 = most(0, (int)floor(y - extent[1] - margin));
    m->w = least(w, (int)ceil(x + extent[2] + margin)) - m->x0;
    m->h = least(h, (int)ceil(y + extent[3] + margin)) - m->y0;
    if (m->w < 1 || m->h < 1) return ct_fail(CT_EINTERNAL, "slider generator: an outline outside of its picture");
    const size_t n = (size_t)m->w * (size_t)m->h;
    if (n > m->cap) {
        float *buffer = ct_aligned_alloc(2 * n * sizeof *buffer, "slider mask");
        uint8_t *inside = ct_malloc(n, "slider mask");
        if (!buffer || !inside) {
            ct_free(buffer);
            ct_free(inside);
            return CT_ENOMEM;
        }
        ct_mask keep = *m;
        ct_mask_free(m);
        *m = keep;
        m->buffer = buffer;
        m->inside = inside;
        m->cap = n;
    }
    m->alpha = m->buffer;
    m->dist = m->buffer + m->cap;
    return CT_OK;
}

/* Squares of the distances to one segment, from a to b in coordinates of the box, into those that are greater. */
static void near_segment(ct_mask *m, float ax, float ay, float bx, float by)
{
    const float dx = bx - ax, dy = by - ay, length = dx * dx + dy * dy;
    const float each = length > 0 ? 1 / length : 0;
    const int left = most(0, (int)floorf(fminf(ax, bx) - CT_BAND));
    const int right = least(m->w, (int)ceilf(fmaxf(ax, bx) + CT_BAND));
    const int top = most(0, (int)floorf(fminf(ay, by) - CT_BAND));
    const int bottom = least(m->h, (int)ceilf(fmaxf(ay, by) + CT_BAND));
    for (int y = top; y < bottom; y++) {
        float *row = m->dist + (size_t)y * (size_t)m->w;
        const float qy = (float)y + 0.5f - ay, along = qy * dy;
        for (int x = left; x < right; x++) {
            const float qx = (float)x + 0.5f - ax;
            float t = (qx * dx + along) * each;
            t = t < 0 ? 0 : t;
            t = t > 1 ? 1 : t;
            const float ex = qx - t * dx, ey = qy - t * dy, d = ex * ex + ey * ey;
            row[x] = d < row[x] ? d : row[x];
        }
    }
}

typedef struct edge { float ax, ay, bx, by; } edge;

static int edges_of(const ct_outline *o, float x, float y, edge e[CT_OUTLINE_MAX])
{
    for (int i = 0; i < o->n; i++) {
        const int first = i < o->outer ? 0 : o->outer, end = i < o->outer ? o->outer : o->n;
        const int k = i + 1 < end ? i + 1 : first;
        e[i] = (edge){ o->x[i] + x, o->y[i] + y, o->x[k] + x, o->y[k] + y };
    }
    return o->n;
}

/* Which pixels have their centres inside: between the first and second crossing of their row, third and fourth, ... */
static void fill_inside(ct_mask *m, const edge *e, int n)
{
    memset(m->inside, 0, (size_t)m->w * (size_t)m->h);
    for (int y = 0; y < m->h; y++) {
        float at[CROSSINGS];
        const float py = (float)y + 0.5f;
        int k = 0;
        for (int i = 0; i < n && k < CROSSINGS; i++) {
            if ((e[i].ay <= py) == (e[i].by <= py)) continue;
            const float x = e[i].ax + (py - e[i].ay) * (e[i].bx - e[i].ax) / (e[i].by - e[i].ay);
            int j = k++;
            for (; j > 0 && at[j - 1] > x; j--) at[j] = at[j - 1];
            at[j] = x;
        }
        for (int i = 0; i + 1 < k; i += 2) {
            const int from = most(0, (int)ceilf(at[i] - 0.5f)), to = least(m->w, (int)ceilf(at[i + 1] - 0.5f));
            if (to > from) memset(m->inside + (size_t)y * (size_t)m->w + from, 1, (size_t)(to - from));
        }
    }
}

static float nearer(float d, float neighbour, float step)
{
    return neighbour + step < d ? neighbour + step : d;
}

/* Depths behind the band, from those of the neighbours. */
static void deepen(ct_mask *m)
{
    const int w = m->w, h = m->h;
    const float diagonal = 1.41421356f;
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            float *d = m->dist + (size_t)y * (size_t)w + x;
            if (*d <= CT_BAND || !m->inside[(size_t)y * (size_t)w + x]) continue;
            float v = nearer(nearer(*d, d[-1], 1), d[-w], 1);
            *d = nearer(nearer(v, d[-w - 1], diagonal), d[-w + 1], diagonal);
        }
    for (int y = h - 2; y > 0; y--)
        for (int x = w - 2; x > 0; x--) {
            float *d = m->dist + (size_t)y * (size_t)w + x;
            if (*d <= CT_BAND || !m->inside[(size_t)y * (size_t)w + x]) continue;
            float v = nearer(nearer(*d, d[1], 1), d[w], 1);
            *d = nearer(nearer(v, d[w + 1], diagonal), d[w - 1], diagonal);
        }
}

/* Coverage from signed distances, and its centroid. */
static void cover(ct_mask *m, float soft)
{
    double sum = 0, sx = 0, sy = 0;
    m->deepest = 1;
    for (int y = 0; y < m->h; y++) {
        float *d = m->dist + (size_t)y * (size_t)m->w, *a = m->alpha + (size_t)y * (size_t)m->w;
        const uint8_t *in = m->inside + (size_t)y * (size_t)m->w;
        float row = 0, moment = 0;
        for (int x = 0; x < m->w; x++) {
            if (in[x]) {
                if (d[x] > m->deepest) m->deepest = d[x];
                d[x] = -d[x];
            }
            a[x] = ct_clampf(0.5f - d[x] / soft, 0, 1);
            row += a[x];
            moment += a[x] * ((float)x + 0.5f);
        }
        sum += row;
        sx += moment;
        sy += row * ((double)y + 0.5);
    }
    m->cx = m->x0 + sx / sum;
    m->cy = m->y0 + sy / sum;
}

ct_status ct_mask_make(const ct_outline *o, double x, double y, double soft, int w, int h, ct_mask *m)
{
    edge e[CT_OUTLINE_MAX];
    CT_TRY(place_box(o, x, y, w, h, m));
    const size_t n = (size_t)m->w * (size_t)m->h;
    const int edges = edges_of(o, (float)(x - m->x0), (float)(y - m->y0), e);
    for (size_t i = 0; i < n; i++) m->dist[i] = FAR;
    for (int i = 0; i < edges; i++) near_segment(m, e[i].ax, e[i].ay, e[i].bx, e[i].by);
    for (size_t i = 0; i < n; i++) m->dist[i] = sqrtf(m->dist[i]);
    fill_inside(m, e, edges);
    deepen(m);
    cover(m, (float)soft);
    return CT_OK;
}
