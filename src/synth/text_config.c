/* Generator parameters from outside: options and the keys of data.synth. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "synth/text.h"

ct_status ct_text_params_fonts(ct_text_params *p, const char *const *fonts, size_t n)
{
    if (n == 0) return CT_OK;
    if (n > CT_TEXT_MAX_FONTS)
        return ct_fail(CT_ECONFIG, "text generator: %zu fonts, at most %d are possible", n, CT_TEXT_MAX_FONTS);
    for (size_t i = 0; i < n; i++) {
        if (strlen(fonts[i]) >= sizeof p->fonts[i])
            return ct_fail(CT_ECONFIG, "text generator: the name of font %s is longer than %zu bytes", fonts[i],
                           sizeof p->fonts[i] - 1);
        snprintf(p->fonts[i], sizeof p->fonts[i], "%s", fonts[i]);
    }
    p->n_fonts = (int)n;
    return CT_OK;
}

ct_status ct_text_params_sizes(ct_text_params *p, const double *sizes, size_t n)
{
    if (n == 0) return CT_OK;
    if (n > CT_TEXT_MAX_SIZES)
        return ct_fail(CT_ECONFIG, "text generator: %zu font sizes, at most %d are possible", n, CT_TEXT_MAX_SIZES);
    memcpy(p->sizes, sizes, n * sizeof *sizes);
    p->n_sizes = (int)n;
    return CT_OK;
}

ct_status ct_text_params_config(const ct_config *cfg, ct_text_params *out)
{
    const ct_cfg_synth *y = &cfg->data.synth;
    ct_status st = ct_text_params_init(out, y->style);
    if (st != CT_OK) return ct_fail_context(st, "data.synth.style");
    out->width = (int)cfg->data.width;
    out->height = (int)cfg->data.height;
    out->channels = (int)cfg->data.channels;
    out->length_min = (int)(y->length_min > 0 ? y->length_min : y->length);
    out->length_max = (int)(y->length_max > 0 ? y->length_max : y->length);
    if (out->length_min > out->length_max)
        return ct_fail(CT_ECONFIG, "data.synth.length_min is %d, data.synth.length_max (or data.synth.length) is %d",
                       out->length_min, out->length_max);
    st = ct_text_params_fonts(out, (const char *const *)y->fonts.v, y->fonts.n);
    if (st != CT_OK) return ct_fail_context(st, "data.synth.fonts");
    st = ct_text_params_sizes(out, y->sizes.v, y->sizes.n);
    if (st != CT_OK) return ct_fail_context(st, "data.synth.sizes");
    if (*cfg->data.charset) {
        if (strlen(cfg->data.charset) >= sizeof out->charset)
            return ct_fail(CT_ECONFIG, "data.charset: longer than %zu bytes, which is all the generator takes",
                           sizeof out->charset - 1);
        snprintf(out->charset, sizeof out->charset, "%s", cfg->data.charset);
    }
    return CT_OK;
}
