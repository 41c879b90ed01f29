/* A race on the terminal: a line for each run, and one for each racer. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "race/race.h"

static void print_name(const char *name, FILE *to)
{
    char shown[256];
    fprintf(to, "%-24s", ct_text_visible(name, shown, sizeof shown));
}

static void print_runs(const ct_race *r, const ct_racer *c, FILE *to)
{
    char value[48];
    for (int64_t i = 0; i < r->o->seeds; i++) {
        const ct_race_run *run = &c->run[i];
        if (!run->done) continue;
        print_name(c->name, to);
        fprintf(to, " %6" PRId64 "  %-7s", run->seed, run->reached ? "yes" : *run->failed ? "failed" : "no");
        fprintf(to, " %10.1f %10.1f %12" PRId64 " %9" PRId64 "  %s\n", run->seconds, run->eval_seconds, run->samples,
                run->steps, ct_metric_text(r->target.by, run->value, value, sizeof value));
    }
}

/* "31.2 +- 1.3 (29.1 to 33.0)" */
static void print_spread(const ct_spread *s, int digits, FILE *to)
{
    char text[128];
    size_t n = (size_t)snprintf(text, sizeof text, "%.*f", digits, s->mean);
    if (s->n > 1)
        snprintf(text + n, sizeof text - n, " +- %.*f (%.*f to %.*f)", digits, s->sd, digits, s->min, digits, s->max);
    fprintf(to, "  %-34s", s->n > 0 ? text : "-");
}

static void print_racer(const ct_race *r, const ct_racer *c, FILE *to)
{
    const ct_spread seconds = ct_race_spread(r, c, ct_race_seconds), samples = ct_race_spread(r, c, ct_race_samples);
    const ct_spread first = ct_race_spread(r, &r->racer[0], ct_race_seconds);
    int64_t done = 0;
    char share[32];
    for (int64_t i = 0; i < r->o->seeds; i++) done += c->run[i].done;
    snprintf(share, sizeof share, "%" PRId64 " of %" PRId64, seconds.n, done);
    print_name(c->name, to);
    fprintf(to, " %-12s", share);
    print_spread(&seconds, 1, to);
    print_spread(&samples, 0, to);
    if (seconds.n > 0 && first.n > 0) fprintf(to, "  %.2f", seconds.mean / first.mean);
    fputc('\n', to);
}

void ct_race_print(const ct_race *r, FILE *to)
{
    char target[48];
    const ct_racer *ours = NULL;
    for (int k = 0; k < r->racers && !ours; k++)
        if (r->racer[k].processor) ours = &r->racer[k];
    fprintf(to, "target: %s %s on the validation set\n", r->target.by->label,
            ct_metric_text(r->target.by, r->target.value, target, sizeof target));
    if (ours)
        fprintf(to, "machine: %s, %" PRId64 " thread%s; captrain %s\n         %s\n", ours->processor, ours->threads,
                ours->threads == 1 ? "" : "s", ct_version(), ours->kernels ? ours->kernels : "");
    fprintf(to, "\n%-24s %6s  %-7s %10s %10s %12s %9s  %s\n", "racer", "seed", "reached", "seconds", "scoring s",
            "samples", "steps", r->target.by->key);
    for (int k = 0; k < r->racers; k++) print_runs(r, &r->racer[k], to);
    fprintf(to, "\n%-24s %-12s  %-34s  %-34s  %s\n", "over the seeds", "reached", "seconds", "samples", "times");
    for (int k = 0; k < r->racers; k++) print_racer(r, &r->racer[k], to);
    fputs("\nrace.json, race.csv and race.svg are in ", to);
    ct_text_put(to, r->dir, false);
    fputc('\n', to);
}
