/* Textures that drawn backgrounds are made of: periodic tiles, made once for a generator, sampled bilinearly. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "task/slider/synth/internal.h"

enum { MASK = CT_TILE - 1, SIDE = CT_TILE };

/* Adds a lattice of random values, cell pixels apart, smoothly interpolated, times `weight`. */
static void add_octave(ct_rng *r, int cell_x, int cell_y, float weight, float *to)
{
    float node[SIDE / 2 * SIDE / 2];
    const int nx = SIDE / cell_x, ny = SIDE / cell_y;
    for (int i = 0; i < nx * ny; i++) node[i] = ct_between(r, -1, 1) * weight;
    for (int y = 0; y < SIDE; y++) {
        const int j = y / cell_y, j1 = (j + 1) % ny;
        const float fy = ((float)(y % cell_y) + 0.5f) / (float)cell_y, ty = fy * fy * (3 - 2 * fy);
        for (int x = 0; x < SIDE; x++) {
            const int i = x / cell_x, i1 = (i + 1) % nx;
            const float fx = ((float)(x % cell_x) + 0.5f) / (float)cell_x, tx = fx * fx * (3 - 2 * fx);
            const float a = node[j * nx + i] + (node[j * nx + i1] - node[j * nx + i]) * tx;
            const float b = node[j1 * nx + i] + (node[j1 * nx + i1] - node[j1 * nx + i]) * tx;
            to[y * SIDE + x] += a + (b - a) * ty;
        }
    }
}

static void add_octaves(ct_rng *r, int cell_x, int cell_y, float fall, float *to)
{
    for (float weight = 1; cell_x >= 2 && cell_y >= 2; weight *= fall, cell_x /= 2, cell_y /= 2)
        add_octave(r, cell_x, cell_y, weight, to);
}

/* Distances to the nearest and second nearest of points, one in every square of 16 pixels. */
static void cells(ct_rng *r, float *first, float *second)
{
    enum { CELL = 16, N = SIDE / CELL };
    float px[N * N], py[N * N];
    for (int i = 0; i < N * N; i++) {
        px[i] = ct_between(r, 0, CELL);
        py[i] = ct_between(r, 0, CELL);
    }
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float best = 1e9f, next = 1e9f;
            for (int k = 0; k < 25; k++) {
                const int cx = x / CELL + k % 5 - 2, cy = y / CELL + k / 5 - 2;
                const int i = (cy & (N - 1)) * N + (cx & (N - 1));
                const float dx = (float)(cx * CELL) + px[i] - (float)x, dy = (float)(cy * CELL) + py[i] - (float)y;
                const float d = dx * dx + dy * dy;
                if (d < best) {
                    next = best;
                    best = d;
                } else if (d < next) {
                    next = d;
                }
            }
            first[y * SIDE + x] = sqrtf(best);
            second[y * SIDE + x] = sqrtf(next);
        }
}

/* Ellipses of all sizes that hide each other, the way things in photographs do. */
static void leaves(ct_rng *r, float *to)
{
    for (int i = 0; i < 1600; i++) {
        const float size = 2.5f / sqrtf(ct_between(r, 0.015, 1)), slim = ct_between(r, 0.35, 1);
        const double turn = ct_rng_uniform(r, 0, CT_PI);
        const float c = (float)cos(turn), s = (float)sin(turn), value = ct_between(r, -1, 1);
        const float tilt = ct_between(r, -0.5, 0.5);
        const int mx = (int)ct_rng_below(r, SIDE), my = (int)ct_rng_below(r, SIDE), reach = (int)ceilf(size);
        for (int y = -reach; y <= reach; y++)
            for (int x = -reach; x <= reach; x++) {
                const float u = ((float)x * c + (float)y * s) / size, v = ((float)y * c - (float)x * s) / (size * slim);
                const float e = u * u + v * v;
                if (e < 1) to[((my + y) & MASK) * SIDE + ((mx + x) & MASK)] = value + tilt * v;
            }
    }
}

