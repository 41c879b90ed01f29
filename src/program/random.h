/* Random input for programs: what bench and profile compute with. */
#ifndef CT_PROGRAM_RANDOM_H
#define CT_PROGRAM_RANDOM_H

#include "program/program.h"

/* A batch for every input of a program, on the host; starts zeroed. */
typedef struct ct_random_batch {
    void *host[CT_MAX_PORTS]; /* of input k of the program; NULL for outputs */
} ct_random_batch;

/* Ready input of numbers in [0,1), zeros in channels of padding; fields as the task draws them; all time steps. A
 * function of the program alone. CT_EINVAL for programs that take pixels. */
ct_status ct_random_batch_make(const ct_program_spec *spec, const ct_program *p, ct_random_batch *out);
/* Uploads it. It may be changed or freed when the device's stream has got there. */
ct_status ct_random_batch_send(const ct_random_batch *b, const ct_program *p, ct_plan *plan);
void ct_random_batch_free(ct_random_batch *b); /* empties */

#endif
