/* Whether the images of a training stay on the device: uploaded once, so that batches send indices, labels and nothing
 * else. The preprocessing operator takes its rows from wherever they lie, so the weights are the same bit for bit. */
#ifndef CT_SESSION_RESIDENT_H
#define CT_SESSION_RESIDENT_H

#include "config/config.h"
#include "exec/exec.h"
#include "program/program.h"
#include "task/datasets.h"

typedef struct ct_resident_facts {
    ct_cfg_resident key;
    bool far;          /* the device has memory of its own */
    bool drawn;        /* images are drawn anew in every epoch */
    bool clips;        /* samples are clips */
    bool files;        /* images are packed as files */
    int buckets;       /* widths of images */
    int64_t images, each; /* how many, and bytes of one */
    int64_t peak;      /* of the programs, bytes */
    int64_t available; /* bytes; 0: the device does not say */
} ct_resident_facts;

typedef struct ct_resident {
    bool yes;
    int64_t bytes;     /* of all images */
    char why[224];     /* of the choice, one line */
} ct_resident;

/* Kept free beside programs and images. */
static inline int64_t ct_resident_margin(int64_t available) { return available / 16; }

/* Chooses. CT_ECONFIG with the numbers where data.resident is true and it cannot be. */
ct_status ct_resident_choose(const ct_resident_facts *f, ct_resident *out);

/* What a data set says of itself. */
ct_resident_facts ct_resident_facts_of(const ct_dataset *data, ct_cfg_resident key);
/* Finds far, peak and available for a specification that is settled, by planning a step and asking the device, and
 * chooses. */
ct_status ct_resident_decide(ct_resident_facts *f, const ct_program_spec *spec, const ct_backend *backend,
                             const ct_device_opts *opts, ct_resident *out);

/* Uploads all images of a set into arena DATA of a store, which holds it. */
ct_status ct_resident_upload(ct_arenas *store, const ct_dataset *data);

#endif
