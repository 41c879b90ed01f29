/* TensorBoard event files: TFRecord framing (length, masked CRC32C, data, masked CRC32C; TensorFlow's
 * lib/io/record_writer) around Event messages (tfevents.proto, encoded with protobuf-c).
 * TensorBoard reads every file whose name contains "tfevents". */
#ifndef CT_FORMATS_TFEVENTS_H
#define CT_FORMATS_TFEVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ct_tfevents ct_tfevents;

/* Opens `path` for appending. keep_step < 0 starts a new file (an old one is replaced). keep_step >= 0 resumes: the
 * records of steps <= keep_step stay; from the first later or damaged record on (a killed run may have left half of
 * one), or from the end of a run that goes on, the file is cut, so the resumed run continues the curve; a missing file
 * is started. CT_EIO, CT_ENOMEM;
 * CT_EFORMAT if an existing file is no event file at all (it is left alone). *out: ct_tfevents_close(); NULL on
 * failure. */
ct_status ct_tfevents_open(const char *path, int64_t keep_step, ct_tfevents **out);

/* One point of curve `tag` at optimizer step `step`, with the present time. Buffered. CT_EIO, CT_ENOMEM. */
ct_status ct_tfevents_scalar(ct_tfevents *w, int64_t step, const char *tag, double value);

/* A picture, encoded. */
typedef struct ct_event_picture {
    const void *png; /* [bytes] */
    size_t bytes;
    int width, height, channels; /* pixels; 1 gray, 3 RGB */
} ct_event_picture;

/* One for the tab "Images". CT_EIO, CT_ENOMEM. */
ct_status ct_tfevents_picture(ct_tfevents *w, int64_t step, const char *tag, const ct_event_picture *picture);

/* What one of TensorBoard's plugins reads under its tag: `bytes` of it. CT_EIO, CT_ENOMEM. */
ct_status ct_tfevents_plugin(ct_tfevents *w, int64_t step, const char *tag, const char *plugin, const void *content,
                             size_t bytes);

/* ---- hparams: keys of runs beside each other (formats/tfevents_hparams.c) ---- */

typedef enum ct_hparam_type { CT_HPARAM_TEXT, CT_HPARAM_BOOL, CT_HPARAM_NUMBER } ct_hparam_type;

typedef struct ct_hparam {
    const char *name;
    ct_hparam_type type;
    const char *text; /* UTF-8 */
    double number;    /* of a bool 0 or 1 */
} ct_hparam;

/* That a run with these keys begins; that it has come to its end. Which of its numbers are metrics TensorBoard sees
 * from its curves, and which keys are worth a column from all runs it looks at. CT_EIO, CT_ENOMEM. */
ct_status ct_tfevents_begin(ct_tfevents *w, int64_t step, const ct_hparam *key, size_t keys);
ct_status ct_tfevents_end(ct_tfevents *w, int64_t step);
/* Whether the file tells already that the run begins. */
bool ct_tfevents_begun(const ct_tfevents *w);

ct_status ct_tfevents_flush(ct_tfevents *w);
ct_status ct_tfevents_close(ct_tfevents *w); /* flushes and frees, whatever it returns; NULL is fine */

/* Walks the scalars of an event file; used by the tests and by tools. `visit` returns CT_OK to go on. A damaged
 * record is CT_EFORMAT with its byte offset in the message, after the good ones before it have been visited. */
typedef ct_status ct_tfevents_visit(void *user, int64_t step, const char *tag, double value);
ct_status ct_tfevents_read(const char *path, ct_tfevents_visit *visit, void *user);

/* CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected; RFC 3720 appendix B.4). */
uint32_t ct_crc32c(const void *data, size_t bytes);

#endif
