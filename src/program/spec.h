/* From a configuration to what a run computes: the program specification, with units and rules applied. */
#ifndef CT_PROGRAM_SPEC_H
#define CT_PROGRAM_SPEC_H

#include "config/config.h"
#include "loader/loader.h"
#include "program/program.h"
#include "task/datasets.h"

/* Share of a device's memory that a run may plan with: libraries take some for themselves while it goes. */
#define CT_MEMORY_SHARE 0.9
#define CT_MAX_BATCH 65536 /* samples per micro-step; the range of train.batch_size */

/* Fills *out from cfg.
 *   facts               what the data decided (ct_task.learn)
 *   src_h, src_w        size of the source images the loader delivers, pixels (channels: data.channels); the widest of
 *                       elastic models
 *   frames              pictures of the longest clip, copies at its ends included; 0: the model's default
 *   steps_per_epoch     optimizer steps (not micro-steps) per epoch, >= 1: turns epochs of the
 * schedule into steps What is applied: schedule.lr_rule (lr and min_lr times (batch_size*accumulate/reference_batch)^(1
 * or 1/2)), train.epochs and train.steps (the cosine ends at whichever comes first), train.precision, augment.shear (a
 * factor tan(a); operators take degrees), data.mean and data.std (one number stands for all channels), the luminance of
 * data.background as fill of pixels from outside, model defaults. CT_ECONFIG, naming the key: more than 8
 * schedule.milestones, a schedule.t_mult that is not a whole number, model.hidden or model.dropout for a model without,
 * data.crop for a model without a fixed input size, what the task refuses (ct_task.specify, ct_task.one_way), a model
 * that cannot be built at data.height x data.width, or at data.crop squared. Strings of *out point into cfg. */
ct_status ct_spec_from_config(const ct_config *cfg, const ct_facts *facts, int src_h, int src_w, int64_t frames,
                              int64_t steps_per_epoch, ct_program_spec *out);

/* Micro-batches and optimizer steps of one epoch over n samples, by train.batch_size, train.accumulate and
 * train.last_batch. CT_ECONFIG where dropping the last batch leaves none. */
ct_status ct_spec_epoch(const ct_config *cfg, int64_t n, int64_t *batches, int64_t *steps);

/* The same for a model of the catalogue alone, as `bench` and `plan --model` take it: its default geometry, ready
 * input x instead of pixels, AdamW at a constant rate, the model's usual loss. batch 0: 64. precision NULL: fp32.
 * CT_ECONFIG for an unknown model or precision. */
ct_status ct_spec_from_model(const char *model, int64_t batch, const char *precision, ct_program_spec *out);

/* Has such a model start from what training starts from, u8 pixels of the model's size, where starting a call costs
 * something: the cast of ready f32 input is a call that training does not have. Elsewhere, and in f64, it stays ready
 * input. */
void ct_spec_pixels(ct_program_spec *spec, const ct_backend *backend);

/* Other sizes of such a model than its default. CT_ECONFIG for what it does not have. */
ct_status ct_spec_sizes(ct_program_spec *spec, const ct_model_sizes *sizes);

/* Another loss of such a model, by a name of its task (ct_task.usual); NULL: it stays. CT_ECONFIG. */
ct_status ct_spec_loss(ct_program_spec *spec, const char *loss);

/* Pictures of the longest clip of training on a view; 0 where samples are pictures. */
int64_t ct_spec_longest(const ct_config *cfg, const ct_view *train);
/* The loader of training on a view: batch, order and last batch as cfg says; endless, from the first batch. Its
 * workers are negative for train.workers: auto, which the opener of the loader settles: ct_loader_workers(). */
void ct_spec_loader(const ct_config *cfg, const ct_view *train, ct_loader_spec *out);
/* ct_spec_epoch() for a view whose samples may have several lengths: batches hold samples of one. */
ct_status ct_spec_epoch_of(const ct_config *cfg, const ct_view *train, int64_t *batches, int64_t *steps);

/* "fp32", "tf32", "bf16", "fp16", "f64": what spec computes in. */
const char *ct_spec_precision_name(const ct_program_spec *spec);

/* Sets what the options of a device take from the specification: tf32. CT_ECONFIG where tf32 is asked of a backend that
 * cannot tell in what it computes (it has no receipt()), and so has none. */
ct_status ct_spec_device(const ct_program_spec *spec, const ct_backend *backend, ct_device_opts *opts);

/* Of a step in parts (parts > 1) what its last and largest part computes where one device has all of them: rows, place,
 * share. Others stay as they are. */
ct_program_spec ct_spec_of_part(const ct_program_spec *spec);

/* Planned peak of one training step (all arenas), bytes, and the device's memory; either pointer may be NULL.
 * Touches no tensor. */
ct_status ct_spec_peak(const ct_program_spec *spec, const ct_backend *backend, const ct_device_opts *opts,
                       int64_t *peak, uint64_t *memory);

/* Decides what is computed again in the backward pass, by what fits into nine tenths of the device's memory: nothing
 * (norms_kept is CT_NORMS_ALL; only where that memory is the device's own), else batch norms, else, with
 * CT_RECOMPUTE_AUTO, each block. In memory that is everybody's, outputs of batch norms are kept as far as they take a
 * ninth of what the step needs anyway. Does nothing where spec->recompute asks for blocks already. Plans only: touches
 * no tensor. */
ct_status ct_spec_settle(ct_program_spec *spec, const ct_backend *backend, const ct_device_opts *opts);

/* Fills in what the programs of this device should be like: channel_multiple, flat_casts, skip_still, fuse_more,
 * join_sums, sum_in_place, measure. Before ct_spec_settle(). Programs of golden files do without: what they are
 * compared with has none of this. */
void ct_spec_fit_device(ct_program_spec *spec, const ct_backend *backend, const ct_device_opts *opts);

/* Samples per optimizer step. */
static inline int64_t ct_spec_effective_batch(const ct_program_spec *spec) { return spec->batch * spec->accumulate; }

#endif
