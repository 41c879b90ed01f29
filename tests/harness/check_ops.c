/* Runs the operator harness on the CPU backend: every implementation of every operator against the reference, with one
 * thread and with two, and the reference against finite differences.
 *
 *   check_ops [--seed N] [--op NAME] [--impl NAME] [--data PATTERN] [--full] [--threads N] [--bench] [--table] ['call']
 * (--case 'call' is the same as the last)
 *
 * Exit status 0: all well; 1: something failed; 2: usage. The seed is printed; CAPTRAIN_SEED sets it too. */
#include "config.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "exec/exec.h"
#include "harness/harness.h"

#define DEFAULT_SEED 20240607u

typedef struct options {
    ct_selftest_opts test;
    int threads; /* 0: first one, then two */
    bool bench, table, help;
} options;

static void usage(FILE *f)
{
    fprintf(f,
            "usage: check_ops [option...] ['call string']\n"
            "  --seed N        seed of all data (default %u, or CAPTRAIN_SEED)\n"
            "  --op NAME       only this operator\n"
            "  --impl NAME     only implementations of this name\n"
            "  --data PATTERN  only this data: uniform, ints, ties, large, small, special, skipped, faint\n"
            "  --full          also the shapes of real models\n"
            "  --threads N     one device with N threads instead of one thread and then two\n"
            "  --case 'call'   only this call; the same as giving it last\n"
            "  --bench         print times instead of testing\n"
            "  --table         print the table also when all is well\n",
            DEFAULT_SEED);
}

static bool parse_number(const char *s, uint64_t *out)
{
    char *end;
    *out = strtoull(s, &end, 0);
    return *s >= '0' && *s <= '9' && *end == '\0';
}

