/* What devices tell: as text and JSON, the CPU backend's own, the gauge of a training, memory messages, batch_size:
 * auto, the smoke test. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/smoke.h"
#include "backends/cpu/cpu.h"
#include "base/log.h"
#include "exec/telemetry.h"
#include "program/spec.h"
#include "run/gauge.h"
#include "session/memory.h"
#include "session/session.h"
#include "tests/ct_check.h"
#include "tests/task/text/facts_util.h"

static void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

static void says(ct_status st, ct_status want, const char *part)
{
    ck_assert_msg(st == want && strstr(ct_error_message(), part), "'%s' is not in: %s: %s", part, ct_status_name(st),
                  ct_error_message());
}

static const ct_telemetry nothing = { .power = NAN,
                                      .power_limit = NAN,
                                      .energy = NAN,
                                      .busy = NAN,
                                      .memory_busy = -1,
                                      .temperature = NAN,
                                      .clock = NAN,
                                      .clock_max = -1,
                                      .memory_clock = NAN,
                                      .memory_used = NAN,
                                      .memory_total = NAN };

/* ---- text and JSON ---- */

START_TEST(text_and_json)
{
    char buf[512], small[24];
    ct_telemetry t = nothing;
    ck_assert_str_eq(ct_telemetry_text(&t, buf, sizeof buf), "");
    ck_assert_str_eq(ct_telemetry_missing(&t, buf, sizeof buf), "power, load, temperature, clock, memory");
    t.busy = t.memory_used = 0;
    ck_assert_str_eq(ct_telemetry_missing(&t, buf, sizeof buf), "power, temperature, clock");
    t = nothing;
    json_t *o = ct_telemetry_json(&t, false);
    ck_assert_uint_eq(json_object_size(o), 0);
    json_decref(o);
    o = ct_telemetry_json(&t, true);
    ck_assert_uint_eq(json_object_size(o), 12);
    ck_assert(json_is_null(json_object_get(o, "memory_busy")) && json_is_null(json_object_get(o, "power")));
    json_decref(o);
    t = (ct_telemetry){ .power = 312.4,
                        .power_limit = 700,
                        .energy = 5,
                        .busy = 0.98,
                        .memory_busy = 0.71,
                        .temperature = 64,
                        .clock = 1755,
                        .clock_max = 1980,
                        .memory_clock = 2619,
                        .memory_used = 20e9,
                        .memory_total = 80e9,
                        .throttle = "power cap" };
    ck_assert_str_eq(ct_telemetry_text(&t, buf, sizeof buf),
                     "312 / 700 W, 98 % busy, memory 71 % busy, 64 C, 1755 / 1980 MHz, memory 2619 MHz, "
                     "20.0 / 80.0 GB, held down by: power cap");
    ck_assert_str_eq(ct_telemetry_text(&t, small, sizeof small), "312 / 700 W, 98 % busy,");
    ck_assert_str_eq(ct_telemetry_missing(&t, buf, sizeof buf), "");
    t.power_limit = NAN;
    ck_assert_ptr_eq(strstr(ct_telemetry_text(&t, buf, sizeof buf), "312 W, "), buf);
    o = ct_telemetry_json(&t, false);
    ck_assert_uint_eq(json_object_size(o), 11);
    ck_assert_double_eq(json_number_value(json_object_get(o, "busy")), 0.98);
    ck_assert_str_eq(json_string_value(json_object_get(o, "throttle")), "power cap");
    json_decref(o);
}
END_TEST

/* ---- the CPU backend ---- */

