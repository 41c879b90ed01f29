/* Keys of the task of sign language against each other, and what follows from its models. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <string.h>

#include "config/config.h"
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
    static const char *const keys[] = { "loss.ctc_weights", "loss.kd_weight", "loss.kd_temperature", "loss.kd_mask",
                                        "loss.kd_detach" };
    const bool here = model_of(cfg) < MODELS;
    if (here && cfg->loss.kd_weight > 0) return;
    for (size_t k = here ? 2 : 0; k < sizeof keys / sizeof keys[0]; k++)
        tell(cfg, defaults, p, keys[k], here ? "loss.kd_weight is 0" : "only models of sign language read it");
}

void ct_config_check_gloss(ct_config *cfg, ct_problems *p)
{
    const size_t k = model_of(cfg);
    if (k == MODELS) return;
    if (!given(cfg, "data.width")) cfg->data.width = models[k].width;
    if (!given(cfg, "data.height")) cfg->data.height = models[k].height;
    if (!given(cfg, "data.channels") && !given(cfg, "model.input_channels")) cfg->data.channels = 3;
    if (!(cfg->loss.ctc_weights.v[4] > 0))
        ct_problem(p, ct_config_place(cfg, "loss.ctc_weights", NULL),
                   "loss.ctc_weights: the last of the five, of the scores that are read, must be above 0");
}
