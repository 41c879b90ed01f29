/* The text task: pictures of text, read as text. What its files know of each other; others know ct_task_text alone. */
#ifndef CT_TASK_TEXT_TEXT_H
#define CT_TASK_TEXT_TEXT_H

#include "config/config.h"
#include "synth/text.h"
#include "task/task.h"
#include "task/text/label.h"
#include "task/text/reader.h"

extern const ct_task ct_task_text;

/* The task's ct_facts. */
struct ct_text_facts {
    ct_charset charset; /* characters; a model with a blank has one class more */
    int positions;      /* characters per label; for a CTC model the columns of every set's labels */
};
const struct ct_text_facts *ct_text_facts(const ct_facts *facts);

/* ---- text.c: configuration, facts, options ---- */

/* Does the model of the configuration (model.name) read text of any length? It then has time steps, by which labels
 * are judged. */
bool ct_text_sequence(const ct_config *cfg);
/* What rules from a configuration point to. */
typedef struct ct_text_given {
    ct_charset charset; /* to be freed: ct_charset_free() */
    ct_model_spec model;
} ct_text_given;
/* How the data.* keys and the model of cfg say that labels are read. facts NULL: the folder decides what cfg leaves
 * open. The rules point into facts and *own. */
ct_status ct_text_rules_config(const ct_config *cfg, const ct_facts *facts, ct_text_given *own, ct_text_rules *out);

/* ---- generator.c: drawn pictures as data and as files ---- */

extern const ct_generator ct_text_generator;

/* Generator parameters of data.synth.*, data.charset and the geometry keys, with lengths that the model can read.
 * CT_ECONFIG naming the key. */
ct_status ct_text_generator_params(const ct_config *cfg, ct_text_params *out);
/* A source of drawn pictures, which owns what it needs. */
ct_status ct_text_source(const ct_text_params *p, uint64_t seed, ct_source *out);
/* A reader for its labels: by `rules`, with the characters and lengths of p. */
ct_status ct_text_drawn_labels(const ct_text_params *p, const ct_text_rules *rules, ct_labels **out);
/* ct_task.generate. */
ct_status ct_text_generate(const ct_pair *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                           int threads, bool force, FILE *to);

#endif
