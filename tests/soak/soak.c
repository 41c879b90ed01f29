/* One process that trains, is stopped, resumes, evaluates, predicts, checks and draws, over and over, with files that
 * are damaged, signals and allocations that fail in between: its memory, descriptors and threads must stay what they
 * were.
 *   soak SECONDS [leak|descriptor|thread]     the second word plants a fault, which must be found
 *
 * Of each quantity a line is fitted to all rounds but the first fifth: slope per round with its standard error. It
 * grows if the slope is above four errors and the growth it means over all rounds above what the quantity's row of the
 * table allows. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/alloc.h"
#include "base/file.h"
#include "captrain.h"

static char dir[] = "/tmp/captrain-soak.XXXXXX";
static const char config[] = "name: soak\nmodel: {name: textcnn-small, width: 0.25, hidden: 16}\n"
                             "data: {train: good, height: 16, width: 24, val_fraction: 0.25}\n"
                             "optimizer: {ema_decay: 0.9}\nschedule: {name: constant}\n"
                             "train: {batch_size: 8, epochs: 2, workers: 2}\nlog: {interval_steps: 2}\n";
static int failures;

/* ---- the verbs ---- */

static void want(const char *what, ct_status st, ct_status wanted)
{
    if (st == wanted) return;
    printf("%s: %s instead of %s: %s\n", what, ct_status_name(st), ct_status_name(wanted), ct_error_message());
    failures++;
}

static ct_status train(const char *out, bool resume, const char *set)
{
    const char *const sets[] = { set };
    const ct_train_opts o = { .size = sizeof o, .common = { .threads = 1 }, .config = "soak.yaml", .sets = sets,
                              .nsets = set ? 1 : 0, .out = out, .resume = resume };
    ct_train_result r = { .size = sizeof r };
    return ct_run_train(&o, &r);
}

static ct_status predict(const char *model, const char *file, FILE *to)
{
    const char *const files[] = { file };
    const ct_predict_opts o = { .size = sizeof o, .common = { .threads = 1 }, .model = model, .files = files,
                                .nfiles = 1 };
    return ct_run_predict(&o, to);
}

static ct_status eval(const char *model, FILE *to)
{
    const ct_eval_opts o = { .size = sizeof o, .common = { .threads = 1 }, .model = model, .data = "good" };
    return ct_run_eval(&o, to);
}

static ct_status check(const char *data, FILE *to)
{
    const ct_check_opts o = { .size = sizeof o, .data = data, .threads = 2 };
    return ct_run_check(&o, to);
}

static ct_status gen(const char *out, int count)
{
    static const ct_option option[] = { { "width", "24" }, { "height", "16" }, { "charset", "0123" }, { "length", "2" } };
    FILE *to = fopen("/dev/null", "w");
    const ct_gen_opts o = { .size = sizeof o, .kind = "text", .out = out, .count = count, .seed = 3, .threads = 1, .force = true,
                            .option = option, .noptions = 4 };
    ct_status st = ct_run_gen(&o, to);
    fclose(to);
    return st;
}

static void *stop_soon(void *user)
{
    usleep(20000);
    kill(getpid(), SIGTERM);
    return user;
}

/* A training that is told to stop while it goes on; it may be done before. */
static void stopped(void)
{
    pthread_t t;
    signal(SIGTERM, SIG_IGN); /* where it comes too late */
    if (pthread_create(&t, NULL, stop_soon, NULL) != 0) return;
    ct_status st = train("run", false, "train.epochs=40");
    pthread_join(t, NULL);
    if (st != CT_OK) want("train, stopped", st, CT_ESIGNAL);
    want("resume", train("run", true, "train.epochs=42"), CT_OK);
}

static void remove_all(const char *what)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", what);
    if (system(command) != 0) failures++;
}

static void put(const char *path, const char *text)
{
    want(path, ct_file_write_atomic(path, text, strlen(text)), CT_OK);
}

/* One round of everything; `round` varies what fails. */
static void once(int round)
{
    FILE *null = fopen("/dev/null", "w");
    if (!null) exit(99);
    remove_all("run");
    stopped();
    want("eval", eval("run", null), CT_OK);
    want("predict", predict("run", "good", null), CT_OK);
    want("check", check("good", null), CT_OK);
    /* damage */
    want("predict of no picture", predict("run", "soak.yaml", null), CT_EDATA);
    want("eval of no model", eval("soak.yaml", null), CT_EFORMAT);
    put("run/metrics.jsonl", "nothing\n");
    put("run/checkpoints/last.safetensors", "torn");
    want("resume of a damaged run", train("run", true, "train.epochs=43"), CT_OK);
    want("a run that is there", train("run", false, NULL), CT_ECONFIG);
    /* no memory, at another place each time */
    ct_alloc_fail_after(17 * round % 3000);
    ct_status st = eval("run", null);
    ct_alloc_fail_after(-1);
    if (st != CT_OK) want("eval without memory", st, CT_ENOMEM);
    ct_alloc_fail_after(101 * round % 9000);
    remove_all("other");
    st = train("other", false, NULL);
    ct_alloc_fail_after(-1);
    if (st != CT_OK) want("train without memory", st, CT_ENOMEM);
    fclose(null);
}

