/* Measured choices of implementations without a file: train.tune: auto, and the cache it keeps.
 *
 * The cache is one file for each backend, device, driver, set of libraries and set of options, in the folder "tune" of
 * the user's cache: a file of choices (doc/formats.md) whose made_for says what it holds for. One that is damaged or
 * was made by another captrain is said, passed over and written anew. */
#ifndef CT_MEASURE_TUNE_H
#define CT_MEASURE_TUNE_H

#include <string.h>

#include "config/config.h"
#include "exec/exec.h"
#include "measure/measure.h"

#define CT_TUNE_SECONDS 0.2 /* at most, for each way to compute a call; a few dozen runs end it before */

static inline bool ct_tune_is_auto(const ct_config *cfg) { return strcmp(cfg->train.tune, "auto") == 0; }

/* The fastest way to compute each of these calls on the device that opts describe: from the cache, or measured now and
 * added to it. Calls that can be computed in one way only have no row. *out: ct_choices_free(). A cache that cannot be
 * written is a warning; CT_ESIGNAL when a signal asked to end, after what was measured has been kept. */
ct_status ct_tune_auto(const ct_backend *b, const ct_device_opts *opts, const ct_call_list *calls, ct_choices **out);

/* All that the cache has for this device; none where there is no cache. Measures nothing. */
ct_status ct_tune_cached(const ct_backend *b, const ct_device_opts *opts, ct_choices **out);

#endif
