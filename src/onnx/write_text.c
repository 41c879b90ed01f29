/* What a file of ONNX says of its model in words. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "onnx/write.h"

static ct_status put(void *user, const char *key, const char *value)
{
    ct_onnx_maker *k = user;
    ct_onnx_property(k, key, value);
    return k->status;
}

static void put_number(ct_onnx_maker *k, const char *key, int64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, n);
    ct_onnx_property(k, key, text);
}

static void put_list(ct_onnx_maker *k, const char *key, const double *v, int64_t n)
{
    char text[CT_ONNX_CHANNELS * 32] = "";
    for (int64_t i = 0; i < n; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.9g", i ? "," : "", v[i]);
    }
    ct_onnx_property(k, key, text);
}

/* All symbols with a newline between two, as RapidOCR reads them; nothing where a symbol is a newline. */
static ct_status put_symbols(ct_onnx_maker *k, const ct_task *task, const ct_facts *facts)
{
    char buf[CT_SYMBOL_BYTES];
    const size_t n = task->symbols ? task->symbols(facts) : 0;
    size_t used = 0, size = 1;
    for (size_t i = 0; i < n; i++) {
        const char *s = task->symbol(facts, i, buf);
        if (strchr(s, '\n')) return CT_OK;
        size += strlen(s) + 1;
    }
    char *all = ct_onnx_take(k, size);
    for (size_t i = 0; all && i < n; i++)
        used += (size_t)sprintf(all + used, "%s%s", i ? "\n" : "", task->symbol(facts, i, buf));
    if (all && n > 0) ct_onnx_property(k, "character", all);
    return k->status;
}

/* How a picture gets to the model's size, beyond the rule's name; how a clip gets its frames. */
static void put_geometry(ct_onnx_maker *k, const ct_model_use *use)
{
    const ct_cfg_data *d = &use->file.cfg->data;
    const ct_clip_rule *clip = ct_model_clip(&use->session.spec.model);
    if (d->size_rule == CT_CFG_SIZE_FIT_HEIGHT) put_number(k, "width_step", d->width_step);
    if (d->size_rule == CT_CFG_SIZE_LETTERBOX) put_list(k, "fill", &use->session.spec.image.fill, 1);
    if (d->crop > 0) {
        put_number(k, "resize_height", d->height);
        put_number(k, "resize_width", d->width);
    }
    if (!clip) return;
    put_number(k, "clip_front", clip->front);
    put_number(k, "clip_extra", clip->extra);
    put_number(k, "clip_multiple", clip->multiple);
}

ct_status ct_onnx_write_text(ct_onnx_maker *k, const ct_model_use *use, const ct_onnx_form *form)
{
    static const char *const rule[] = { [CT_CFG_SIZE_RESIZE] = "resize",
                                        [CT_CFG_SIZE_REFUSE] = "refuse",
                                        [CT_CFG_SIZE_FIT_HEIGHT] = "fit_height",
                                        [CT_CFG_SIZE_LETTERBOX] = "letterbox" };
    static const char *const target[] = { "", "ddddocr-1.5", "ddddocr" };
    const ct_model_spec *m = &use->session.spec.model;
    const ct_leaving *l = use->file.task->leaving;
    const bool symbols = ct_model_head(m) == CT_HEAD_CTC || ct_onnx_spread(form, use); /* and a blank between them */
    const ct_onnx_affine given = ct_onnx_given(form, use);
    const ct_place place = {
        .cfg = use->file.cfg, .facts = use->file.facts, .model = m, .goal = &use->session.spec.goal
    };
    ct_onnx_property(k, "model", m->name);
    ct_onnx_property(k, "task", use->file.task->name);
    ct_onnx_property(k, "captrain", ct_version());
    put_number(k, "height", m->height);
    put_number(k, "width", m->width);
    put_number(k, "channels", m->channels);
    ct_onnx_property(k, "size_rule", rule[use->file.cfg->data.size_rule]);
    put_geometry(k, use);
    ct_onnx_property(k, "normalise", form->inside ? "inside" : "outside");
    put_list(k, "mean", given.mean, m->channels);
    put_list(k, "std", given.std, m->channels);
    ct_onnx_property(k, "decoder", l->decoder ? l->decoder : symbols ? "ctc" : "positions");
    ct_onnx_property(k, "batch_norms", form->fold ? "folded" : "kept");
    if (form->target != CT_ONNX_ANYONE) ct_onnx_property(k, "for", target[form->target]);
    if (symbols) CT_TRY(put_symbols(k, use->file.task, use->file.facts));
    if (use->file.task->write) CT_TRY(use->file.task->write(&place, put, k));
    if (l->write) CT_TRY(l->write(&place, put, k));
    return k->status;
}
