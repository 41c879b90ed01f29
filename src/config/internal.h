/* What the files of this room share. */
#ifndef CT_CONFIG_INTERNAL_H
#define CT_CONFIG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "config/config.h"

#define CT_CONFIG_MAX_ERRORS 10   /* listed in one message; more are counted */
#define CT_CONFIG_MAX_DEPTH 16    /* nested maps and sequences */
#define CT_CONFIG_MAX_BYTES ((size_t)4 << 20)
#define CT_CONFIG_QUOTE 64        /* bytes of a text quoted in a message */

/* A scalar or a flat sequence of scalars as read, with its place. */
typedef struct ct_value {
    char *text;              /* scalar: NUL terminated; NULL for a sequence */
    bool quoted;             /* scalar in quotes or a block scalar: a string, whatever it looks like */
    bool is_list;
    bool nested;             /* a list with something other than scalars inside */
    size_t line, column;     /* from 1 */
    struct ct_value *item;   /* n elements of a list */
    size_t n;
} ct_value;

void ct_value_clear(ct_value *v);

/* Parses `v` for `row` and stores it in the field `field` (freeing what it held). On a bad value returns CT_ECONFIG
 * with the reason in err ("must be an int (got 'abc')"), nothing recorded; *bad is then the offending element or v.
 * CT_ENOMEM as usual. The field is unchanged on failure. */
ct_status ct_value_store(const ct_config_row *row, const ct_value *v, void *field, char *err, size_t err_size,
                         const ct_value **bad);

/* Frees what the field holds and leaves it empty (a string field NULL). */
void ct_value_free_field(const ct_config_row *row, void *field);
ct_status ct_value_copy_field(const ct_config_row *row, void *dst, const void *src); /* dst must be empty */
bool ct_value_equal_field(const ct_config_row *row, const void *a, const void *b);

/* The field as a YAML flow value (which is JSON, too, with json true: numbers, lists and quoted strings only).
 * ct_free(). NULL: CT_ENOMEM recorded. */
char *ct_value_format(const ct_config_row *row, const void *field, bool json);

/* `text` for a message: at most CT_CONFIG_QUOTE bytes, cut at a character, control characters as '?'. Returns buf. */
char *ct_config_quote(const char *text, char buf[CT_CONFIG_QUOTE + 4]);

/* Shortest decimal text that reads back as the same double; independent of the locale. buf of 32 bytes. */
char *ct_format_double(double v, char buf[32]);

struct ct_config_info {
    char **origin;     /* per row: "file.yaml:3:5" or "--set k=v"; NULL = default */
    int *layer;        /* per row: the layer (file 1, --set 2, ...) that set it last; 0 = default */
    int amp;           /* value of train.amp, valid if its origin is set */
    int64_t input_channels; /* of model.input_channels, likewise */
    double sched_warmup; /* of sched.warmup_epochs, likewise */
    int64_t ctc_blank;   /* of loss.ctc_blank_id: 0 */
    int64_t crop_size;   /* of dataset.crop_size, valid if its origin is set */
    int ctc_reduction;   /* of loss.ctc_reduction: 0, the mean */
    char **note;
    size_t notes, note_cap;
    size_t read_notes; /* of these, made while reading; the others are ct_config_finish's */
};

static inline void *ct_config_field(const ct_config *cfg, const ct_config_row *row)
{
    return (char *)(uintptr_t)cfg + row->offset;
}

/* ---- path.c ---- */

/* A path as a text of UTF-8: itself, or "bytes:..." where it is none. ct_free(). NULL: CT_ENOMEM recorded. */
char *ct_config_path_text(const char *path);
/* Back again. CT_ECONFIG with the reason in err, nothing recorded. */
ct_status ct_config_path_bytes(const char *text, char **path, char *err, size_t err_size);

/* ---- problems.c ---- */

/* Problems found so far. */
typedef struct ct_problems {
    char *text[CT_CONFIG_MAX_ERRORS];
    size_t count;      /* found; the first CT_CONFIG_MAX_ERRORS are kept */
    ct_status fatal;   /* CT_ENOMEM stops everything */
} ct_problems;

void ct_problem(ct_problems *p, const char *where, const char *fmt, ...) CT_PRINTF(3, 4);
ct_status ct_problems_report(ct_problems *p); /* CT_OK, or CT_ECONFIG/CT_ENOMEM recorded; empties p */

ct_status ct_config_add_note(ct_config *cfg, const char *fmt, ...) CT_PRINTF(2, 3);

/* ---- parse.c ---- */

/* Parses YAML text over cfg as layer 1, collecting problems. */
void ct_config_read_text(ct_config *cfg, const char *text, size_t size, const char *source, ct_problems *p);
/* One key, e.g. of --set: `where` is what messages start with. */
void ct_config_read_pair(ct_config *cfg, const char *key, const char *value, const char *where, int layer,
                         ct_problems *p);
/* The same with the row that the key has. */
void ct_config_read_row(ct_config *cfg, const ct_config_row *row, const char *key, const char *value, const char *where,
                        int layer, ct_problems *p);

/* ---- check.c, check_text.c, check_slider.c, check_gloss.c ---- */

/* Derives what follows from other keys and checks combinations. May be called again. */
void ct_config_finish(ct_config *cfg, ct_problems *p);

/* Its part about the text task. */
void ct_config_check_text(const ct_config *cfg, ct_problems *p);
/* Its part about the slider task: what a model of it reads unless keys say so. */
void ct_config_check_slider(ct_config *cfg, ct_problems *p);
/* Notes a key that was changed from its default but has no effect in this combination. */
typedef void ct_config_teller(ct_config *cfg, const ct_config *defaults, ct_problems *p, const char *key,
                              const char *why);
/* Its part about the task of sign language. */
void ct_config_check_gloss(ct_config *cfg, ct_problems *p);
/* A string of the configuration becomes another one. */
void ct_config_replace(char **field, const char *value, ct_problems *p);
/* Tells of keys that only that task reads where another's model is trained. */
void ct_config_note_slider(ct_config *cfg, const ct_config *defaults, ct_problems *p, ct_config_teller *tell);
void ct_config_note_gloss(ct_config *cfg, const ct_config *defaults, ct_problems *p, ct_config_teller *tell);
bool ct_config_generated(const ct_config *cfg); /* data.train is a generator */

/* ---- config.c ---- */

ct_status ct_config_new(ct_config **out); /* all defaults, not finished */

/* ---- schema.c ---- */

size_t ct_config_row_index(const ct_config_row *row); /* of a row of the table: ct_config_row_at(index) is row */

#endif
