/* Keys of the text task against each other. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <string.h>

#include "base/alloc.h"
#include "base/paths.h"
#include "base/text.h"
#include "config/config.h"
#include "config/internal.h"

/* The second place of the first character that stands in `s` (valid UTF-8) twice in *at; NULL: there is none. */
static ct_status repeated(const char *s, const char **at)
{
    uint32_t *seen = ct_calloc(0x110000 / 32, sizeof *seen, "characters of a charset"); /* a bit for each code point */
    *at = NULL;
    if (!seen) return CT_ENOMEM;
    while (*s && !*at) {
        const char *here = s;
        const int32_t cp = ct_utf8_next(&s);
        const uint32_t bit = UINT32_C(1) << (cp % 32);
        if (seen[cp / 32] & bit) *at = here;
        seen[cp / 32] |= bit;
    }
    ct_free(seen);
    return CT_OK;
}

static void check_charset(const ct_config *cfg, ct_problems *p)
{
    const ct_cfg_data *d = &cfg->data;
    const char *at = ct_config_place(cfg, "data.charset", NULL), *twice = NULL;
    const int64_t n = ct_utf8_len(d->charset);
    if (n < 0) {
        ct_problem(p, at, "data.charset is not valid UTF-8");
    } else if (n == 1) {
        ct_problem(p, at, "data.charset has only one character");
    } else if (repeated(d->charset, &twice) != CT_OK) {
        p->fatal = CT_ENOMEM;
    } else if (twice) {
        const char *end = twice;
        ct_utf8_next(&end);
        ct_problem(p, at, "data.charset has '%.*s' twice", (int)(end - twice), twice);
    }
    for (const char *c = d->charset; *c; c++)
        if ((d->letter_case == CT_CFG_CASE_UPPER && *c >= 'a' && *c <= 'z') ||
            (d->letter_case == CT_CFG_CASE_LOWER && *c >= 'A' && *c <= 'Z')) {
            ct_problem(p, at, "data.charset has '%c', which data.letter_case: %s folds away", *c,
                       d->letter_case == CT_CFG_CASE_UPPER ? "upper" : "lower");
            break;
        }
}

/* Lengths of generated labels. */
static void check_length(const ct_config *cfg, ct_problems *p)
{
    const ct_cfg_data *d = &cfg->data;
    const int64_t least = d->synth.length_min > 0 ? d->synth.length_min : d->synth.length;
    const int64_t most = d->synth.length_max > 0 ? d->synth.length_max : d->synth.length;
    const char *const most_key = least == most ? "data.synth.length" : "data.synth.length_max";
    if (least > most)
        ct_problem(p, ct_config_place(cfg, "data.synth.length_min", "data.synth.length_max"),
                   "data.synth.length_min is %lld, above %s, which is %lld", (long long)least,
                   d->synth.length_max > 0 ? "data.synth.length_max" : "data.synth.length", (long long)most);
    /* more may be meant: the most that a CTC model reads */
    else if (strcmp(d->train, "synth:text") == 0 && d->length > 0 && d->length < most)
        ct_problem(p, ct_config_place(cfg, "data.length", most_key),
                   "data.length is %lld but generated labels have %s%lld characters", (long long)d->length,
                   least == most ? "" : "up to ", (long long)most);
}

void ct_config_check_text(const ct_config *cfg, ct_problems *p)
{
    if (*cfg->data.labels && ct_paths_several(cfg->data.train))
        ct_problem(p, ct_config_place(cfg, "data.labels", NULL), "data.labels names the label file of one folder, "
                   "data.train is a list; label files stand in the list in their folders' place");
    check_charset(cfg, p);
    if (strlen(cfg->data.label_separator) > CT_CONFIG_SEPARATOR_BYTES)
        ct_problem(p, ct_config_place(cfg, "data.label_separator", NULL), "data.label_separator: longer than %d bytes",
                   CT_CONFIG_SEPARATOR_BYTES);
    check_length(cfg, p);
}
