/* The data sets of a run: from the configuration's data.* keys to validated samples. */
#ifndef CT_TASK_DATASETS_H
#define CT_TASK_DATASETS_H

#include "config/config.h"
#include "data/dataset.h"
#include "task/task.h"

typedef struct ct_datasets {
    const ct_task *task;  /* of the configuration's model */
    ct_facts *facts;      /* what the training set decided; owned */
    ct_dataset *set[3];   /* train, val, test as opened; NULL where there is none */
    ct_subset kept, held; /* of a split data.train */
    ct_view train, val, test;
} ct_datasets;

/* How the data.* keys and the task say that pictures are read, for any folder. Strings stay cfg's. */
void ct_datasets_spec(const ct_config *cfg, const ct_task *task, const char *path, ct_dataset_spec *out);
/* The generator that a path like "synth:text" names; *out NULL for a folder. CT_ECONFIG for one that there is not, or
 * that is another task's; the message lists them. */
ct_status ct_datasets_generator(const ct_task *task, const char *path, const ct_generator **out);

/* Opens what data.train, data.val, data.test say. Without data.val: a generator gives data.synth.val_count images
 * behind the training ones, a folder is split by data.val_fraction and train.seed. The training set decides the facts
 * as far as the configuration leaves them open; the task judges every set, and makes their fields agree. CT_EDATA,
 * CT_ECONFIG, CT_EIO with the sample or key named. */
ct_status ct_datasets_open(const ct_config *cfg, ct_datasets *out);
void ct_datasets_close(ct_datasets *d); /* empties */

/* Opens one set to be scored by a model with these facts: a folder, or a generator's name for images that the model
 * was neither trained nor selected on (behind training and validation images). The shapes of its fields are at least
 * those of the facts: the programs that score it must be built for what they are (ct_task.fit). */
ct_status ct_datasets_open_scored(const ct_config *cfg, const ct_task *task, const ct_facts *facts, const char *path,
                                  ct_dataset **out);

/* Warns about samples of b whose pixels also occur in a (by hash); returns how many in *shared. */
ct_status ct_datasets_shared(const ct_view *a, const ct_view *b, int64_t *shared);

/* 32 hex digits over pixels' key, fields and the subset: what a checkpoint remembers of the data. */
ct_status ct_view_key(const ct_view *v, char out[33]);

#endif
