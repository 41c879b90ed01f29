/* Inside src/onnx: what a file is to be like, and the steps from a trained model to a file that was proved. */
#ifndef CT_ONNX_ONNX_H
#define CT_ONNX_ONNX_H

#include <stdbool.h>
#include <stdint.h>

#include "captrain.h"
#include "onnx/onnx.pb-c.h"
#include "weights/use.h"

#define CT_ONNX_OPSET 17
#define CT_ONNX_OPSET_LEAST 11
#define CT_ONNX_OPSET_MOST 20
#define CT_ONNX_CHANNELS (CT_IMAGE_CHANNELS + 1) /* of a picture, and its mask */
#define CT_ONNX_FILE_MOST ((size_t)2 << 30) /* bytes: no protobuf message is larger */

/* Who is to load the file. */
typedef enum ct_onnx_target {
    CT_ONNX_ANYONE,
    CT_ONNX_DDDDOCR_15, /* ids [1,T] and normalised input, as ddddocr 1.4 and 1.5 want it */
    CT_ONNX_DDDDOCR     /* scores [T,1,K] of pixels 0..1, as ddddocr 1.6 wants it */
} ct_onnx_target;

typedef struct ct_onnx_form {
    int64_t opset;
    ct_onnx_target target;
    bool inside; /* pixels 0..1 go in, the graph normalises them */
    bool fold;   /* batch norms into the layer before */
} ct_onnx_form;

/* Values of channel c that go into the graph are (v/255 - mean[c])/std[c]; of a mask, v being 0 or 255, v/255. */
typedef struct ct_onnx_affine {
    double mean[CT_ONNX_CHANNELS], std[CT_ONNX_CHANNELS];
} ct_onnx_affine;
/* What callers of such a file give it; and what the model itself takes. */
ct_onnx_affine ct_onnx_given(const ct_onnx_form *form, const ct_model_use *use);
ct_onnx_affine ct_onnx_wanted(const ct_model_use *use);

/* What samples of the model are called in messages: "picture", "clip". */
const char *ct_onnx_sample(const ct_model_use *use);

/* Of models with positions files for ddddocr have a blank row between two characters, since ddddocr takes equal
 * neighbours for one. */
bool ct_onnx_spread(const ct_onnx_form *form, const ct_model_use *use);

/* Bytes of a model, checked for what this program relies on; `source` names it. *out: ct_onnx_close(). CT_EFORMAT,
 * CT_EIO, CT_ENOMEM. */
ct_status ct_onnx_parse(const uint8_t *data, size_t size, const char *source, Onnx__ModelProto **out);
ct_status ct_onnx_open(const char *path, Onnx__ModelProto **out);
void ct_onnx_close(Onnx__ModelProto *m); /* NULL is fine */
/* A metadata property; NULL: there is none. */
const char *ct_onnx_meta(const Onnx__ModelProto *m, const char *key);

/* Whether two models are the same but for who produced them: CT_EDATA naming the first node, initializer, input, output
 * or property that differs in `is` (called `path`) from `must`. */
ct_status ct_onnx_compare(const char *path, const Onnx__ModelProto *must, const Onnx__ModelProto *is);

/* What a proof looked at. */
typedef struct ct_onnx_proof {
    int64_t samples, distinct; /* and so many different readings */
    double worst;              /* largest difference of two scores */
    char from[256];            /* where they are from */
} ct_onnx_proof;
/* Runs the model of the file and the model it was made of over pictures of the run's validation set, at most `most`,
 * and compares readings and scores. `use` has no programs yet. CT_EDATA naming the first picture and what differs. */
ct_status ct_onnx_prove(ct_model_use *use, const Onnx__ModelProto *m, const ct_onnx_form *form, const char *path,
                        int64_t most, ct_onnx_proof *out);

#endif
