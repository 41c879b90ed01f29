/* Opening a trained model for use. */
#include "config.h"

#include "weights/use.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "program/spec.h"

ct_status ct_model_session(const ct_model_file *file, const ct_common *common, ct_session *out)
{
    char why[256] = "";
    ct_program_spec spec;
    const ct_config *cfg = file->cfg;
    memset(out, 0, sizeof *out);
    CT_TRY(ct_spec_from_config(cfg, file->facts, (int)cfg->data.height, (int)cfg->data.width, 0, 1, &spec));
    spec.accumulate = 1;
    const ct_device_opts opts = { .threads = common->threads,
                                  .exact = cfg->train.exact,
                                  .eager = !cfg->train.graph,
                                  .deterministic = cfg->train.deterministic };
    /* Where the model was trained says nothing about where it is used: train.backend of the file does not count. */
    CT_TRY(ct_session_begin(out, &spec, false, common->backend ? common->backend : "auto", &opts, why, sizeof why));
    if (*why) ct_debug("%s", why);
    return CT_OK;
}

ct_status ct_model_choose(ct_model_file *file, const ct_common *common)
{
    return common->backend ? ct_config_set(file->cfg, "train.backend", common->backend, "--backend") : CT_OK;
}

ct_status ct_model_use_begin(ct_model_use *use, const char *path, const ct_common *common)
{
    memset(use, 0, sizeof *use);
    CT_TRY(ct_model_path(path, &use->path));
    CT_TRY(ct_model_file_open(use->path, &use->file));
    CT_TRY(ct_model_choose(&use->file, common));
    return ct_model_session(&use->file, common, &use->session);
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
