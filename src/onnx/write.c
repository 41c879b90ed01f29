/* A trained model as a graph of ONNX: from the operators of its evaluation graph, node by node. Pictures are
 * [N,C,H,W] there and [N,H,W,C] here, and clips [N,C,F,H,W] and [N*F,H,W,C]. */
#include "config.h"

#include "onnx/writer.h"

#include <string.h>

/* ---- nodes ---- */

/* Which of the forms that a value may have in the file a layer with weights reads. */
static bool of_pixels(ct_onnx_kind f)
{
    return f == CT_ONNX_MAP || f == CT_ONNX_CLIP || f == CT_ONNX_TIMES;
}

static ct_status write_node(ct_onnx_writer *w)
{
    const ct_onnx_kind form = ct_onnx_at(w, 0).form;
    switch (w->in->op) {
    case CT_OP_CONV2D: return of_pixels(form) ? ct_onnx_write_conv(w) : ct_onnx_beyond(w, "of no picture");
    case CT_OP_LINEAR:
        return form == CT_ONNX_SAME || form == CT_ONNX_MEANS ? ct_onnx_write_linear(w)
                                                             : ct_onnx_beyond(w, "of a picture");
    case CT_OP_BATCHNORM_INFER: return ct_onnx_write_norm(w);
    case CT_OP_ACTIVATION: return ct_onnx_write_activation(w);
    case CT_OP_MAXPOOL2D: return ct_onnx_write_pool(w);
    case CT_OP_GLOBAL_AVGPOOL: return ct_onnx_write_mean(w);
    case CT_OP_RESHAPE: return ct_onnx_write_reshape(w);
    case CT_OP_LSTM: return ct_onnx_write_lstm(w);
    case CT_OP_SWAP: return ct_onnx_write_swap(w);
    case CT_OP_ADD: return ct_onnx_write_add(w);
    case CT_OP_MUL: return ct_onnx_write_mul(w);
    case CT_OP_SCALE: return ct_onnx_write_scale(w);
    case CT_OP_SCALE_CHANNELS: return ct_onnx_write_scale_channels(w);
    case CT_OP_CONCAT_CHANNELS: return ct_onnx_write_concat(w);
    case CT_OP_SLICE_CHANNELS: return ct_onnx_write_slice(w);
    case CT_OP_UPSAMPLE_BILINEAR:
    case CT_OP_UPSAMPLE_NEAREST: return ct_onnx_write_upsample(w);
    case CT_OP_FUSE_WEIGHTED: return ct_onnx_write_fuse(w);
    case CT_OP_L2_NORMALIZE: return ct_onnx_write_unit(w);
    case CT_OP_STANDARDIZE: return ct_onnx_write_standardize(w);
    case CT_OP_DFT_MAGNITUDE: return ct_onnx_write_spectrum(w);
    default: return ct_onnx_beyond(w, "");
    }
}

/* ---- the file ---- */

/* What the file is, beside its graph. */
static ct_status write_head(ct_onnx_writer *w)
{
    Onnx__ModelProto *m = w->k->model;
    const int64_t o = w->form->opset;
    Onnx__OperatorSetIdProto *set = ct_onnx_take(w->k, sizeof *set);
    Onnx__OperatorSetIdProto **list = ct_onnx_take(w->k, sizeof *list);
    m->producer_name = ct_onnx_text(w->k, "captrain");
    m->producer_version = ct_onnx_text(w->k, "%s", PACKAGE_VERSION);
    m->graph->name = ct_onnx_text(w->k, "%s", w->use->session.spec.model.name);
    if (w->k->status != CT_OK) return w->k->status;
    onnx__operator_set_id_proto__init(set);
    m->has_ir_version = set->has_version = true;
    m->ir_version = o <= 11 ? 6 : o <= 14 ? 7 : o <= 18 ? 8 : 9; /* the oldest that has the operator set */
    set->version = o;
    set->domain = ct_onnx_text(w->k, "%s", "");
    list[0] = set;
    m->n_opset_import = 1;
    m->opset_import = list;
    return ct_onnx_write_text(w->k, w->use, w->form);
}

/* The model, and of its outputs those that leave: [outputs of the file] in the task's order. */
static ct_status build_model(ct_onnx_writer *w, const ct_leaving *l, ct_val *x, ct_val leaves[CT_MODEL_OUTPUTS])
{
    const ct_model_spec *m = &w->use->session.spec.model;
    const int64_t pictures = ct_model_clip(m) ? w->samples * m->frames : w->samples;
    const ct_model_info *info = ct_model_find(m->name);
    ct_val out[CT_MODEL_OUTPUTS];
    if (!info) return CT_ECONFIG;
    CT_TRY(ct_graph_input(w->g, "x", ct_desc4(m->dtype, pictures, m->height, m->width, m->channels), x));
    CT_TRY(ct_model_build(w->g, m, *x, CT_NOVAL, false, out));
    for (int i = 0; i < CT_MODEL_OUTPUTS && l->output[i].name; i++) {
        int k = 0;
        while (k < ct_model_outputs(m) && strcmp(info->output[k], l->output[i].output) != 0) k++;
        if (k == ct_model_outputs(m))
            return ct_fail(CT_EUNSUPPORTED, "export: %s has no output %s", m->name, l->output[i].output);
        leaves[i] = out[k];
        ct_graph_keep(w->g, leaves[i]);
    }
    return ct_pass_dead(w->g);
}

static ct_status write_graph(ct_onnx_writer *w, const ct_leaving *l)
{
    ct_val x, leaves[CT_MODEL_OUTPUTS];
    CT_TRY(build_model(w, l, &x, leaves));
    w->at = ct_onnx_take(w->k, w->g->nvalues * sizeof *w->at);
    w->done = ct_onnx_take(w->k, w->g->nnodes * sizeof *w->done);
    if (w->k->status != CT_OK) return w->k->status;
    CT_TRY(ct_onnx_write_input(w, x));
    for (size_t i = 0; i < w->g->nnodes && w->k->status == CT_OK; i++) {
        w->in = &w->g->nodes[i];
        if (!w->done[i]) CT_TRY(write_node(w));
    }
    for (int i = 0; w->k->status == CT_OK && i < CT_MODEL_OUTPUTS && l->output[i].name; i++)
        CT_TRY(ct_onnx_write_output(w, &l->output[i], leaves[i]));
    return w->k->status;
}

ct_status ct_onnx_write(ct_onnx_maker *k, ct_model_use *use, const ct_onnx_form *form)
{
    ct_onnx_writer w = { .k = k, .use = use, .form = form, .samples = 2 };
    const ct_leaving *l = use->file.task->leaving;
    if (!l)
        return ct_fail(CT_EUNSUPPORTED,
                       "export: %s cannot be written as ONNX: task %s does not say what others read of its models; "
                       "--format safetensors writes its weights",
                       use->session.spec.model.name, use->file.task->name);
    ct_status st = write_head(&w);
    if (st == CT_OK) st = ct_graph_create(&w.g);
    if (st == CT_OK) st = write_graph(&w, l);
    ct_graph_free(w.g);
    return st;
}
