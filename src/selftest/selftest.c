/* `captrain selftest`: operators against the reference, a golden file, or a CTC file. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/sized.h"
#include "harness/harness.h"
#include "selftest/ctc_check.h"
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

static ct_status check_backend(const ct_backend *b, const ct_common *common, const ct_selftest_opts *o,
                               ct_selftest_report *r)
{
    ct_device *dev = NULL;
    const ct_device_opts opts = { .threads = common->threads };
    CT_TRY(b->open(&opts, &dev));
    ct_status st = ct_selftest_ops(b, dev, o, r);
    b->close(dev);
    return st;
}

static ct_status check_operators(const ct_selftest_run_opts *opts, FILE *to)
{
    ct_selftest_opts o = { .op = opts->op,
                           .impl = opts->impl,
                           .call = opts->call,
                           .full = opts->full,
                           .log = to,
                           .program = "captrain selftest" };
    ct_selftest_report r = { .rows = NULL };
    ct_status st;
    const ct_backend *b;
    const char *name = opts->common.backend;
    bool chosen = name && *name && strcmp(name, "auto") != 0;
    CT_GOTO(st, find_seed(opts, &o.seed));
    for (size_t i = 0; i < ct_backend_count(); i++) {
        if (chosen && strcmp(ct_backend_name(i), name) != 0) continue;
        if (ct_backend_load(ct_backend_name(i), &b) != CT_OK && !chosen) {
            fprintf(to, "not checked: %s\n", ct_error_message());
            continue;
        }
        CT_GOTO(st, ct_backend_load(ct_backend_name(i), &b));
        CT_GOTO(st, check_backend(b, &opts->common, &o, &r));
    }
    if (chosen) CT_GOTO(st, ct_backend_load(name, &b)); /* an unknown name is an error, not an empty table */
    if (!opts->impl && !opts->call) CT_GOTO(st, ct_selftest_gradients(&o, &r));
    ct_selftest_print(&r, to);
    if (r.failed)
        st = ct_fail(CT_EINTERNAL, "selftest: %d of %d cases failed; first: %s", r.failed, r.cases,
                     r.first_failure ? r.first_failure : "?");
fail:
    ct_selftest_report_free(&r);
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
