/* Opening a trained model for use. */
#include "config.h"

#include "weights/use.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "program/spec.h"

ct_status ct_model_use_begin(ct_model_use *use, const char *path, const ct_common *common)
{
    char why[256] = "";
    ct_program_spec spec;
    memset(use, 0, sizeof *use);
    CT_TRY(ct_model_path(path, &use->path));
    CT_TRY(ct_model_file_open(use->path, &use->file));
    ct_config *cfg = use->file.cfg;
    if (common->backend) CT_TRY(ct_config_set(cfg, "train.backend", common->backend, "--backend"));
    CT_TRY(ct_spec_from_config(cfg, use->file.facts, (int)cfg->data.height, (int)cfg->data.width, 0, 1, &spec));
    spec.accumulate = 1;
    const ct_device_opts opts = { .threads = common->threads,
                                  .exact = cfg->train.exact,
                                  .eager = !cfg->train.graph,
                                  .deterministic = cfg->train.deterministic };
    /* Where the model was trained says nothing about where it is used: train.backend of the file does not count. */
    const char *backend = common->backend ? cfg->train.backend : "auto";
    CT_TRY(ct_session_begin(&use->session, &spec, false, backend, &opts, why, sizeof why));
    if (*why) ct_debug("%s", why);
    return CT_OK;
}

ct_status ct_model_use_ready(ct_model_use *use)
{
    CT_TRY(ct_session_ready(&use->session));
    return ct_checkpoint_load_weights(&use->session, use->file.st, use->path, use->file.prefix, false);
}

void ct_model_use_end(ct_model_use *use)
{
    ct_session_end(&use->session);
    ct_model_file_close(&use->file);
    ct_free(use->path);
    use->path = NULL;
}
