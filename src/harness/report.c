#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/harness_priv.h"

ct_selftest_row *ct_report_row(ct_selftest_report *r, ct_op op, const char *impl, bool variants, ct_dtype dtype, unsigned flags)
{
    for (size_t i = 0; i < r->nrows; i++) {
        ct_selftest_row *row = &r->rows[i];
        if (row->op == op && row->dtype == dtype && row->variants == variants && strcmp(row->impl, impl) == 0) return row;
    }
    if (ct_grow(&r->rows, r->nrows, &r->cap, sizeof *r->rows, "self-test report") != CT_OK) return NULL;
    ct_selftest_row *row = &r->rows[r->nrows++];
    *row = (ct_selftest_row){ .op = op, .impl = impl, .dtype = dtype, .flags = flags, .variants = variants };
    return row;
}

ct_status ct_report_case(ct_selftest_report *r, ct_selftest_row *row, const ct_selftest_opts *o, const ct_case *c,
                         const char *variant, double worst, const char *message)
{
    const char *colon = variant ? ":" : "", *which = variant ? variant : "";
    bool failed = !(worst <= CT_FAIL_AT), warned = !failed && worst > 1;
    row->cases++, r->cases++;
    if (worst > row->worst || isnan(worst)) row->worst = isnan(worst) ? INFINITY : worst;
    if (failed) {
        row->failed++, r->failed++;
    } else if (warned) {
        row->warned++, r->warned++;
    } else {
        row->passed++, r->passed++;
        return CT_OK;
    }
    if (failed && !r->first_failure) {
        r->first_failure = ct_asprintf("%s %s%s%s: %s", ct_op_get(row->op)->name, row->impl, colon, which, message);
        if (!r->first_failure) return CT_ENOMEM;
    }
    if (!o->log) return CT_OK;
    fprintf(o->log, "%s: %s %s%s%s %s: %s\n", failed ? "FAIL" : "WARN", ct_op_get(row->op)->name, row->impl, colon, which,
            ct_dtype_name(row->dtype), message);
    fprintf(o->log, "REPRO: %s --seed %" PRIu64 " --impl %s%s%s --data %s --case '%s'\n",
            o->program ? o->program : "check_ops", c->seed, row->impl, colon, which, ct_data_name(c->data), c->text);
    return CT_OK;
}

/* "RED": reference, exact, deterministic. */
static const char *flag_letters(unsigned flags, char buf[4])
{
    buf[0] = flags & CT_IMPL_REFERENCE ? 'R' : '-';
    buf[1] = flags & CT_IMPL_EXACT ? 'E' : '-';
    buf[2] = flags & CT_IMPL_DETERMINISTIC ? 'D' : '-';
    buf[3] = '\0';
    return buf;
}

void ct_selftest_print(const ct_selftest_report *r, FILE *f)
{
    char flags[4], worst[16], name[64];
    fprintf(f, "%-20s %-18s %-4s %-5s %6s %6s %5s %5s %7s  %10s  %s\n", "operator", "implementation", "type", "flags",
            "cases", "pass", "warn", "fail", "refused", "worst", "");
    for (size_t i = 0; i < r->nrows; i++) {
        const ct_selftest_row *row = &r->rows[i];
        if (row->cases == 0)
            strcpy(worst, "-");
        else
            snprintf(worst, sizeof worst, "%.3g", row->worst);
        snprintf(name, sizeof name, "%s%s", row->impl, row->variants ? " variants" : "");
        fprintf(f, "%-20s %-18s %-4s %-5s %6d %6d %5d %5d %7d  %10s  %s\n", ct_op_get(row->op)->name, name,
                ct_dtype_name(row->dtype), flag_letters(row->flags, flags), row->cases, row->passed, row->warned,
                row->failed, row->refused, worst,
                row->failed  ? "FAIL"
                : row->cases ? "ok"
                             : "not run");
        if (row->refused && row->reason) fprintf(f, "%20s refused: %s\n", "", row->reason);
    }
    fprintf(
        f,
        "worst: largest error as a multiple of the tolerance (warning above 1, failure above %g); flags: Reference, "
        "Exact, Deterministic\n",
        CT_FAIL_AT);
    fprintf(f, "%d cases: %d passed, %d warnings, %d failed; %d refused\n", r->cases, r->passed, r->warned, r->failed,
            r->refused);
}

void ct_selftest_report_free(ct_selftest_report *r)
{
    if (!r) return;
    ct_free(r->rows);
    ct_free(r->first_failure);
    *r = (ct_selftest_report){ 0 };
}
