/* Keys of the task of sign language against each other, and what follows from its models. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <string.h>

#include "config/config.h"
#include "base/paths.h"
#include "config/internal.h"

/* What models of the task read unless keys say otherwise. */
static const struct { const char *name; int64_t width, height; } models[] = { { "tfnet", 224, 224 },
                                                                              { "tfnet-small", 64, 64 } };
enum { MODELS = sizeof models / sizeof models[0] };

static bool given(const ct_config *cfg, const char *key) { return ct_config_origin(cfg, key) != NULL; }

static size_t model_of(const ct_config *cfg)
{
    size_t k = 0;
    while (k < MODELS && strcmp(models[k].name, cfg->model.name) != 0) k++;
    return k;
}

void ct_config_note_gloss(ct_config *cfg, const ct_config *defaults, ct_problems *p, ct_config_teller *tell)
{
    static const char *const keys[] = { "loss.kd_temperature", "loss.kd_mask", "loss.kd_detach", "loss.kd_weight",
                                        "loss.ctc_weights", "data.train_labels", "data.val_labels", "data.test_labels",
                                        "data.vocab", "data.max_frames", "data.frames_step", "augment.tempo",
                                        "data.synth.words", "data.synth.signers", "data.synth.glosses_min",
                                        "data.synth.glosses_max", "dataset.crop_size" };
    enum { WITHOUT_KD = 3, GENERATED = 12, LAST = 16 };
    const bool here = model_of(cfg) < MODELS;
    if (!here)
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            tell(cfg, defaults, p, keys[k], "only models of sign language read it");
    else if (!(cfg->loss.kd_weight > 0))
        for (size_t k = 0; k < WITHOUT_KD; k++) tell(cfg, defaults, p, keys[k], "loss.kd_weight is 0");
    const bool drawn = strncmp(cfg->data.train, "synth:", 6) == 0;
    for (size_t k = GENERATED; here && !drawn && k < LAST; k++)
        tell(cfg, defaults, p, keys[k], "nothing is drawn");
}

/* dataset.crop_size of the program it comes from is what both sides are resized to. */
static void derive_sides(ct_config *cfg, int64_t width, int64_t height)
{
    const bool square = given(cfg, "dataset.crop_size") && cfg->info->crop_size > 0;
    if (!given(cfg, "data.width")) cfg->data.width = square ? cfg->info->crop_size : width;
    if (!given(cfg, "data.height")) cfg->data.height = square ? cfg->info->crop_size : height;
}

static void check_clips(ct_config *cfg, ct_problems *p)
{
    const ct_cfg_synth *y = &cfg->data.synth;
    const struct { const char *key, *path; } set[] = { { "data.train", cfg->data.train }, { "data.val", cfg->data.val },
                                                       { "data.test", cfg->data.test } };
    for (size_t k = 0; k < sizeof set / sizeof *set; k++)
        if (ct_paths_several(set[k].path))
            ct_problem(p, ct_config_place(cfg, set[k].key, NULL),
                       "%s: a list; models of sign language take one folder of clips with one label file", set[k].key);
    if (y->glosses_min > y->glosses_max)
        ct_problem(p, ct_config_place(cfg, "data.synth.glosses_min", "data.synth.glosses_max"),
                   "data.synth.glosses_min is %lld but data.synth.glosses_max is %lld", (long long)y->glosses_min,
                   (long long)y->glosses_max);
    if (cfg->data.frames_step % 4 != 0)
        ct_problem(p, ct_config_place(cfg, "data.frames_step", NULL),
                   "data.frames_step: must be a multiple of 4, the frames of a time step (got %lld)",
                   (long long)cfg->data.frames_step);
    if (cfg->data.synth.fresh && strncmp(cfg->data.train, "synth:", 6) == 0)
        ct_problem(p, ct_config_place(cfg, "data.synth.fresh", NULL),
                   "data.synth.fresh: clips are drawn once, before the training; only pictures can be new in every "
                   "epoch");
    if (!(cfg->loss.ctc_weights.v[4] > 0))
        ct_problem(p, ct_config_place(cfg, "loss.ctc_weights", NULL),
                   "loss.ctc_weights: the last of the five, of the scores that are read, must be above 0");
}

void ct_config_check_gloss(ct_config *cfg, ct_problems *p)
{
    const size_t k = model_of(cfg);
    if (k == MODELS) return;
    if (!given(cfg, "data.train")) ct_config_replace(&cfg->data.train, "synth:gestures", p);
    if (!given(cfg, "data.channels") && !given(cfg, "model.input_channels")) cfg->data.channels = 3;
    derive_sides(cfg, models[k].width, models[k].height);
    check_clips(cfg, p);
}
