/* What the CUDA backend makes of NVML's answers, against the stand-in of fake_nvml.c. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/nvml.h"
#include "base/alloc.h"
#include "base/env.h"
#include "tests/ct_check.h"

static const char *library; /* what CAPTRAIN_NVML would say */

static const char *env(int which)
{
    ck_assert_int_eq(which, CT_ENV_NVML);
    return library;
}

static const ct_services core = { CT_BACKEND_ABI, sizeof(ct_services), ct_fail, NULL, env, ct_aligned_alloc, ct_free };

/* Asks another library from here on. */
static void take(const char *name)
{
    static char path[4096];
    ct_nvml_close();
    snprintf(path, sizeof path, "%s/tests/.libs/%s.so", ct_check_builddir(), name);
    library = path;
}

static void refuses(const char *bus, const char *part)
{
    ct_telemetry t;
    ck_assert_int_eq(ct_nvml_telemetry(&core, bus, &t), CT_EBACKEND);
    ck_assert_msg(strstr(ct_error_message(), part), "'%s' is not in: %s", part, ct_error_message());
}

START_TEST(bus_ids)
{
    static const char *const same[] = { "0000:18:00.0", "00000000:18:00.0", "00000000:18:00.0", "0:18:0.0" };
    char out[CT_NVML_BUS];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        ck_assert(ct_nvml_bus(same[i], out));
        ck_assert_str_eq(out, "00000000:18:00.0");
    }
    ck_assert(ct_nvml_bus("0001:af:1c.7", out));
    ck_assert_str_eq(out, "00000001:AF:1C.7");
    ck_assert(ct_nvml_bus("0001ABCD:AF:1C.7", out));
    ck_assert_str_eq(out, "0001ABCD:AF:1C.7");
    static const char *const bad[] = { "", "18:00.0", "0000:18:00", "0000:18:00.0x", "GPU-1234", "0000:zz:00.0" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) ck_assert_msg(!ct_nvml_bus(bad[i], out), "'%s'", bad[i]);
}
END_TEST

START_TEST(throttle_words)
{
    char buf[160], small[16];
    static const struct { uint64_t bits; const char *words; } row[] = {
        { 0, "" },
        { 1, "" }, /* idle */
        { 4, "power cap" },
        { 0x24, "power cap, thermal (software)" },
        { 0x40 | 1, "thermal (hardware)" },
        { 0x80 | 8, "hardware slowdown, power brake" },
        { 0x112, "clocks set by the user, sync boost, display clocks" },
        { 0x404, "power cap, unknown (0x400)" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ct_nvml_throttle(row[i].bits, buf, sizeof buf);
        ck_assert_str_eq(buf, row[i].words);
    }
    ct_nvml_throttle(0x1fe, buf, sizeof buf);
    ck_assert_uint_lt(strlen(buf), sizeof buf - 1); /* all of them fit into ct_telemetry.throttle */
    ck_assert(strstr(buf, "display clocks"));
    ct_nvml_throttle(~(uint64_t)0, small, sizeof small); /* cut, not over the end */
    ck_assert_uint_eq(strlen(small), sizeof small - 1);
}
END_TEST

/* CUDA's card 0 may be any of the driver's: the bus id decides. */
START_TEST(a_card_tells)
{
    ct_telemetry t, again;
    take("fake_nvml");
    setenv("CT_FAKE_NVML_THROTTLE", "0x24", 1);
    ck_assert_msg(ct_nvml_telemetry(&core, "0000:18:00.0", &t) == CT_OK, "%s", ct_error_message());
    ck_assert_str_eq(t.name, "fake card one");
    ck_assert_str_eq(t.bus, "00000000:18:00.0");
    ck_assert_double_eq_tol(t.power, 312.5, 1e-9);
    ck_assert_double_eq_tol(t.power_limit, 700, 1e-9);
    ck_assert_double_eq_tol(t.busy, 0.98, 1e-9);
    ck_assert_double_eq_tol(t.memory_busy, 0.71, 1e-9);
    ck_assert_double_eq(t.temperature, 64);
    ck_assert_double_eq(t.clock, 1755);
    ck_assert_double_eq(t.clock_max, 1980);
    ck_assert_double_eq(t.memory_clock, 2619);
    ck_assert_double_eq(t.memory_used, 20e9);
    ck_assert_double_eq(t.memory_total, 80e9);
    ck_assert_str_eq(t.throttle, "power cap, thermal (software)");
    ck_assert_int_eq(ct_nvml_telemetry(&core, "00000000:18:00.0", &again), CT_OK);
    ck_assert_double_eq_tol(again.energy - t.energy, 50, 1e-9);
    ck_assert_int_eq(ct_nvml_telemetry(&core, "00000000:00:00.0", &t), CT_OK); /* behind a card that is lost */
    ck_assert_str_eq(t.name, "fake card two");
    char driver[32];
    ct_nvml_driver(&core, driver, sizeof driver);
    ck_assert_str_eq(driver, "599.12.3");
    ct_nvml_close();
}
END_TEST

START_TEST(a_mute_card)
{
    ct_telemetry t;
    take("fake_nvml");
    ck_assert_int_eq(ct_nvml_telemetry(&core, "0000:3b:00.0", &t), CT_OK);
    ck_assert_str_eq(t.name, "fake card that is mute");
    const double none[] = { t.power, t.power_limit, t.energy,      t.busy,         t.memory_busy, t.temperature,
                            t.clock, t.clock_max,   t.memory_clock, t.memory_used, t.memory_total };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) ck_assert_msg(isnan(none[i]), "value %zu", i);
    ck_assert_str_eq(t.throttle, "");
    char who[256] = "x";
    ct_nvml_holders(&core, "0000:3b:00.0", who, sizeof who); /* more processes than there is room for */
    ck_assert_str_eq(who, "");
    ct_nvml_close();
}
END_TEST

