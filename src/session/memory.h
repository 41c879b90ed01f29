/* Whether what is planned fits the device's memory: decided before anything is allocated. */
#ifndef CT_SESSION_MEMORY_H
#define CT_SESSION_MEMORY_H

#include "config/config.h"
#include "program/program.h"

/* Largest micro-batch, 1..most, whose step fits into `memory` bytes; 0 if not even one sample's does. `slack`
 * 0: exactly; else at most that share of it smaller, which takes fewer plans. Where a larger batch
 * takes less, since calls divide it among threads in other parts, it is one that fits, and the next larger does not. */
ct_status ct_memory_largest(const ct_program_spec *spec, const ct_backend *b, const ct_device_opts *opts,
                            int64_t most, int64_t memory, double slack, int64_t *fits);

/* Gives a planned store, whose plans are all made, its memory (ct_arenas_commit). CT_ENOMEM if the plans need more than
 * the device has free, or if it turns out not to be there: the message has both numbers, who holds the memory if the
 * backend knows, and with `spec` the largest batch that fits. `key`: what the user calls the batch, "train.batch_size"
 * or "--batch". */
ct_status ct_memory_take(ct_arenas *store, const ct_program_spec *spec, const char *key);

/* The largest batch whose step fits nine tenths of the device's free memory, within two percent, a multiple of 8 from 8
 * on, at most `samples`. Logs it as `what`. CT_ENOMEM if not one sample fits, CT_EUNSUPPORTED if the backend does not
 * know what is free. */
ct_status ct_memory_auto_batch(const ct_program_spec *spec, const ct_backend *b, const ct_device_opts *opts,
                               int64_t samples, const char *what, int64_t *batch);
/* Puts that number in place of train.batch_size: auto, for a training as cfg says on `samples` samples; changes nothing
 * if cfg has a number. The other arguments are those of ct_spec_from_config(). Specifications made of cfg before hold
 * strings that are gone then. */
ct_status ct_memory_auto(ct_config *cfg, const ct_facts *facts, int src_h, int src_w, int64_t frames,
                         const ct_backend *b, const ct_device_opts *opts, int64_t samples);

#endif
