/* How rows of the table of keys are written, and the parts that schema.c joins to the table. */
#ifndef CT_CONFIG_KEYS_H
#define CT_CONFIG_KEYS_H

#include <math.h>

#include "config/config.h"

#define INF HUGE_VAL

/* The name of a row is the path of its field. */
#define AT(field) .name = #field, .cls = CT_CLASS_KEY, .offset = offsetof(ct_config, field)
#define BOOL(field, d) AT(field), .type = CT_KEY_BOOL, .def = d
#define INT(field, d, lo, hi) AT(field), .type = CT_KEY_INT, .def = d, .min = lo, .max = hi
#define FLOAT(field, d, lo, hi) AT(field), .type = CT_KEY_FLOAT, .def = d, .min = lo, .max = hi
#define ENUM(field, d, v) AT(field), .type = CT_KEY_ENUM, .def = d, .values = v
#define CHOICE(field, d, v) AT(field), .type = CT_KEY_CHOICE, .def = d, .values = v
#define STRING(field, d) AT(field), .type = CT_KEY_STRING, .def = d
#define PATH(field, d) AT(field), .type = CT_KEY_PATH, .def = d
/* Or a list of them, kept as base/paths.h has several. */
#define PATHS(field, d) PATH(field, d), .list_max = 64
#define LIST(field, t, d, nlo, nhi, lo, hi) \
    AT(field), .type = t, .def = d, .list_min = nlo, .list_max = nhi, .min = lo, .max = hi
#define ABOVE .min_open = true
#define BELOW .max_open = true

/* Rows that stand together; the order within is that of the documentation. */
typedef struct ct_key_table {
    const ct_config_row *row;
    size_t n;
} ct_key_table;

#define CT_KEY_TABLE(rows) { rows, sizeof rows / sizeof rows[0] }

/* keys_text.c: what only models that read texts know. */
extern const ct_key_table ct_keys_text_model, ct_keys_text_labels, ct_keys_text_style, ct_keys_text_length,
    ct_keys_text_select;
/* keys_slider.c: what only models that find sliders know. */
extern const ct_key_table ct_keys_slider_geometry, ct_keys_slider_generated, ct_keys_slider_loss, ct_keys_slider_shown,
    ct_keys_slider_foreign;
/* keys_gloss.c: what only models that read sign language know. */
extern const ct_key_table ct_keys_gloss_labels, ct_keys_gloss_generated, ct_keys_gloss_tempo, ct_keys_gloss_loss;
/* keys_foreign.c: what other programs know. */
extern const ct_key_table ct_keys_foreign;

#endif
