/* Between style.c (styles), synth.c (parameters, fonts) and draw.c (pictures). */
#ifndef CT_TASK_TEXT_SYNTH_INTERNAL_H
#define CT_TASK_TEXT_SYNTH_INTERNAL_H

#include "task/text/synth/synth.h"

typedef struct ct_font_file {
    char *path;
    uint8_t *data; /* [size] the whole file */
    size_t size;
    bool borrowed; /* path and data belong to another style of the same mixed generator */
} ct_font_file;

struct ct_text_gen {
    ct_text_params p;
    uint64_t seed;
    uint32_t *cp; /* [letters] characters to draw from */
    int letters;
    ct_font_file font[CT_TEXT_MAX_FONTS]; /* [p.n_fonts] */
    char key[33];
    ct_text_gen *style[CT_TEXT_MAX_STYLES]; /* [n_styles] mixed: the generators of which one is drawn */
    int n_styles;
};

/* Parameters of style i as part of a mixed one: its look with the geometry, text, and where given fonts and sizes, of
 * *mixed. Style i must exist. */
ct_status ct_text_style_of_mixed(const ct_text_params *mixed, int i, ct_text_params *out);

/* A style's file (style_file.c): whether a name is one, and what it says over what stands in *p. */
bool ct_text_style_is_file(const char *style);
ct_status ct_text_style_read(const char *path, ct_text_params *p);

/* Checks that every font can be opened and has every character of the alphabet; CT_ECONFIG, CT_EFORMAT. */
ct_status ct_text_check_fonts(const ct_text_gen *g);

#endif
