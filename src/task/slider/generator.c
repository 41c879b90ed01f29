/* Drawn sliders as the samples of a run. */
#include "config.h"

#include "task/slider/draw.h"
#include "task/slider/slider.h"

static ct_status params_of(const ct_config *cfg, ct_slider_params *p)
{
    const ct_cfg_synth *y = &cfg->data.synth;
    ct_slider_params_init(p);
    p->width = (int)y->width;
    p->height = (int)y->height;
    ct_status st = ct_slider_params_styles(p, (const char *const *)y->styles.v, y->styles.n,
                                           (const char *const *)y->without_styles.v, y->without_styles.n);
    if (st != CT_OK) return ct_fail_context(st, "data.synth.styles, data.synth.without_styles");
    st = ct_slider_params_confusions(p, (const char *const *)y->confusions.v, y->confusions.n);
    if (st != CT_OK) return ct_fail_context(st, "data.synth.confusions");
    if (!*y->backgrounds) return CT_OK;
    st = ct_slider_params_backgrounds(p, y->backgrounds);
    return st == CT_OK ? CT_OK : ct_fail_context(st, "data.synth.backgrounds");
}

static ct_status open_generator(const ct_config *cfg, const ct_facts *facts, ct_source *source, ct_labels **labels)
{
    ct_slider_params p;
    *labels = NULL;
    CT_TRY(params_of(cfg, &p));
    CT_TRY(ct_slider_labels(cfg, facts, labels));
    const ct_status st = ct_slider_source(&p, (uint64_t)cfg->data.synth.seed, source);
    if (st == CT_OK) return CT_OK;
    ct_labels_close(*labels);
    *labels = NULL;
    return st;
}

const ct_generator ct_slider_generator = {
    .name = "synth:slider",
    .doc = "slider puzzles as data.synth.* describe them",
    .open = open_generator,
};
