/* What a run writes down while it goes: metrics.jsonl (one JSON object per event) and TensorBoard's file. */
#ifndef CT_RUN_JOURNAL_H
#define CT_RUN_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "formats/json.h"
#include "image/image.h"

typedef struct ct_journal ct_journal; /* NULL in what follows: nothing is written, as in all processes of a run but
                                         the first */

/* Opens RUN/metrics.jsonl and, with tensorboard, RUN/tensorboard/captrain.tfevents. keep_bytes < 0 starts both anew.
 * Otherwise a resumed run goes on behind the first keep_bytes bytes and optimizer step keep_step: later lines are cut
 * off, since those steps are done again, except "resume" events, which are kept as the run's history. */
ct_status ct_journal_open(const char *run, bool tensorboard, int64_t keep_bytes, int64_t keep_step, ct_journal **out);
void ct_journal_close(ct_journal *j); /* NULL is fine */

/* Writes one line: {"event": name, "time": seconds since 1970, ...fields}; takes over the reference to fields, also on
 * failure. It is on disk (as far as a killed process is concerned) when this returns. Numbers of "step" and "eval"
 * events also go to TensorBoard, and that the run has come to its "end". */
ct_status ct_journal_event(ct_journal *j, const char *name, json_t *fields);
/* What TensorBoard alone gets. `begin`: the keys of the run, by which it sorts and filters runs. */
ct_status ct_journal_begin(ct_journal *j, int64_t step, const ct_config *cfg);
/* A picture, scaled down where a side is longer than CT_JOURNAL_SIDE; `tag` says what it shows. */
#define CT_JOURNAL_SIDE 512 /* pixels */
ct_status ct_journal_picture(ct_journal *j, int64_t step, const char *tag, const ct_image *im);
/* Whether TensorBoard is told anything, and whether it has been told already how the run begins. */
bool ct_journal_shows(const ct_journal *j);
bool ct_journal_begun(const ct_journal *j);
/* fsync of metrics.jsonl. */
ct_status ct_journal_sync(ct_journal *j);
int64_t ct_journal_bytes(const ct_journal *j); /* length of metrics.jsonl now */

/* Reads metrics.jsonl; calls visit for every complete line. A broken last line is passed over, another broken line is
 * CT_EFORMAT with its number. A missing file has no lines. */
typedef ct_status ct_journal_visit(void *user, const char *event, const json_t *line);
ct_status ct_journal_read(const char *run, ct_journal_visit *visit, void *user);

#endif
