/* The code around cuBLASLt and cuDNN: backends/cuda/lt.c, dnn.c and dnn_plan.c in the emulated plug-in, with stand-ins that are as strict
 * as the libraries and offer what must not be taken. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/exec.h"
#include "harness/harness.h"
#include "measure/measure.h"
#include "tests/ct_check.h"

#define PRODUCT "linear(bf16[20,64], bf16[16,64], bf16[16])"
#define PLAIN "linear(bf16[20,64], bf16[16,64], -)"
#define CONV "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(%s[2,5,6,8], %s[16,3,3,8], -)"
#define CONV_F32 "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(f32[2,5,6,8], f32[16,3,3,8], -)"
#define CONV_BF16 "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(bf16[2,5,6,8], bf16[16,3,3,8], -)"

static const ct_backend *cuda;
static ct_device *dev;
static ct_device_opts opts;

static void ok(ct_status st)
{
    ck_assert_msg(st == CT_OK, "%s", ct_error_message());
}

/* The emulated card, opened; `fault` is what goes wrong there, "" for nothing. */
static void begin(const char *fault, ct_device_opts o)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/tests/emulate/.libs", ct_check_builddir());
    setenv("CAPTRAIN_BACKEND_PATH", path, 1);
    setenv("EMULATE_WRONG", fault, 1);
    opts = o;
    ok(ct_backend_load("cuda", &cuda));
    ok(cuda->open(&opts, &dev));
}

static ct_call conv(const char *type)
{
    char text[256];
    ct_call call;
    snprintf(text, sizeof text, CONV, type, type);
    ok(ct_call_parse(text, &call));
    return call;
}

/* Who takes a call, and the library's name of how. */
static ct_choice taken(const ct_call *call, char engine[96])
{
    ct_choice c;
    ct_receipt r;
    ok(ct_dispatch(cuda, dev, &opts, call, &c));
    ok(ct_receipt_of(cuda, dev, c.impl, call, &r));
    memcpy(engine, r.engine, sizeof r.engine);
    return c;
}

/* The library's workspace must stand at 256 bytes, and is the library's own. */
START_TEST(workspace)
{
    ct_call call;
    ct_stream *s;
    void *room[4], *scratch;
    char engine[96];
    begin("", (ct_device_opts){ .index = 0 });
    ok(ct_call_parse(PRODUCT, &call));
    const ct_choice c = taken(&call, engine);
    ck_assert_str_eq(c.impl->name, "cuda.lt");
    ck_assert_uint_gt(c.scratch, 0);
    ok(cuda->stream_create(dev, &s));
    ct_tensor *t[4] = { &call.in[0], &call.in[1], &call.in[2], &call.out[0] };
    for (int i = 0; i < 4; i++) {
        ok(cuda->alloc(dev, ct_desc_bytes(&t[i]->desc), "test", &room[i]));
        ok(cuda->clear(dev, s, room[i], ct_desc_bytes(&t[i]->desc)));
        t[i]->data = room[i];
    }
    ok(cuda->alloc(dev, c.scratch + 256, "test", &scratch));
    ck_assert_uint_eq((uintptr_t)scratch % 512, 256); /* what is promised, and no more */
    ok(c.impl->run(dev, s, &call, scratch));
    ck_assert_int_eq(c.impl->run(dev, s, &call, (char *)scratch + 64), CT_EINTERNAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "not at a multiple of 256"));
    for (int i = 0; i < 4; i++) cuda->free(dev, room[i]);
    cuda->free(dev, scratch);
    cuda->stream_destroy(dev, s);
    cuda->close(dev);
}
END_TEST

/* Parts of a sum are added in f32: none of the algorithms that add them in the type of the result is ever asked for, and of those that
 * are left the first is taken. */
START_TEST(sums_in_f32)
{
    ct_call call;
    char engine[96], names[16][CT_VARIANT_NAME];
    begin("", (ct_device_opts){ .index = 0 });
    ok(ct_call_parse(PLAIN, &call));
    const ct_choice c = taken(&call, engine);
    ck_assert_msg(strncmp(engine, "cuBLASLt algo3/", 15) == 0 && strstr(engine, "/red2"), "%s", engine);
    ck_assert_int_eq(cuda->variants(dev, c.impl, &call, names, 16), 2);
    ck_assert(strncmp(names[0], "algo3/", 6) == 0 && strncmp(names[1], "algo4/", 6) == 0);
    cuda->close(dev);
}
END_TEST