/* To bytes: mean 128, `spread` the standard deviation. */
static void store(const float *from, double spread, uint8_t *to)
{
    double sum = 0, square = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        sum += from[i];
        square += (double)from[i] * from[i];
    }
    const double mean = sum / (SIDE * SIDE), sd = sqrt(square / (SIDE * SIDE) - mean * mean);
    const float scale = (float)(spread / sd), shift = (float)(128.5 - mean * spread / sd);
    for (int i = 0; i < SIDE * SIDE; i++) to[i] = (uint8_t)ct_clampf(from[i] * scale + shift, 0, 255);
}

ct_status ct_tiles_make(uint64_t seed, ct_tiles *t)
{
    static const int n = SIDE * SIDE;
    float *a = ct_malloc(2 * sizeof *a * SIDE * SIDE, "textures"), *b = a ? a + SIDE * SIDE : NULL;
    if (!a) return CT_ENOMEM;
    for (int k = 0; k < CT_TILES; k++) {
        ct_rng r;
        ct_slider_lot(&r, seed, CT_LOT_TILES, (uint64_t)k);
        memset(a, 0, sizeof *a * SIDE * SIDE);
        switch (k) {
        case CT_TILE_SMOOTH: add_octave(&r, 32, 32, 1, a); break;
        case CT_TILE_CLOUD: add_octaves(&r, 64, 64, 0.55f, a); break;
        case CT_TILE_RIDGE:
            add_octaves(&r, 64, 64, 0.5f, a);
            for (int i = 0; i < n; i++) a[i] = -fabsf(a[i]);
            break;
        case CT_TILE_GRAIN:
            add_octave(&r, 2, 2, 0.6f, a);
            for (int i = 0; i < n; i++) a[i] += ct_between(&r, -1, 1);
            break;
        case CT_TILE_CELLS:
        case CT_TILE_CRACKS:
            cells(&r, a, b);
            for (int i = 0; k == CT_TILE_CRACKS && i < n; i++) a[i] = fminf(b[i] - a[i], 4);
            break;
        case CT_TILE_STREAKS: add_octaves(&r, 128, 8, 0.7f, a); break;
        default: leaves(&r, a); break;
        }
        store(a, 48, t->px[k]);
    }
    ct_free(a);
    return CT_OK;
}

ct_cloth ct_cloth_lay(const ct_tiles *t, enum ct_tile_kind kind, ct_rng *r, double step, double stretch, double angle)
{
    const double c = cos(angle), s = sin(angle), along = step / stretch;
    return (ct_cloth){ .px = t->px[kind],
                       .u = (int32_t)(ct_rng_u32(r) >> 8),
                       .v = (int32_t)(ct_rng_u32(r) >> 8),
                       .ux = (int32_t)(65536 * along * c),
                       .uy = (int32_t)(65536 * along * s),
                       .vx = (int32_t)(65536 * step * -s),
                       .vy = (int32_t)(65536 * step * c) };
}

void ct_cloth_row(const ct_cloth *c, int x, int y, int n, int16_t *out)
{
    uint32_t u = (uint32_t)c->u + (uint32_t)x * (uint32_t)c->ux + (uint32_t)y * (uint32_t)c->uy;
    uint32_t v = (uint32_t)c->v + (uint32_t)x * (uint32_t)c->vx + (uint32_t)y * (uint32_t)c->vy;
    if (c->ux == 65536 && c->vx == 0 && !((u | v) & 0xffff)) { /* as it is */
        const uint8_t *row = c->px + (v >> 16 & MASK) * SIDE;
        for (int i = 0; i < n; i++) out[i] = (int16_t)(row[((u >> 16) + (uint32_t)i) & MASK] - 128);
        return;
    }
    for (int i = 0; i < n; i++, u += (uint32_t)c->ux, v += (uint32_t)c->vx) {
        const int iu = u >> 16 & MASK, iv = v >> 16 & MASK, fu = u >> 8 & 255, fv = v >> 8 & 255;
        const uint8_t *top = c->px + iv * SIDE, *low = c->px + ((iv + 1) & MASK) * SIDE;
        const int iu1 = (iu + 1) & MASK;
        const int a = top[iu] * 256 + (top[iu1] - top[iu]) * fu, b = low[iu] * 256 + (low[iu1] - low[iu]) * fu;
        out[i] = (int16_t)(((a * 256 + (b - a) * fv) >> 16) - 128);
    }
}
