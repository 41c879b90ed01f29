/* Inside src/models only: what finds two points in the maps of a trunk. */
#ifndef CT_MODELS_NECK_H
#define CT_MODELS_NECK_H

#include "models/blocks.h"

enum { CT_NECK_MAPS = 4 }; /* at strides 4, 8, 16, 32 */

typedef struct ct_neck {
    int64_t channels;  /* of the maps in the neck, a multiple of 4 */
    ct_block_act act;  /* behind its 3x3 convolutions */
    int64_t fine;      /* channels of the finest map; 0: as of the others */
    bool match;        /* cells of the last but one map are compared with the piece of their row */
    int64_t head;      /* channels in front of the outputs */
    bool shared;       /* the four outputs stand behind one 3x3 convolution, not behind one each */
} ct_neck;

/* Names of what the heads give, for the rows of models. */
#define CT_NECK_OUTPUTS { "heat_gap_logit", "heat_piece_logit", "offset", "angle" }

/* Sides in multiples of 32 pixels, and a mask beside the picture. CT_ECONFIG. */
ct_status ct_neck_check(const ct_model_spec *spec);

/* Maps x[k] [N, H/s, W/s, C_k] at strides s = 4, 8, 16, 32 -> at stride 4, h = H/4 and w = W/4:
 * out[0] heat_gap_logit [N,h,w,1] and out[1] heat_piece_logit [N,h,w,1]: their sigmoid is how much a cell looks like
 * the centre of the gap and of the piece; 0.1 everywhere at the start, so that a loss over thousands of empty cells
 * begins small,
 * out[2] offset [N,h,w,4]: (dx, dy) of the gap and of the piece from the cell's middle, in cells, within +-0.5,
 * out[3] angle [N,h,w,2]: (sin, cos) of the gap's rotation. */
ct_status ct_neck_build(const ct_builder *b, const ct_neck *n, const ct_val x[CT_NECK_MAPS], ct_val out[]);

#endif
