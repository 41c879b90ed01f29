#include "config.h"

#include "models/torch_map.h"

#include <string.h>

ct_desc ct_torch_desc(const ct_value *v)
{
    ct_desc d = v->desc;
    if (v->layout == CT_PARAM_FILTER && d.ndim == 4) {
        d.dim[1] = v->desc.dim[3];
        d.dim[2] = v->desc.dim[1];
        d.dim[3] = v->desc.dim[2];
    } else if (v->layout == CT_PARAM_FILTER1D && d.ndim == 4) {
        d.ndim = 3;
        d.dim[1] = v->desc.dim[3];
        d.dim[3] = 0;
    } else if (v->layout == CT_PARAM_TRANSPOSED && d.ndim == 2) {
        d.dim[0] = v->desc.dim[1];
        d.dim[1] = v->desc.dim[0];
    }
    return d;
}

/* All layouts that differ are a swap of channels and pixels within each of the outermost rows: theirs
 * [rows][channels][pixels], ours [rows][pixels][channels]. False: same order. */
static bool swapped(const ct_value *v, int64_t *rows, int64_t *channels, int64_t *pixels)
{
    *rows = v->desc.dim[0];
    switch (v->layout) {
    case CT_PARAM_FILTER:
    case CT_PARAM_FILTER1D:
        *channels = v->desc.dim[3];
        *pixels = v->desc.dim[1] * v->desc.dim[2];
        break;
    case CT_PARAM_FLATTEN:
        *channels = v->hwc[2];
        *pixels = v->hwc[0] * v->hwc[1];
        break;
    case CT_PARAM_TRANSPOSED:
        *rows = 1;
        *channels = v->desc.dim[1];
        *pixels = v->desc.dim[0];
        break;
    case CT_PARAM_PLAIN: return false;
    }
    return true;
}

/* out[r][b][a] = in[r][a][b], elements of e bytes. */
static void transpose(const char *in, char *out, int64_t rows, int64_t na, int64_t nb, size_t e)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t a = 0; a < na; a++)
            for (int64_t b = 0; b < nb; b++)
                memcpy(out + (size_t)((r * nb + b) * na + a) * e, in + (size_t)((r * na + a) * nb + b) * e, e);
}

void ct_from_torch(const ct_value *v, size_t elem_bytes, const void *theirs, void *ours)
{
    int64_t rows = 1, channels = 1, pixels = 1;
    if (swapped(v, &rows, &channels, &pixels)) transpose(theirs, ours, rows, channels, pixels, elem_bytes);
    else memcpy(ours, theirs, (size_t)ct_desc_numel(&v->desc) * elem_bytes);
}

void ct_to_torch(const ct_value *v, size_t elem_bytes, const void *ours, void *theirs)
{
    int64_t rows = 1, channels = 1, pixels = 1;
    if (swapped(v, &rows, &channels, &pixels)) transpose(ours, theirs, rows, pixels, channels, elem_bytes);
    else memcpy(theirs, ours, (size_t)ct_desc_numel(&v->desc) * elem_bytes);
}