/* The bias of a 16-bit result is the epilogue's where nothing is split and rows are aligned; elsewhere the product is added to it. */
START_TEST(biases)
{
    static const struct { const char *call, *taken; int with, without; } all[] = {
        { "linear(bf16[20,24], bf16[16,24], bf16[16])", "algo4/", 1, 1 },  { PRODUCT, "algo3/", 1, 2 },
        { "linear(f16[20,20], f16[16,20], f16[16])", "algo4/", 0, 1 },     { "linear(f16[20,24], f16[10,24], f16[10])", "algo4/", 0, 1 },
        { "linear(f32[20,37], f32[10,37], f32[10])", "algo3/", 2, 0 },     { PLAIN, "algo3/", 2, 0 }
    };
    ct_call call;
    char engine[96], names[16][CT_VARIANT_NAME];
    int with = 0, without = 0;
    begin("", (ct_device_opts){ .index = 0 });
    ok(ct_call_parse(all[_i].call, &call));
    const ct_choice c = taken(&call, engine);
    ck_assert_str_eq(c.impl->name, "cuda.lt");
    ck_assert_msg(strncmp(engine + 9, all[_i].taken, 6) == 0, "%s", engine);
    const bool first = strstr(engine, "/onto") != NULL;
    ck_assert_int_eq(first, _i >= 1 && _i <= 3);
    for (int i = cuda->variants(dev, c.impl, &call, names, 16); i-- > 0;) {
        if (strstr(names[i], "/onto")) without++;
        else with++;
    }
    ck_assert_int_eq(with, all[_i].with);
    ck_assert_int_eq(without, all[_i].without);
    cuda->close(dev);
}
END_TEST

/* What the self-test says of a call. */
static char *selftest(const char *text, const char *impl, bool variants, ct_selftest_report *r)
{
    char *log = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&log, &size);
    ck_assert_ptr_nonnull(to);
    const ct_selftest_opts o = { .seed = 1, .call = text, .impl = impl, .variants = variants, .log = to };
    *r = (ct_selftest_report){ .rows = NULL };
    ok(ct_selftest_ops(cuda, dev, &o, r));
    fclose(to);
    return log;
}

/* Variants are tested on demand, one that computes something else is named, and its name is enough to test it alone; none is left
 * preferred. One whose products are of transformed operands need not give the reference's bits. */
START_TEST(variants_tested)
{
    static const struct { const char *fault, *call, *impl, *own, *wrong; bool own_too; } all[] = {
        { "lt-4", PLAIN, "cuda.lt", "algo3/", "cuda.lt:algo4/tile0/stages0/split1/red0/swz0/opt0/inner0/cluster0", false },
        { "dnn-3", CONV_BF16, "cuda.dnn", "eng4/", "cuda.dnn:eng3/k0=4", false },
        { "dnn-3", CONV_F32, "cuda.dnn", "eng3/", "cuda.dnn:eng3/k0=4", true },
        { "", CONV_F32, "cuda.dnn", "eng3/", NULL, false }
    };
    ct_selftest_report r;
    ct_call call;
    char engine[96], repro[128], *log;
    begin(all[_i].fault, (ct_device_opts){ .index = 0 });
    ok(ct_call_parse(all[_i].call, &call));
    log = selftest(all[_i].call, all[_i].impl, false, &r);
    ck_assert_int_eq(r.failed > 0, all[_i].own_too);
    if (all[_i].own_too) ck_assert_msg(strstr(log, ", by cuDNN eng3/k0=4\n") != NULL, "%s", log);
    ct_selftest_report_free(&r);
    free(log);
    log = selftest(all[_i].call, all[_i].impl, true, &r);
    ck_assert_uint_eq(r.nrows, 2);
    ck_assert(!r.rows[0].variants && r.rows[1].variants);
    ck_assert_int_gt(r.rows[1].cases, r.rows[0].cases);
    ck_assert_int_eq(r.rows[1].failed > 0, all[_i].wrong != NULL);
    if (all[_i].wrong) {
        snprintf(repro, sizeof repro, "--impl %s --data ints", all[_i].wrong);
        ck_assert_msg(strstr(log, repro) != NULL, "%s", log);
    }
    ct_selftest_report_free(&r);
    free(log);
    taken(&call, engine);
    ck_assert_msg(strstr(engine, all[_i].own) != NULL, "%s", engine);
    log = selftest(all[_i].call, all[_i].wrong ? all[_i].wrong : "cuda.dnn:eng7/k0=8", false, &r);
    ck_assert(r.nrows == 1 && r.rows[0].variants && r.rows[0].refused == 0);
    ck_assert_int_eq(r.failed > 0, all[_i].wrong != NULL);
    ct_selftest_report_free(&r);
    free(log);
    log = selftest(all[_i].call, _i == 0 ? "cuda.lt:algo9" : "cuda.dnn:eng5/k0=6", false, &r); /* refused, which is no failure */
    ck_assert(r.failed == 0 && r.cases == 0 && r.refused > 0);
    ct_selftest_report_free(&r);
    free(log);
    cuda->close(dev);
}
END_TEST

/* Winograd's engine says so, the others do not. */
START_TEST(transforms)
{
    ct_receipt r;
    ct_choice c;
    begin("", (ct_device_opts){ .index = 0 });
    ct_call call = conv("f32");
    ok(ct_dispatch(cuda, dev, &opts, &call, &c));
    ok(ct_receipt_of(cuda, dev, c.impl, &call, &r));
    ck_assert(!r.transforms);
    ok(cuda->prefer(dev, c.impl, &call, "eng7/k0=8"));
    ok(ct_receipt_of(cuda, dev, c.impl, &call, &r));
    ck_assert(r.transforms);
    cuda->close(dev);
}
END_TEST