/* ---- what is measured ---- */

enum { MEMORY, HEAP, DESCRIPTORS, THREADS, QUANTITIES };
static const struct { const char *name; double allowed; } quantity[QUANTITIES] = {
    { "resident set beside files, kB", 2048 }, { "allocated, kB", 64 }, { "descriptors", 0.5 }, { "threads", 0.5 },
};

/* What malloc() has given out and not got back, with what threads keep for themselves; 0 where libc does not say. */
static double allocated(void)
{
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 33)
    const struct mallinfo2 m = mallinfo2();
    return (double)(m.uordblks + m.hblkhd) / 1024;
#else
    return 0;
#endif
}

static double count_entries(const char *path)
{
    DIR *d = opendir(path);
    double n = 0;
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

static void measure(double out[QUANTITIES])
{
    char text[128] = "";
    long all = 0, resident = 0, of_files = 0; /* pages */
#ifdef __GLIBC__
    malloc_trim(0); /* what is free does not count */
#endif
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fgets(text, sizeof text, f)) sscanf(text, "%ld %ld %ld", &all, &resident, &of_files);
    if (f) fclose(f);
    /* Code that runs for the first time, as errors do that only a late round meets, is read from the program's file. */
    out[MEMORY] = (double)(resident - of_files) * (double)sysconf(_SC_PAGESIZE) / 1024;
    out[HEAP] = allocated();
    out[DESCRIPTORS] = count_entries("/proc/self/fd");
    out[THREADS] = count_entries("/proc/self/task");
}

/* Least squares of y[0..n) over 0..n-1. */
static void fit(const double *y, int n, double *slope, double *error)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, rest = 0;
    for (int i = 0; i < n; i++) {
        sx += i;
        sy += y[i];
        sxx += (double)i * i;
        sxy += i * y[i];
    }
    const double d = n * sxx - sx * sx;
    *slope = (n * sxy - sx * sy) / d;
    const double at = (sy - *slope * sx) / n;
    for (int i = 0; i < n; i++) rest += pow(y[i] - at - *slope * i, 2);
    *error = sqrt(rest / (n - 2) * n / d);
}

/* ---- planted faults ---- */

static void *wait_forever(void *user)
{
    for (;;) pause();
    return user;
}

static void plant(const char *fault)
{
    pthread_t t;
    if (strcmp(fault, "leak") == 0) {
        static struct block { struct block *before; char rest[400000]; } *kept;
        struct block *b = malloc(sizeof *b);
        if (!b) exit(99);
        memset(b, 1, sizeof *b);
        b->before = kept;
        kept = b;
    }
    if (strcmp(fault, "descriptor") == 0 && open("/dev/null", O_RDONLY) < 0) exit(99);
    if (strcmp(fault, "thread") == 0 && pthread_create(&t, NULL, wait_forever, NULL) != 0) exit(99);
}

int main(int argc, char **argv)
{
    enum { MOST = 100000, LEAST = 15 };
    static double seen[QUANTITIES][MOST];
    if (argc < 2) {
        fprintf(stderr, "usage: %s SECONDS [leak|descriptor|thread]\n", argv[0]);
        return 2;
    }
    const double until = ct_now() + atof(argv[1]);
    int n = 0, grown = 0;
    for (int q = 0; q < QUANTITIES; q++) /* pages that are first written round by round would be growth */
        for (int i = 0; i < MOST; i++) seen[q][i] = NAN;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!mkdtemp(dir) || chdir(dir) != 0 || setenv("CAPTRAIN_CACHE_DIR", "cache", 1) != 0) return 99;
    ct_set_verbosity(0);
    put("soak.yaml", config);
    want("gen", gen("good", 24), CT_OK);
    for (; n < MOST && (ct_now() < until || n < LEAST); n++) {
        double now[QUANTITIES];
        once(n);
        if (argc > 2) plant(argv[2]);
        measure(now);
        for (int q = 0; q < QUANTITIES; q++) seen[q][n] = now[q];
    }
    const int first = n / 5;
    for (int q = 0; q < QUANTITIES; q++) {
        double slope, error;
        fit(seen[q] + first, n - first, &slope, &error);
        const bool grows = slope > 4 * error && slope * (n - first) > quantity[q].allowed;
        printf("%s: %.0f -> %.0f in %d rounds, %+.3g +- %.2g a round%s\n", quantity[q].name, seen[q][first], seen[q][n - 1], n - first,
               slope, error, grows ? ": GROWS" : "");
        grown += grows;
    }
    if (chdir("/") != 0) return 99;
    remove_all(dir);
    printf("%d rounds, %d quantities grow, %d calls ended otherwise than they must\n", n, grown, failures);
    return grown > 0 || failures > 0;
}
