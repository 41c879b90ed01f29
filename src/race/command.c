/* A racer that is another program: started through the shell, it prints a line of JSON for each of its validations,
 *   {"seconds": 12.5, "samples": 64000, "steps": 1000, "metric": 0.93}
 * with "eval_seconds" where it takes its own scoring out of "seconds". Lines that are none are passed over. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/number.h"
#include "base/shortest.h"
#include "base/signals.h"
#include "group/job.h"
#include "race/race.h"

#define MAX_LINES (64 << 20)

/* ---- the target of a race without configurations ---- */

static const ct_metric_row *find_metric(const char *name, size_t n)
{
    const ct_task *task;
    for (size_t t = 0; (task = ct_task_at(t)); t++)
        for (int i = 0; i < task->metrics; i++)
            if (strlen(task->metric[i].key) == n && memcmp(task->metric[i].key, name, n) == 0) return &task->metric[i];
    return strlen(ct_metric_loss.key) == n && memcmp(ct_metric_loss.key, name, n) == 0 ? &ct_metric_loss : NULL;
}

ct_status ct_race_any_target(ct_race *r)
{
    const char *given = r->o->target, *equal = given ? strchr(given, '=') : NULL;
    if (!given) return ct_fail(CT_ECONFIG, "race: give --target METRIC=VALUE");
    if (!equal || !ct_number_of(equal + 1, &r->target.value) || !isfinite(r->target.value))
        return ct_fail(CT_ECONFIG, "race: --target wants METRIC=VALUE (got '%s')", given);
    if (!(r->target.by = find_metric(given, (size_t)(equal - given))))
        return ct_fail(CT_ECONFIG, "race: --target: no task has a metric '%.*s'", (int)(equal - given), given);
    return CT_OK;
}

/* ---- the command ---- */

static size_t put(char *to, const char *text, size_t n)
{
    if (to) memcpy(to, text, n);
    return n;
}

/* The command with what stands for {seed}, {target} and {threads} in it; to NULL: how long that is. */
static size_t fill(const ct_race *r, const ct_race_run *run, char *to)
{
    char seed[24], target[CT_SHORTEST_BYTES], threads[16];
    const struct { const char *name, *value; } word[] = { { "{seed}", seed }, { "{target}", target },
                                                          { "{threads}", threads } };
    size_t n = 0;
    snprintf(seed, sizeof seed, "%" PRId64, run->seed);
    snprintf(threads, sizeof threads, "%d", r->o->common.threads);
    ct_shortest(r->target.value, target);
    for (const char *s = r->o->command; *s;) {
        size_t w = 0;
        while (w < 3 && strncmp(s, word[w].name, strlen(word[w].name)) != 0) w++;
        n += w < 3 ? put(to ? to + n : NULL, word[w].value, strlen(word[w].value)) : put(to ? to + n : NULL, s, 1);
        s += w < 3 ? strlen(word[w].name) : 1;
    }
    return n;
}

static char *lines_file(const ct_race *r, const ct_racer *c, const ct_race_run *run)
{
    char *dir = ct_race_folder(r, c, run), *file = dir ? ct_path_join(dir, "lines.jsonl") : NULL;
    ct_free(dir);
    return file;
}

/* ---- what it printed ---- */

static bool take(const json_t *o, const char *key, double *out)
{
    const json_t *v = json_object_get(o, key);
    *out = json_number_value(v);
    return json_is_number(v) && *out >= 0;
}

/* A line that is no validation is none of ours. */
static ct_status read_line(const ct_race *r, const char *text, size_t n, ct_race_run *run)
{
    json_error_t e;
    json_t *o = NULL;
    double seconds, samples, steps;
    if (n == 0 || *text != '{') return CT_OK;
    ct_status st = ct_json_load(text, n, 0, &e, &o);
    if (st != CT_OK) return st == CT_ENOMEM ? st : CT_OK;
    const json_t *metric = json_object_get(o, "metric");
    if (take(o, "seconds", &seconds) && take(o, "samples", &samples) && take(o, "steps", &steps) &&
        json_is_number(metric)) {
        st = ct_race_lap(run, seconds, json_number_value(metric));
        if (!run->reached) {
            run->seconds = seconds;
            run->samples = (int64_t)samples;
            run->steps = (int64_t)steps;
            run->value = json_number_value(metric);
            take(o, "eval_seconds", &run->eval_seconds);
            run->reached = ct_target_met(&r->target, run->value);
        }
    }
    json_decref(o);
    return st;
}

ct_status ct_race_lines(const ct_race *r, const ct_racer *c, ct_race_run *run)
{
    uint8_t *data = NULL;
    size_t size = 0;
    char *path = lines_file(r, c, run);
    ct_status st = path ? ct_file_read_plain(path, MAX_LINES, &data, &size) : CT_ENOMEM;
    run->n = 0;
    run->reached = false;
    for (size_t at = 0; st == CT_OK && at < size;) {
        const uint8_t *nl = memchr(data + at, '\n', size - at);
        const size_t n = nl ? (size_t)(nl - data) - at : size - at;
        st = read_line(r, (const char *)data + at, n, run);
        at += n + 1;
    }
    if (st == CT_OK && run->n == 0)
        st = ct_fail(CT_EDATA, "race: --command: %s has no line {\"seconds\": .., \"samples\": .., \"steps\": .., "
                     "\"metric\": ..}", path);
    ct_free(data);
    ct_free(path);
    return st;
}

/* The shell is told where to write, so that the command may be anything. */
static ct_status start(ct_race *r, const ct_racer *c, const ct_race_run *run, char *command, char *file)
{
    char shell[] = "/bin/sh", option[] = "-c", name[] = "sh", script[] = "exec > \"$1\"; eval \"$2\"";
    char *const argv[] = { shell, option, script, name, file, command, NULL };
    int code = 0;
    ct_signals_begin();
    ct_status st = ct_job_run("race", argv, false, &code);
    r->signal = ct_stop_signal;
    ct_signals_end();
    CT_TRY(st);
    if (r->signal) return ct_fail(CT_ESIGNAL, "%s, seed %" PRId64 " was stopped by %s", c->name, run->seed,
                                  ct_signal_name(r->signal));
    if (code != 0)
        return ct_fail(CT_EDATA, "race: --command: exit code %d with seed %" PRId64 "; what it printed is in %s", code,
                       run->seed, file);
    return CT_OK;
}

ct_status ct_race_call(ct_race *r, ct_racer *c, ct_race_run *run)
{
    const size_t n = fill(r, run, NULL);
    char *dir = ct_race_folder(r, c, run), *file = lines_file(r, c, run), *command = ct_malloc(n + 1, "a command");
    ct_status st;
    if (!dir || !file || !command) CT_GOTO(st, CT_ENOMEM);
    command[fill(r, run, command)] = '\0';
    CT_GOTO(st, ct_mkdir_p(dir));
    CT_GOTO(st, start(r, c, run, command, file));
    CT_GOTO(st, ct_race_lines(r, c, run));
    run->done = true;
fail:
    ct_free(command);
    ct_free(file);
    ct_free(dir);
    return st;
}
