/* Between text.c (parameters, fonts) and text_draw.c (pictures). */
#ifndef CT_SYNTH_TEXT_INTERNAL_H
#define CT_SYNTH_TEXT_INTERNAL_H

#include "synth/text.h"

typedef struct ct_font_file {
    char *path;
    uint8_t *data; /* [size] the whole file */
    size_t size;
} ct_font_file;

struct ct_text_gen {
    ct_text_params p;
    uint64_t seed;
    ct_charset charset;
    ct_font_file font[CT_TEXT_MAX_FONTS]; /* [p.n_fonts] */
    char key[33];
};

/* Checks that every font can be opened and has every character of the charset; CT_ECONFIG, CT_EFORMAT. */
ct_status ct_text_check_fonts(const ct_text_gen *g);

#endif
