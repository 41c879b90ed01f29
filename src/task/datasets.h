/* The data sets of a run: from the configuration's data.* keys to validated samples. */
#ifndef CT_TASK_DATASETS_H
#define CT_TASK_DATASETS_H

#include "config/config.h"
#include "data/dataset.h"
#include "synth/text.h"
#include "task/task.h"

#define CT_SYNTH_TEXT "synth:text"

typedef struct ct_datasets {
    ct_dataset *set[3];   /* train, val, test as opened; NULL where there is none */
    ct_subset kept, held; /* of a split data.train */
    ct_view train, val, test;
    ct_charset charset; /* characters; a model with a blank has one class more */
    int positions;      /* characters per label; for a CTC model the columns of every set's labels */
} ct_datasets;

/* Does the model of the configuration (model.name) read text of any length? It then has ct_model_steps(), by which
 * labels are judged. */
bool ct_datasets_sequence(const ct_config *cfg);

/* How the data.* keys and the model of cfg say that pictures and labels are read, for any folder. charset may be NULL.
 * positions: characters per label, 0 for any; a CTC model takes data.length for the most instead. Strings, and the
 * callback's user pointer, stay cfg's. */
void ct_datasets_spec(const ct_config *cfg, const char *path, const ct_charset *charset, int positions,
                      ct_dataset_spec *out);

/* Opens what data.train, data.val, data.test say. Without data.val: synth:text gives data.synth.val_count images behind
 * the training ones, a folder is split by data.val_fraction and train.seed. The training set decides charset and length
 * where the configuration leaves them open. All labels must have the same length, unless the model is a CTC model: then
 * they may have any up to data.length, if that is given, and positions is data.length, or the longest of all sets.
 * CT_EDATA, CT_ECONFIG, CT_EIO with the sample or key named. */
ct_status ct_datasets_open(const ct_config *cfg, ct_datasets *out);
void ct_datasets_close(ct_datasets *d); /* empties */

/* Opens one set to be scored by a model: a folder, or "synth:text" for images of the model's generator that it was
 * neither trained nor selected on (behind training and validation images). For a CTC model its labels have at least
 * `positions` columns, but as many as the longest label needs: the programs that score it must be built for
 * ct_dataset_label_len(). */
ct_status ct_datasets_open_scored(const ct_config *cfg, const char *path, const ct_charset *charset, int positions,
                                  ct_dataset **out);

/* Generator parameters of data.synth.* and the geometry keys, with lengths that the model can read. */
ct_status ct_datasets_synth_params(const ct_config *cfg, ct_text_params *out);

/* Warns about samples of b whose pixels also occur in a (by hash); returns how many in *shared. */
ct_status ct_datasets_shared(const ct_view *a, const ct_view *b, int64_t *shared);

/* 32 hex digits over pixels' key, labels and the subset: what a checkpoint remembers of the data. */
ct_status ct_view_key(const ct_view *v, char out[33]);

#endif