static bool parse_options(int argc, char **argv, options *o)
{
    static const struct option names[] = {
        { "seed", required_argument, NULL, 's' },
        { "op", required_argument, NULL, 'o' },
        { "impl", required_argument, NULL, 'i' },
        { "data", required_argument, NULL, 'd' },
        { "full", no_argument, NULL, 'f' },
        { "bench", no_argument, NULL, 'b' },
        { "threads", required_argument, NULL, 't' },
        { "table", no_argument, NULL, 'T' },
        { "case", required_argument, NULL, 'c' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    uint64_t number;
    const char *seed = ct_env_get(CT_ENV_SEED);
    *o = (options){ .test = { .seed = DEFAULT_SEED, .log = stdout, .program = "tests/harness/check_ops" } };
    if (seed && !parse_number(seed, &o->test.seed)) {
        fprintf(stderr, "check_ops: CAPTRAIN_SEED is '%s', not a number\n", seed);
        return false;
    }
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        switch (c) {
        case 's':
            if (!parse_number(optarg, &o->test.seed)) return false;
            break;
        case 't':
            if (!parse_number(optarg, &number) || number < 1 || number > 1024) return false;
            o->threads = (int)number;
            break;
        case 'o': o->test.op = optarg; break;
        case 'i': o->test.impl = optarg; break;
        case 'c': o->test.call = optarg; break;
        case 'd': o->test.data = optarg; break;
        case 'f': o->test.full = true; break;
        case 'b': o->bench = true; break;
        case 'T': o->table = true; break;
        case 'h': o->help = true; break;
        default: return false;
        }
    }
    if (optind + 1 < argc || (optind < argc && o->test.call)) return false;
    if (optind < argc) o->test.call = argv[optind];
    return true;
}

/* Every operator that runs has implementations, and the last is the reference. */
static int check_table(const ct_backend *b)
{
    int wrong = 0;
    for (int op = 0; op < CT_OP_COUNT; op++) {
        const ct_impl *last = NULL;
        for (const ct_impl *m = NULL; (m = ct_impl_next(b, (ct_op)op, m));) last = m;
        if (ct_op_get((ct_op)op)->rules->flags & CT_OPF_VIEW) continue;
        if (!last || !(last->flags & CT_IMPL_REFERENCE))
            wrong += printf("FAIL: %s: the last implementation is not the reference\n", ct_op_get((ct_op)op)->name) > 0;
    }
    return wrong;
}

/* Every operator that runs was tested at least once (no filter was given). */
static int check_coverage(const ct_selftest_report *r)
{
    int wrong = 0;
    for (int op = 0; op < CT_OP_COUNT; op++) {
        bool seen = (ct_op_get((ct_op)op)->rules->flags & CT_OPF_VIEW) != 0;
        for (size_t i = 0; i < r->nrows; i++) seen = seen || (r->rows[i].op == (ct_op)op && r->rows[i].cases > 0);
        if (!seen) wrong += printf("FAIL: %s: no case\n", ct_op_get((ct_op)op)->name) > 0;
    }
    return wrong;
}

/* Implementations that say so give the same bits for one and for two threads. */
static int check_bits(const ct_selftest_report *a, const ct_selftest_report *b)
{
    int wrong = 0;
    for (size_t i = 0; i < a->nrows && i < b->nrows; i++) {
        const ct_selftest_row *x = &a->rows[i], *y = &b->rows[i];
        if (!(x->flags & CT_IMPL_DETERMINISTIC) || x->op != y->op || x->bits == y->bits) continue;
        wrong += printf("FAIL: %s %s %s is flagged deterministic, but one and two threads give different bits\n",
                        ct_op_get(x->op)->name, x->impl, ct_dtype_name(x->dtype)) > 0;
    }
    return wrong;
}

static ct_status run_threads(const ct_backend *b, const options *o, int threads, ct_selftest_report *r)
{
    ct_device *dev = NULL;
    ct_device_opts opts = { .threads = threads };
    CT_TRY(b->open(&opts, &dev));
    ct_status st = o->bench ? ct_selftest_bench(b, dev, &o->test, stdout) : ct_selftest_ops(b, dev, &o->test, r);
    b->close(dev);
    return st;
}

int main(int argc, char **argv)
{
    const ct_backend *b = &ct_backend_cpu;
    ct_selftest_report report[2] = { { 0 } }, gradients = { 0 };
    options o;
    ct_status st = CT_OK;
    int wrong = 0;
    if (!parse_options(argc, argv, &o)) {
        usage(stderr);
        return 2;
    }
    if (o.help) {
        usage(stdout);
        return 0;
    }
    printf("check_ops: seed %" PRIu64 "\n", o.test.seed);
    bool filtered = o.test.op || o.test.impl || o.test.call || o.test.data;
    int runs = o.threads || o.bench ? 1 : 2;
    for (int i = 0; i < runs; i++) CT_GOTO(st, run_threads(b, &o, o.threads ? o.threads : i + 1, &report[i]));
    if (o.bench) goto fail;
    CT_GOTO(st, ct_selftest_gradients(&o.test, &gradients));
    wrong = check_table(b);
    if (!filtered) wrong += check_coverage(&report[0]);
    if (runs == 2) wrong += check_bits(&report[0], &report[1]);
    for (int i = 0; i < runs; i++) wrong += report[i].failed;
    wrong += gradients.failed;
    for (int i = 0; i < runs; i++) {
        if (report[i].nrows == 0) continue; /* finite differences alone */
        printf("threads %d: ", o.threads ? o.threads : i + 1);
        if (o.table || filtered || report[i].failed)
            ct_selftest_print(&report[i], stdout);
        else
            printf("%d cases, %d warnings, %d failed, %d refused\n", report[i].cases, report[i].warned,
                   report[i].failed, report[i].refused);
    }
    if (gradients.cases) {
        printf("finite differences: ");
        if (o.table || gradients.failed)
            ct_selftest_print(&gradients, stdout);
        else
            printf("%d cases, %d warnings, %d failed\n", gradients.cases, gradients.warned, gradients.failed);
    }
fail:
    if (st != CT_OK) fprintf(stderr, "check_ops: %s: %s\n", ct_status_name(st), ct_error_message());
    for (int i = 0; i < 2; i++) ct_selftest_report_free(&report[i]);
    ct_selftest_report_free(&gradients);
    return st != CT_OK || wrong ? 1 : 0;
}
