/* captrain gen: labelled pictures from the generators. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "captrain.h"
#include "synth/text.h"

static ct_status set_params(const ct_gen_opts *o, ct_text_params *p)
{
    CT_TRY(ct_text_params_init(p, o->style ? o->style : "simple"));
    if (o->charset) {
        if (strlen(o->charset) >= sizeof p->charset)
            return ct_fail(CT_ECONFIG, "--charset: %zu bytes, at most %zu", strlen(o->charset), sizeof p->charset - 1);
        snprintf(p->charset, sizeof p->charset, "%s", o->charset);
    }
    if (o->length_min) p->length_min = o->length_min;
    if (o->length_max) p->length_max = o->length_max;
    if (o->width) p->width = o->width;
    if (o->height) p->height = o->height;
    CT_TRY(ct_text_params_fonts(p, o->fonts, o->nfonts));
    return ct_text_params_sizes(p, o->sizes, o->nsizes);
}

ct_status ct_run_gen(const ct_gen_opts *o, FILE *to)
{
    if (o->style && strcmp(o->style, "list") == 0) {
        for (int i = 0; ct_text_style_name(i); i++) fprintf(to, "%-10s%s\n", ct_text_style_name(i), ct_text_style_doc(i));
        return CT_OK;
    }
    if (!o->out || o->count < 1) return ct_fail(CT_EINVAL, "gen: needs a folder and a count of at least 1");
    ct_text_params p;
    CT_TRY(set_params(o, &p));
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = o->threads > 0 ? o->threads : cores > 0 ? (int)cores : 1;
    CT_TRY(ct_synth_text_write(&p, o->seed, o->count, o->out, o->force, threads));
    ct_info("wrote %lld images of %dx%d pixels to %s", (long long)o->count, p.width, p.height, o->out);
    return CT_OK;
}