static void put(const char *dir, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

/* DIR/intel-rapl:N with its three files. */
static void put_package(const char *dir, int n, const char *name, const char *energy)
{
    char path[256];
    snprintf(path, sizeof path, "%s/intel-rapl:%d", dir, n);
    mkdir(path, 0777);
    put(path, "name", name);
    put(path, "energy_uj", energy);
    put(path, "max_energy_range_uj", "262143328850\n");
}

START_TEST(cpu_counters)
{
    char dir[] = "ct-telemetry.XXXXXX", path[64], command[96];
    uint64_t busy, all;
    ct_cpu_energy e = { .known = false };
    ck_assert_ptr_nonnull(mkdtemp(dir));
    put(dir, "stat", "cpu  100 5 30 1000 65 3 2 10 7 0\ncpu0 1 2 3 4\n");
    snprintf(path, sizeof path, "%s/stat", dir);
    ck_assert(ct_cpu_ticks(path, &busy, &all));
    ck_assert_uint_eq(busy, 150);
    ck_assert_uint_eq(all, 1215);
    put(dir, "stat", "nonsense\n");
    ck_assert(!ct_cpu_ticks(path, &busy, &all));
    ck_assert(!ct_cpu_ticks("/nowhere", &busy, &all));
    ck_assert(!ct_cpu_energy_read(dir, &e) && !e.known);
    put_package(dir, 0, "package-0\n", "262143000000\n");
    put_package(dir, 1, "psys\n", "5\n"); /* contains package 0 */
    put_package(dir, 3, "package-1\n", "1000000\n");
    ck_assert(ct_cpu_energy_read(dir, &e));
    ck_assert_double_eq(e.joules, 0);
    put_package(dir, 0, "package-0\n", "671150\n"); /* has begun again: 0.32885 J to the end, 0.67115 J since */
    put_package(dir, 1, "psys\n", "500000000\n");
    put_package(dir, 3, "package-1\n", "3500000\n");
    ck_assert(ct_cpu_energy_read(dir, &e));
    ck_assert_double_eq_tol(e.joules, 3.5, 1e-9);
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* DIR/hwmonN of a driver, its first sensor in thousandths of a degree; NULL: it has none. */
static void put_sensor(const char *dir, int n, const char *driver, const char *first)
{
    char path[256];
    snprintf(path, sizeof path, "%s/hwmon%d", dir, n);
    mkdir(path, 0777);
    put(path, "name", driver);
    if (first) put(path, "temp1_input", first);
}

START_TEST(cpu_temperature)
{
    char dir[] = "ct-telemetry.XXXXXX", command[96];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert(isnan(ct_cpu_temperature("/nowhere")) && isnan(ct_cpu_temperature(dir)));
    put_sensor(dir, 0, "nvme\n", "90000\n"); /* no processor */
    put_sensor(dir, 1, "coretemp\n", NULL);
    put_sensor(dir, 2, "coretemp\n", "nonsense\n");
    ck_assert(isnan(ct_cpu_temperature(dir)));
    put_sensor(dir, 4, "k10temp\n", "41250\n");
    ck_assert_double_eq_tol(ct_cpu_temperature(dir), 41.25, 1e-9);
    put_sensor(dir, 63, "coretemp\n", "55000\n");
    ck_assert_double_eq_tol(ct_cpu_temperature(dir), 55, 1e-9);
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(cpu_tells)
{
    ct_telemetry t;
    ok(ct_telemetry_read(&ct_backend_cpu, 0, &t));
    ck_assert_str_eq(t.name, "cpu");
    usleep(50000);
    ok(ct_telemetry_read(&ct_backend_cpu, 0, &t));
    if (access("/proc/stat", R_OK) == 0) ck_assert(t.busy >= 0 && t.busy <= 1);
    if (access("/proc/meminfo", R_OK) == 0) ck_assert(t.memory_used > 0 && t.memory_used < t.memory_total);
    says(ct_telemetry_read(&ct_backend_cpu, 1, &t), CT_EBACKEND, "there is one device, number 0; 1 was asked for");
    ct_backend mute = ct_backend_cpu;
    mute.telemetry = NULL;
    says(ct_telemetry_read(&mute, 0, &t), CT_EBACKEND, "backend cpu: it tells nothing about power");
}
END_TEST

/* ---- the gauge ---- */

static ct_telemetry next;
static bool gone;
static int asked;

static ct_status scripted(int index, ct_telemetry *out)
{
    ck_assert_int_eq(index, 3);
    asked++;
    *out = next;
    return gone ? ct_fail(CT_EBACKEND, "the card is gone") : CT_OK;
}

START_TEST(gauge_counts_energy)
{
    ct_backend b = { .name = "scripted", .telemetry = scripted };
    ct_gauge g;
    gone = false;
    asked = 0;
    next = nothing;
    next.energy = 1000;
    next.power = 90;
    ct_gauge_begin(&g, &b, 3, 10, 500);
    ck_assert(g.works && isnan(ct_gauge_each(&g)) && isnan(ct_gauge_power(&g)));
    next.energy = 1060;
    ck_assert(!ct_gauge_read(&g, 10.1, 510, false)); /* too early */
    ck_assert_int_eq(asked, 1);
    ck_assert(ct_gauge_read(&g, 10.5, 520, false));
    ck_assert_double_eq_tol(ct_gauge_last_each(&g), 3, 1e-12); /* 60 J, 20 samples */
    ck_assert_double_eq_tol(ct_gauge_power(&g), 120, 1e-9);
    next.energy = 5000; /* an evaluation */
    ct_gauge_skip(&g, 100, 520);
    next.energy = 5040;
    ck_assert(ct_gauge_read(&g, 100.1, 540, true));
    ck_assert_double_eq_tol(ct_gauge_last_each(&g), 2, 1e-12);
    ck_assert_double_eq_tol(ct_gauge_each(&g), 2.5, 1e-12); /* 100 J, 40 samples */
    ck_assert_double_eq_tol(ct_gauge_power(&g), 100 / 0.6, 1e-9);
    json_t *o = ct_gauge_json(&g);
    ck_assert_double_eq_tol(json_number_value(json_object_get(o, "joules_per_sample")), 2, 1e-12);
    ck_assert_double_eq(json_number_value(json_object_get(o, "energy")), 5040);
    json_decref(o);
    gone = true;
    ck_assert(!ct_gauge_read(&g, 200, 600, false) && !g.works);
    int before = asked;
    ck_assert(!ct_gauge_read(&g, 300, 700, true)); /* is not asked again */
    ct_gauge_skip(&g, 400, 800);
    ck_assert_int_eq(asked, before);
    ck_assert_double_eq_tol(ct_gauge_each(&g), 2.5, 1e-12);
}
END_TEST

START_TEST(gauge_integrates_power)
{
    ct_backend b = { .name = "scripted", .telemetry = scripted };
    ct_gauge g;
    gone = false;
    next = nothing;
    next.power = 100;
    ct_gauge_begin(&g, &b, 3, 0, 0);
    next.power = 200;
    ck_assert(ct_gauge_read(&g, 2, 100, false)); /* 2 s at 150 W */
    ck_assert_double_eq_tol(ct_gauge_each(&g), 3, 1e-12);
    next.power = NAN; /* no longer told: no number is better than a wrong one */
    ck_assert(ct_gauge_read(&g, 3, 110, false));
    ck_assert(isnan(ct_gauge_each(&g)) && isnan(ct_gauge_power(&g)));
    json_t *o = ct_gauge_json(&g);
    ck_assert_ptr_null(json_object_get(o, "joules_per_sample"));
    json_decref(o);
    b.telemetry = NULL;
    ct_gauge_begin(&g, &b, 3, 0, 0);
    ck_assert(!g.works && !ct_gauge_read(&g, 9, 9, true) && isnan(ct_gauge_each(&g)));
}
END_TEST

/* ---- memory ---- */

static uint64_t free_bytes;
static const char *held;
static int64_t allocations;

static ct_status narrow_info(ct_device *dev, ct_device_info *out)
{
    ok(ct_backend_cpu.info(dev, out));
    snprintf(out->name, sizeof out->name, "narrow card");
    out->memory_total = 80000000000;
    out->memory_free = free_bytes;
    return CT_OK;
}
static void narrow_holders(int index, char *buf, size_t size)
{
    ck_assert_int_eq(index, 0);
    ct_fail(CT_EBACKEND, "a message of its own"); /* must not take the place of the one that is being made */
    snprintf(buf, size, "%s", held);
}
static ct_status narrow_alloc(ct_device *dev, size_t bytes, const char *what, void **out)
{
    allocations++;
    if (free_bytes > 0 && bytes > free_bytes) return ct_fail(CT_ENOMEM, "narrow: %s: %zu bytes", what, bytes);
    return ct_backend_cpu.alloc(dev, bytes, what, out);
}

/* The CPU backend with as much memory as the test says. */
static ct_backend narrow(uint64_t bytes)
{
    ct_backend b = ct_backend_cpu;
    b.info = narrow_info;
    b.memory_holders = narrow_holders;
    b.alloc = narrow_alloc;
    free_bytes = bytes;
    held = "";
    allocations = 0;
    return b;
}

static ct_program_spec small_model(int64_t batch)
{
    ct_program_spec s;
    ct_program_defaults(&s);
    s.model = (ct_model_spec){ .name = "textcnn",
                               .height = 16,
                               .width = 40,
                               .channels = 1,
                               .positions = 2,
                               .classes = 4,
                               .width_mult = 1,
                               .hidden = 32,
                               .dropout = -1,
                               .dtype = CT_F32 };
    s.batch = batch;
    ok(ct_model_resolve(&s.model));
    return s;
}

static int threads = 2; /* what calls take beside their tensors hangs on their number */

static int64_t peak_of(int64_t batch, const ct_backend *b)
{
    const ct_device_opts opts = { .threads = threads };
    int64_t peak;
    ct_program_spec s = small_model(batch);
    ok(ct_spec_peak(&s, b, &opts, &peak, NULL));
    return peak;
}

/* What ct_memory_largest promises: what it found fits, one more does not. By and large the peak grows with the batch, so
   that this is the largest of all; but scratch of kernels that work on many rows at once may be as large for a few
   samples more, and in a narrower model than this it hides the first samples. */
static int64_t largest(const ct_backend *b, int64_t memory)
{
    const ct_device_opts opts = { .threads = threads };
    ct_program_spec s = small_model(7); /* its own batch does not count */
    int64_t fits;
    ok(ct_memory_largest(&s, b, &opts, CT_MAX_BATCH, memory, 0, &fits));
    if (fits > 0) ck_assert_int_le(peak_of(fits, b), memory);
    ck_assert_int_gt(peak_of(fits + 1, b), memory);
    return fits;
}

START_TEST(largest_batch)
{
    const ct_device_opts opts = { .threads = threads };
    ct_backend b = narrow(0);
    ct_program_spec s = small_model(7);
    static const int64_t batches[] = { 1, 2, 13, 100, 999 };
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        int64_t peak = peak_of(batches[i], &b), exact = largest(&b, peak), fits;
        ck_assert_int_ge(exact, batches[i]);
        ck_assert_int_le(exact, batches[i] + 1 + batches[i] / 50);
        ck_assert_int_lt(largest(&b, peak - 1), batches[i]);
        ok(ct_memory_largest(&s, &b, &opts, CT_MAX_BATCH, peak, 0.02, &fits));
        ck_assert_int_le(peak_of(fits, &b), peak);
        ck_assert_int_le(fits, exact);
        ck_assert_int_ge(fits, (int64_t)(0.97 * (double)batches[i]));
    }
    ck_assert_int_eq(allocations, 0);
}
END_TEST

/* A store for the model with its plan; what ct_memory_take() says. */
static ct_status take(const ct_backend *b, int64_t batch, const char *key)
{
    const ct_device_opts opts = { .threads = threads };
    ct_program_spec s = small_model(batch);
    const ct_arenas_needs needs = ct_program_needs(&s, true);
    ct_program p;
    ct_layout layout;
    ct_arenas *store;
    ct_plan *plan;
    double sums[CT_METRIC_COUNT];
    ok(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &layout, &p));
    ok(ct_arenas_create(b, &opts, &layout, &needs, true, &store));
    ok(ct_plan_create(store, p.graph, false, &plan));
    ck_assert_int_eq(allocations, 0); /* decided by the plan alone */
    ct_status st = ct_memory_take(store, key ? &s : NULL, key);
    if (st == CT_OK) { /* and it works: weights that are there, a step that runs */
        ok(ct_arenas_init(store, p.graph, 1));
        ok(ct_plan_run(plan));
        ok(ct_arenas_get_metrics(store, sums, true));
        ck_assert_double_eq(sums[CT_METRIC_SAMPLES], (double)batch);
    } else {
        ck_assert(store->planned_only);
        for (int a = 0; a < CT_ARENA_COUNT; a++) ck_assert_ptr_null(store->base[a]);
    }
    char message[1024];
    snprintf(message, sizeof message, "%s", ct_error_message());
    ct_plan_free(plan);
    ct_arenas_free(store);
    ct_program_free(&p);
    return st == CT_OK ? CT_OK : ct_fail(st, "%s", message);
}

/* With some numbers of threads a larger batch takes less than 64. */
START_TEST(too_little_memory)
{
    threads = 1 + _i;
    ct_backend b = narrow(0);
    const uint64_t need = (uint64_t)peak_of(64, &b);
    ok(take(&b, 64, "train.batch_size")); /* 0: the backend does not know */
    allocations = 0;
    free_bytes = need;
    ok(take(&b, 64, "train.batch_size"));
    allocations = 0;
    free_bytes = need - 1;
    held = "2.10 GB by process 4711 (python3)";
    says(take(&b, 64, "train.batch_size"), CT_ENOMEM, " is planned, ");
    ck_assert_ptr_nonnull(
        strstr(ct_error_message(), " of the 80.0 GB of narrow card are free; train.batch_size 64 is too much, 6"));
    ck_assert_ptr_nonnull(strstr(ct_error_message(), " fits; held: 2.10 GB by process 4711 (python3)"));
    held = "";
    says(take(&b, 64, "--batch"), CT_ENOMEM, "; --batch 64 is too much, ");
    ck_assert_ptr_null(strstr(ct_error_message(), "held"));
    says(take(&b, 64, NULL), CT_ENOMEM, " narrow card are free");
    ck_assert_ptr_null(strstr(ct_error_message(), "too much"));
    free_bytes = 100;
    says(take(&b, 64, "train.batch_size"), CT_ENOMEM, "; not even a batch of one fits");
    ck_assert_int_eq(allocations, 0);
}
END_TEST

static int fail_at;
static ct_status sudden_alloc(ct_device *dev, size_t bytes, const char *what, void **out)
{
    if (fail_at-- == 0) {
        free_bytes = 5000;
        return ct_fail(CT_ENOMEM, "narrow: %s: %zu bytes", what, bytes);
    }
    return ct_backend_cpu.alloc(dev, bytes, what, out);
}

/* Somebody else takes the memory between the look and the taking. */
START_TEST(memory_gone_in_between)
{
    ct_backend b = narrow(0);
    const uint64_t need = (uint64_t)peak_of(8, &b);
    b.alloc = sudden_alloc;
    for (int k = 0;; k++) {
        fail_at = k;
        free_bytes = need;
        held = "9 GB by process 3";
        ct_status st = take(&b, 8, "train.batch_size");
        if (st == CT_OK) {
            ck_assert_int_gt(k, 5); /* all arenas had their turn */
            break;
        }
        says(st, CT_ENOMEM, "narrow: ");
        ck_assert_msg(strstr(ct_error_message(), " bytes: ") &&
                          strstr(ct_error_message(), "5.00 kB of the 80.0 GB of narrow card are free; not even"),
                      "%s", ct_error_message());
        ck_assert_ptr_nonnull(strstr(ct_error_message(), "held: 9 GB by process 3"));
    }
}
END_TEST

/* ---- train.batch_size: auto ---- */

static ct_config *parse(const char *text)
{
    ct_config *cfg;
    ok(ct_config_parse(text, strlen(text), "t.yaml", NULL, 0, &cfg));
    return cfg;
}

START_TEST(auto_in_a_configuration)
{
    ct_config *cfg = parse("train: {batch_size: auto}\n"), *again;
    ck_assert_int_eq(cfg->train.batch_size, 0);
    char *yaml = ct_config_yaml(cfg, false), *json = ct_config_json(cfg),
         *value = ct_config_value(cfg, "train.batch_size");
    ck_assert_str_eq(value, "auto");
    ck_assert_ptr_nonnull(strstr(yaml, "  batch_size: auto\n"));
    ck_assert_ptr_nonnull(strstr(json, "\"batch_size\":\"auto\""));
    again = parse(yaml);
    ck_assert(ct_config_equal(cfg, again));
    ct_config_free(again);
    again = parse(json);
    ck_assert(ct_config_equal(cfg, again));
    ct_config_free(again);
    ok(ct_config_set(cfg, "train.batch_size", "AUTO", "x"));
    ck_assert_int_eq(cfg->train.batch_size, 0);
    static const char *const bad[] = { "0", "-1", "automatic", "65537" };
    for (size_t i = 0; i < 4; i++)
        says(ct_config_set(cfg, "train.batch_size", bad[i], "x"), CT_ECONFIG, "; auto is possible, too");
    says(ct_config_set(cfg, "train.epochs", "auto", "x"), CT_ECONFIG, "train.epochs: must be an integer");
    ct_free(yaml);
    ct_free(json);
    ct_free(value);
    ct_config_free(cfg);
}
END_TEST

#define SMALL "model: {name: textcnn, width: 1, hidden: 32}\ndata: {height: 16, width: 40}\n"

static int64_t chosen(const ct_backend *b, int64_t samples)
{
    const ct_device_opts opts = { 0 };
    ct_config *cfg = parse(
        SMALL "train: {batch_size: auto}\nschedule: {lr_rule: linear, reference_batch: 100}\noptimizer: {lr: 0.1}\n");
    ct_facts *facts = text_facts(2, 4);
    ct_program_spec s;
    ok(ct_memory_auto(cfg, facts, 16, 40, 0, b, &opts, samples));
    int64_t batch = cfg->train.batch_size;
    ok(ct_spec_from_config(cfg, facts, 16, 40, 0, 10, &s));
    ck_assert_int_eq(s.batch, batch);
    ck_assert_double_eq_tol(s.schedule.base_lr, 0.001 * (double)batch, 1e-12); /* the learning rate sees it */
    ok(ct_memory_auto(cfg, facts, 16, 40, 0, b, &opts, 1));                         /* a number stays */
    ck_assert_int_eq(cfg->train.batch_size, batch);
    ct_task_text.forget(facts);
    ct_config_free(cfg);
    return batch;
}

START_TEST(auto_takes_what_fits)
{
    ct_backend b = narrow(0);
    const ct_device_opts opts = { 0 };
    ct_log_set_level(CT_LOG_WARN);
    ct_config *cfg = parse(SMALL "train: {batch_size: auto}\n");
    ct_facts *facts = text_facts(2, 4);
    says(ct_memory_auto(cfg, facts, 16, 40, 0, &b, &opts, 1000), CT_EUNSUPPORTED, "does not know how much memory is free");
    free_bytes = 1000;
    says(ct_memory_auto(cfg, facts, 16, 40, 0, &b, &opts, 1000), CT_ENOMEM,
         "auto: not even a batch of one fits the 1.00 kB that narrow card has free");
    ct_program_spec s;
    int64_t p100, p3, peak;
    ct_config *fixed = parse(SMALL "train: {batch_size: 100}\n");
    ok(ct_spec_from_config(fixed, facts, 16, 40, 0, 1, &s));
    ok(ct_spec_peak(&s, &b, &opts, &p100, NULL));
    s.batch = 3;
    ok(ct_spec_peak(&s, &b, &opts, &p3, NULL));
    free_bytes = (uint64_t)((double)p100 / 0.9) + 1;
    int64_t batch = chosen(&b, 1000000);
    ck_assert_msg(batch == 96, "%" PRId64, batch); /* 100 or 99 fit */
    ck_assert_int_eq(chosen(&b, 50), 50);
    free_bytes = (uint64_t)((double)p3 / 0.9) + 1;
    batch = chosen(&b, 1000000); /* 3, or 4 where that needs no more; below 8 there is no rounding */
    ck_assert_int_ge(batch, 3);
    ck_assert_int_le(batch, 4);
    s.batch = batch;
    ok(ct_spec_peak(&s, &b, &opts, &peak, NULL));
    ck_assert_int_le(peak, p3);
    s.batch = batch + 1;
    ok(ct_spec_peak(&s, &b, &opts, &peak, NULL));
    ck_assert_int_gt(peak, p3);
    ck_assert_int_eq(allocations, 0);
    ct_config_free(fixed);
    ct_task_text.forget(facts);
    ct_config_free(cfg);
}
END_TEST

/* ---- the smoke test ---- */

START_TEST(smoke_of_the_cpu)
{
    const ct_device_opts opts = { 0 }, ref = { .reference = true };
    ct_smoke a, b;
    double worst;
    ok(ct_smoke_run(&ct_backend_cpu, &opts, &a));
    ok(ct_smoke_run(&ct_backend_cpu, &ref, &b));
    ck_assert_int_ge(a.steps, 2);
    ok(ct_smoke_judge(&a, &b, &worst));
    ck_assert_double_lt(worst, CT_SMOKE_TOLERANCE / 10); /* the tolerance has room for other devices' rounding */
    ct_smoke bad = a;
    bad.loss[1] *= 1.01;
    says(ct_smoke_judge(&bad, &b, &worst), CT_EINTERNAL, "the loss of step 2 is ");
    bad = a;
    bad.loss[bad.steps - 1] = NAN;
    says(ct_smoke_judge(&bad, &b, &worst), CT_EINTERNAL, "is nan");
    bad = a;
    for (int i = 0; i < bad.steps; i++) bad.loss[i] = 1;
    says(ct_smoke_judge(&bad, &bad, &worst), CT_EINTERNAL, "the loss does not fall: 1, after ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("telemetry");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, text_and_json);
    tcase_add_test(t, cpu_counters);
    tcase_add_test(t, cpu_temperature);
    tcase_add_test(t, cpu_tells);
    tcase_add_test(t, gauge_counts_energy);
    tcase_add_test(t, gauge_integrates_power);
    tcase_add_test(t, largest_batch);
    tcase_add_loop_test(t, too_little_memory, 0, 6);
    tcase_add_test(t, memory_gone_in_between);
    tcase_add_test(t, auto_in_a_configuration);
    tcase_add_test(t, auto_takes_what_fits);
    tcase_add_test(t, smoke_of_the_cpu);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