START_TEST(an_old_driver)
{
    ct_telemetry t;
    char who[256], want[256];
    take("fake_nvml_old");
    setenv("CT_FAKE_NVML_THROTTLE", "0x40", 1);
    ck_assert_msg(ct_nvml_telemetry(&core, "0000:18:00.0", &t) == CT_OK, "%s", ct_error_message());
    ck_assert_double_eq_tol(t.power, 312.5, 1e-9);
    ck_assert(isnan(t.power_limit) && isnan(t.energy));
    ck_assert_str_eq(t.throttle, "thermal (hardware)");
    ct_nvml_holders(&core, "0000:18:00.0", who, sizeof who);
    snprintf(want, sizeof want, "7.00 GB by process %u (this one), 5.00 GB by process 4294967294", (unsigned)getpid());
    ck_assert_str_eq(who, want);
    ct_nvml_close();
}
END_TEST

START_TEST(holders_of_memory)
{
    char who[512], want[512], comm[64] = "", path[64], small[60];
    take("fake_nvml");
    snprintf(path, sizeof path, "/proc/%u/comm", (unsigned)getppid());
    FILE *f = fopen(path, "r");
    if (f && fgets(comm, 24, f)) comm[strcspn(comm, "\n")] = '\0';
    if (f) fclose(f);
    ct_nvml_holders(&core, "0000:18:00.0", who, sizeof who);
    snprintf(want, sizeof want,
             "2.10 GB by process %u%s%s%s, 900 MB by process 4294967293, 300 MB by process %u (this one), an unknown part by process 4294967294",
             (unsigned)getppid(), comm[0] ? " (" : "", comm, comm[0] ? ")" : "", (unsigned)getpid());
    ck_assert_str_eq(who, want);
    ct_nvml_holders(&core, "0000:18:00.0", small, sizeof small);
    ck_assert_uint_lt(strlen(small), sizeof small);
    ck_assert_str_eq(small + strlen(small) - 3, "...");
    ct_nvml_holders(&core, "0000:77:00.0", who, sizeof who);
    ck_assert_str_eq(who, "");
    ct_nvml_close();
}
END_TEST

START_TEST(failures)
{
    ct_nvml_close();
    library = "/nowhere/libnvidia-ml.so.1";
    refuses("0000:18:00.0", "/nowhere/libnvidia-ml.so.1, which comes with the NVIDIA driver");
    char text[64] = "x";
    ct_nvml_driver(&core, text, sizeof text);
    ck_assert_str_eq(text, "");
    take("fake_nvml_ancient");
    refuses("0000:18:00.0", "has no function nvmlDeviceGetPciInfo_v3: the NVIDIA driver is too old");
    take("fake_nvml");
    setenv("CT_FAKE_NVML_INIT", "9", 1);
    refuses("0000:18:00.0", "cannot start: Driver Not Loaded (9)");
    unsetenv("CT_FAKE_NVML_INIT");
    refuses("0000:77:00.0", "none of the driver's 4 cards is at PCI bus id 00000000:77:00.0");
    refuses("", "'' is no PCI bus id");
    ct_telemetry t;
    ck_assert_int_eq(ct_nvml_telemetry(&core, "0000:18:00.0", &t), CT_OK);
    ct_nvml_close();
    ct_nvml_close();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("nvml");
    TCase *t = tcase_create("all");
    tcase_add_test(t, bus_ids);
    tcase_add_test(t, throttle_words);
    tcase_add_test(t, a_card_tells);
    tcase_add_test(t, a_mute_card);
    tcase_add_test(t, an_old_driver);
    tcase_add_test(t, holders_of_memory);
    tcase_add_test(t, failures);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