/* Of cuDNN's engines: not the one that wants 3 GiB, not the one that adds in 16 bits, none without matrix units; in f32 none with them. */
START_TEST(engines)
{
    char engine[96];
    begin("", (ct_device_opts){ .deterministic = _i == 1, .tf32 = _i == 2 });
    ct_call call = conv("bf16");
    ct_choice c = taken(&call, engine);
    ck_assert_str_eq(c.impl->name, "cuda.dnn");
    ck_assert_str_eq(engine, _i == 1 ? "cuDNN eng2/k0=3" : "cuDNN eng4/k0=5");
    call = conv("f32");
    c = taken(&call, engine);
    ck_assert_str_eq(engine, _i == 2 ? "cuDNN eng4/k0=5" : "cuDNN eng3/k0=4");
    ck_assert_uint_eq(c.scratch, 0);
    cuda->close(dev);
}
END_TEST

/* An engine that leaves out of its notes that it adds in 16 bits is known by its number: neither taken nor a variant, nor to be had by name. */
START_TEST(silent_engine)
{
    ct_call call;
    char engine[96], names[16][CT_VARIANT_NAME];
    begin("", (ct_device_opts){ .index = 0 });
    ok(ct_call_parse("conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}(f16[2,5,6,8], f16[2,5,6,16])", &call));
    const ct_choice c = taken(&call, engine);
    ck_assert_str_eq(c.impl->name, "cuda.dnn");
    ck_assert_msg(!strstr(engine, "eng62"), "%s", engine);
    for (int i = cuda->variants(dev, c.impl, &call, names, 16); i-- > 0;) ck_assert_msg(!strstr(names[i], "eng62"), "%s", names[i]);
    ck_assert_int_ne(cuda->prefer(dev, c.impl, &call, "eng62/k0=63"), CT_OK);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "do not allow"));
    cuda->close(dev);
}
END_TEST

/* One list of the heuristics that cannot be had is no reason not to ask for the next. */
START_TEST(a_list_fails)
{
    char engine[96];
    begin("dnn-list", (ct_device_opts){ .index = 0 });
    ct_call call = conv("f16");
    const ct_choice c = taken(&call, engine);
    ck_assert_str_eq(c.impl->name, "cuda.dnn");
    ck_assert_str_eq(engine, "cuDNN eng6/k0=7");
    call = conv("f32");
    taken(&call, engine);
    ck_assert_str_eq(engine, "cuDNN eng3/k0=4");
    cuda->close(dev);
}
END_TEST

/* Plain loops are not timed where a library accepts, and are the only way, and known to be one, where it refuses. */
START_TEST(yardstick)
{
    const bool refuses = _i == 1;
    ct_call call;
    ct_measured m;
    char engine[96];
    begin(refuses ? "lt" : "", (ct_device_opts){ .index = 0 });
    ok(ct_call_parse(PRODUCT, &call));
    const ct_choice c = taken(&call, engine);
    ck_assert_str_eq(c.impl->name, refuses ? "cuda.direct" : "cuda.lt");
    ck_assert_int_eq((c.impl->flags & CT_IMPL_YARDSTICK) != 0, refuses);
    if (refuses) ck_assert_str_eq(c.instead, "cuBLASLt has no algorithm for this");
    else ck_assert_ptr_null(c.instead);
    ck_assert_int_eq(ct_measure_ways(cuda, dev, &opts, &call), refuses ? 0 : 2);
    ok(ct_measure_call(cuda, dev, &opts, &call, 0.001, &m));
    const ct_candidate *direct = &m.c[m.n - 1];
    ck_assert_str_eq(direct->name, "cuda.direct");
    if (refuses) ck_assert_ptr_null(direct->refused);
    else ck_assert_ptr_nonnull(direct->refused);
    ck_assert_int_eq(direct->time.runs > 0, refuses);
    ct_measured_free(&m);
    cuda->close(dev);
}
END_TEST

int main(void)
{
    if (getenv("CT_SANITIZERS") && *getenv("CT_SANITIZERS")) {
        puts("skipped: sanitizers do not know the emulator's fibers");
        return 77;
    }
    Suite *s = suite_create("libs");
    TCase *t = tcase_create("libs"); /* each in a process of its own: a library's faults are part of the environment */
    tcase_set_timeout(t, 60);
    tcase_add_test(t, workspace);
    tcase_add_test(t, sums_in_f32);
    tcase_add_loop_test(t, biases, 0, 6);
    tcase_add_loop_test(t, variants_tested, 0, 4);
    tcase_add_test(t, transforms);
    tcase_add_loop_test(t, engines, 0, 3);
    tcase_add_test(t, silent_engine);
    tcase_add_test(t, a_list_fails);
    tcase_add_loop_test(t, yardstick, 0, 2);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
