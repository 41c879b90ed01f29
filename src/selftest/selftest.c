/* `captrain selftest`: operators against the reference, a golden file, or a CTC file. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/sized.h"
#include "harness/harness.h"
#include "selftest/ctc_check.h"
#include "selftest/each.h"
#include "selftest/golden.h"

/* Seed of the run: the option, the environment, or 1. */
static ct_status find_seed(const ct_selftest_run_opts *o, uint64_t *seed)
{
    *seed = o->seed ? o->seed : 1;
    const char *text = ct_env_get(CT_ENV_SEED);
    if (o->seed || !text) return CT_OK;
    char *end;
    *seed = strtoull(text, &end, 10);
    if (*end || *text == '-') return ct_fail(CT_ECONFIG, "CAPTRAIN_SEED: '%s' is not a whole number", text);
    return CT_OK;
}

typedef struct operators {
    int threads;
    ct_selftest_opts opts;
    char program[64]; /* what repeats a failure */
    ct_selftest_report report;
} operators;

static ct_status check_backend(void *user, const ct_backend *b)
{
    operators *o = user;
    ct_device *dev = NULL;
    const ct_device_opts opts = { .threads = o->threads };
    CT_TRY(b->open(&opts, &dev));
    snprintf(o->program, sizeof o->program, "captrain selftest --backend %s", b->name);
    o->opts.program = o->program;
    ct_status st = ct_selftest_ops(b, dev, &o->opts, &o->report);
    b->close(dev);
    return st;
}

static ct_status check_operators(const ct_selftest_run_opts *opts, FILE *to)
{
    operators o = { .threads = opts->common.threads,
                    .opts = { .op = opts->op,
                              .impl = opts->impl,
                              .call = opts->call,
                              .data = opts->data,
                              .full = opts->full,
                              .variants = opts->variants,
                              .log = to } };
    ct_selftest_report *r = &o.report;
    ct_status st;
    CT_GOTO(st, find_seed(opts, &o.opts.seed));
    CT_GOTO(st, ct_backend_each(opts->common.backend, to, check_backend, &o));
    const bool gradient = opts->impl && strcmp(opts->impl, CT_IMPL_GRADIENT) == 0;
    o.opts.program = "captrain selftest";
    if (gradient || (!opts->impl && !opts->call)) CT_GOTO(st, ct_selftest_gradients(&o.opts, r));
    ct_selftest_print(r, to);
    if (r->failed)
        st = ct_fail(CT_EINTERNAL, "selftest: %d of %d cases failed; first: %s", r->failed, r->cases,
                     r->first_failure ? r->first_failure : "?");
fail:
    ct_selftest_report_free(r);
    return st;
}

ct_status ct_run_selftest(const ct_selftest_run_opts *given, FILE *to)
{
    ct_selftest_run_opts own;
    CT_TRY(ct_sized_take(&own, sizeof own, given, "ct_selftest_run_opts"));
    const ct_selftest_run_opts *opts = &own;
    if (opts->ctc) return ct_ctc_check(opts->ctc, &opts->common, to);
    return opts->golden ? ct_golden_check(opts->golden, &opts->common, opts->inexact, to) : check_operators(opts, to);
}
