/* CTC files: losses and gradients that PyTorch computed in f64, computed here and compared sample by sample.
 *
 * A file (safetensors, see doc/formats.md) holds log_probs f64 [T,N,C], targets i32 or i64 [N,L] (classes, 0 is the
 * blank; anything behind target_lengths), input_lengths [N], target_lengths [N], loss f64 [N], and grad f64 [T,N,C],
 * the gradient of the sum of the losses.
 *
 * grad may be the derivative with respect to log_probs, -occupancy, whose rows sum to -1; or what PyTorch gives,
 * exp(log_probs) - occupancy, the derivative with respect to what stands before a log_softmax, whose rows sum to 0. The
 * row sums tell.
 *
 * Compared are, per sample, |loss - theirs| / max(1, |theirs|) and the largest |grad - theirs|: at most 1e-10 for the
 * reference in f64 and 1e-5 for a backend's normal implementations in f32. A sample that is infeasible here must have
 * the loss infinity or 0 (zero_infinity) in the file, and the gradient 0 or NaN. */
#ifndef CT_SELFTEST_CTC_CHECK_H
#define CT_SELFTEST_CTC_CHECK_H

#include <stdio.h>

#include "captrain.h"

/* Runs the file on the reference in f64 and, in f32, on each backend that works here or on the one asked for, and
 * prints a table. CT_EINTERNAL if a sample is beyond its tolerance (the message names the worst), CT_EFORMAT for a file
 * that is no such file. */
ct_status ct_ctc_check(const char *path, const ct_common *common, FILE *to);

#endif
