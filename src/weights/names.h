/* What the tensors of another program's file are called here. */
#ifndef CT_WEIGHTS_NAMES_H
#define CT_WEIGHTS_NAMES_H

#include "graph/graph.h"
#include "weights/name_map.h"
#include "weights/state.h"

/* How another program calls the tensors of models that are here, too, and how it normalises. */
typedef struct ct_name_preset {
    const char *name;          /* "crnn.pytorch" */
    const char *models;        /* words: those it is for */
    const char *const *rules;  /* "OLD=NEW", NULL behind the last */
    const char *mean, *std;    /* values of data.mean and data.std */
    int64_t channels;          /* of these */
} ct_name_preset;

/* CT_ECONFIG for an unknown name, or one that is for other models. */
ct_status ct_name_preset_find(const char *name, const char *model, const ct_name_preset **out);

/* A tensor that a rule "OLD=" leaves nothing of is left out. */
static inline bool ct_name_left_out(const char *name) { return name[0] == '\0' || name[0] == '.'; }

/* Counters that training leaves and nothing here needs: num_batches_tracked, n_averaged. */
bool ct_name_is_counter(const ct_state_tensor *t);

/* Names of all tensors of s, by the rules in `map`; then, where all begin with it and none of the model's do, without
 * what wrappers put in front (module., _orig_mod., model.), which is said; then, what no rule has renamed, by them once
 * more and by the preset's (NULL: none).
 * `model` has the model's weights. *out: [ct_state_count(s)], each and the whole ct_free(); NULL on failure. */
ct_status ct_names_make(const ct_state_file *s, const ct_name_map *map, const ct_name_preset *preset,
                        const ct_graph *model, char ***out);
void ct_names_free(char **name, size_t n); /* NULL is fine */

#endif
