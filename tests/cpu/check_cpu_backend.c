/* The CPU backend itself: device, memory, refusals, the inner loops of every instruction set against plain loops. That
 * bits depend on no more than they may: check_same_bits; what operators compute: check_ops. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "exec/exec.h"
#include "tests/cpu/cpu_fixture.h"
#include "tests/ct_check.h"

/* ---- table and device ---- */

START_TEST(table_is_in_order)
{
    ck_assert_uint_eq(ct_backend_cpu.abi, CT_BACKEND_ABI);
    ck_assert_uint_eq(ct_backend_cpu.size, sizeof(ct_backend));
    ck_assert_msg(ct_backend_validate(&ct_backend_cpu) == CT_OK, "%s", ct_error_message());
    for (int op = 0; op < CT_OP_COUNT; op++) {
        const ct_impl *last = NULL;
        for (const ct_impl *m = NULL; (m = ct_impl_next(&ct_backend_cpu, (ct_op)op, m)); last = m)
            ck_assert(m->flags & CT_IMPL_DETERMINISTIC);
        ck_assert_msg((last && last->flags & CT_IMPL_REFERENCE) || op == CT_OP_RESHAPE, "%s has no reference",
                      ct_op_get((ct_op)op)->name);
    }
    /* Order of preference where there are several. */
    static const char *const names[] = { "cpu.depthwise", "cpu.planes",   "cpu.winograd16", "cpu.bf16",
                                         "cpu.winograd",  "cpu.split",    "cpu.indirect",   "ref" };
    const ct_impl *m = NULL;
    for (int i = 0; i < 8; i++) {
        m = ct_impl_next(&ct_backend_cpu, CT_OP_CONV2D, m);
        ck_assert_str_eq(m->name, names[i]);
    }
    m = ct_impl_next(&ct_backend_cpu, CT_OP_CONV2D_WGRAD, NULL);
    ck_assert_str_eq(m->name, "cpu.depthwise");
    m = ct_impl_next(&ct_backend_cpu, CT_OP_CONV2D_WGRAD, m);
    ck_assert_str_eq(m->name, "cpu.planes");
    m = ct_impl_next(&ct_backend_cpu, CT_OP_CONV2D_WGRAD, m);
    ck_assert_str_eq(m->name, "cpu.winograd16");
}
END_TEST

START_TEST(device_opens_or_says_why)
{
    ct_device *dev;
    ct_device_opts o = { .index = 1 };
    ck_assert_int_eq(ct_backend_cpu.device_count(), 1);
    ck_assert_int_eq(ct_backend_cpu.open(&o, &dev), CT_EBACKEND);
    ck_assert_ptr_null(dev);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "1 was asked for"));
    o = (ct_device_opts){ .threads = -2 };
    ck_assert_int_eq(ct_backend_cpu.open(&o, &dev), CT_EINVAL);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "-2 threads"));
    o = (ct_device_opts){ .threads = 0 };
    ct_alloc_fail_after(0);
    ck_assert_int_eq(ct_backend_cpu.open(&o, &dev), CT_ENOMEM);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "CPU device"));
    ct_alloc_fail_after(-1);

    ck_assert_int_eq(ct_backend_cpu.open(&o, &dev), CT_OK);
    ct_device_info info;
    ck_assert_int_eq(ct_backend_cpu.info(dev, &info), CT_OK);
    ck_assert_int_ge(info.threads, 1);
    ck_assert(info.name[0] && info.detail[0]);
    ck_assert_ptr_nonnull(strstr(info.detail, dev->kern->name));
    ck_assert_uint_gt(info.memory_total, 0);
    ck_assert_uint_le(info.memory_free, info.memory_total);
    ct_backend_cpu.close(dev);
    ct_backend_cpu.close(NULL);
    dev = open_device(3);
    ck_assert_int_eq(dev->threads, ct_cpu_has_openmp() ? 3 : 1);
    ct_backend_cpu.close(dev);
}
END_TEST

START_TEST(memory_and_streams)
{
    ct_device *dev = open_device(1);
    const size_t sizes[] = { 0, 1, 1000, (size_t)5 << 20 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *p;
        ck_assert_int_eq(ct_backend_cpu.alloc(dev, sizes[i], "a test", &p), CT_OK);
        ck_assert_uint_eq((uintptr_t)p % CT_ALIGN, 0);
        if (sizes[i] > 0) {
            char b = 7;
            ck_assert_int_eq(ct_backend_cpu.clear(dev, NULL, p, sizes[i]), CT_OK);
            ck_assert_int_eq(((char *)p)[sizes[i] - 1], 0);
            ck_assert_int_eq(ct_backend_cpu.upload(dev, NULL, (char *)p + sizes[i] - 1, &b, 1), CT_OK);
            b = 0;
            ck_assert_int_eq(ct_backend_cpu.download(dev, NULL, &b, (char *)p + sizes[i] - 1, 1), CT_OK);
            ck_assert_int_eq(b, 7);
        }
        ct_backend_cpu.free(dev, p);
    }
    void *p = dev;
    ct_alloc_fail_after(0);
    ck_assert_int_eq(ct_backend_cpu.alloc(dev, 64, "the tensor", &p), CT_ENOMEM);
    ck_assert_ptr_null(p);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "the tensor"));
    ct_alloc_fail_after(-1);
    ct_backend_cpu.free(dev, NULL);

    ct_stream *s;
    ct_event *e;
    ct_alloc_fail_after(0);
    ck_assert_int_eq(ct_backend_cpu.stream_create(dev, &s), CT_ENOMEM);
    ct_alloc_fail_after(0);
    ck_assert_int_eq(ct_backend_cpu.event_create(dev, &e), CT_ENOMEM);
    ct_alloc_fail_after(-1);
    ck_assert_int_eq(ct_backend_cpu.stream_create(dev, &s), CT_OK);
    ck_assert_int_eq(ct_backend_cpu.event_create(dev, &e), CT_OK);
    ck_assert_int_eq(ct_backend_cpu.event_record(dev, e, s), CT_OK);
    ck_assert_int_eq(ct_backend_cpu.event_wait(dev, s, e), CT_OK);
    bool done = false;
    ck_assert_int_eq(ct_backend_cpu.event_done(dev, e, &done), CT_OK);
    ck_assert(done);
    ck_assert_int_eq(ct_backend_cpu.stream_sync(dev, s), CT_OK);
    ct_backend_cpu.event_destroy(dev, e);
    ct_backend_cpu.event_destroy(dev, NULL);
    ct_backend_cpu.stream_destroy(dev, s);
    ct_backend_cpu.stream_destroy(dev, NULL);
    ct_backend_cpu.close(dev);
}
END_TEST

START_TEST(refusals_have_reasons)
{
    static const struct {
        const char *call, *reason;
    } rows[] = {
        { "add(f64[4], f64[4]) -> (f64[4])", "only f32" },
        { "linear(f64[4,3], f64[2,3]) -> (f64[4,2])", "only f32" },
        { "conv2d{stride_h=1 stride_w=1 dil_h=1 dil_w=1 groups=1}(f64[1,4,4,3], f64[2,1,1,3]) -> (f64[1,4,4,2])",
          "only f32" },
        { "conv2d{stride_h=1 stride_w=1 dil_h=1 dil_w=1 groups=1}(f32[1,20,20,3], f32[2,17,17,3]) -> (f32[1,4,4,2])",
          "256 taps" },
        { "conv2d_dgrad{stride_h=9 stride_w=9 dil_h=1 dil_w=1 groups=1 in_h=10 in_w=10}(f32[1,2,2,2], f32[2,1,1,3]) -> "
          "(f32[1,10,10,3])",
          "64" },
        { "avgpool2d{ker_h=20 ker_w=20 stride_h=1 stride_w=1}(f32[1,20,20,3]) -> (f32[1,1,1,3])", "256 cells" },
        { "ema(f64[4], f64[4], f64[16]) -> ()", "only f32" },
    };
    ct_device *dev = open_device(1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ct_call c;
        ck_assert_msg(ct_call_parse(rows[i].call, &c) == CT_OK, "%s", ct_error_message());
        ct_accept a;
        const char *refusal;
        const ct_impl *impl = winner(dev, &c, &a, &refusal);
        ck_assert_msg(!impl || impl->flags & CT_IMPL_REFERENCE, "accepted by %s: %s", impl->name, rows[i].call);
        ck_assert_msg(refusal && strstr(refusal, rows[i].reason), "%s: %s", rows[i].call, refusal ? refusal : "(none)");
    }
    ct_backend_cpu.close(dev);
}
END_TEST

START_TEST(slower_blas_is_warned_about)
{
    unsetenv("OPENBLAS_CORETYPE");
    ck_assert_ptr_null(ct_cpu_blas_warning());
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    ck_assert_ptr_null(ct_cpu_blas_warning());
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    if (ct_kern_best() == &ct_kern_base)
        ck_assert_ptr_null(ct_cpu_blas_warning());
    else
        ck_assert_ptr_nonnull(strstr(ct_cpu_blas_warning(), "OPENBLAS_CORETYPE"));
    setenv("OPENBLAS_CORETYPE", "haswell", 1);
    if (ct_kern_best()->vl == 16)
        ck_assert_ptr_nonnull(strstr(ct_cpu_blas_warning(), "AVX-512"));
    else
        ck_assert_ptr_null(ct_cpu_blas_warning());
    unsetenv("OPENBLAS_CORETYPE");
    ck_assert_ptr_nonnull(ct_cpu_blas_core());
    ck_assert_ptr_nonnull(strstr(ct_cpu_blas_config(), "OpenBLAS"));
}
END_TEST

/* ---- kernels: small integers, so that every order of summing gives the same bits ---- */

enum { MAX_P = 15, MAX_T = 3, MAX_C = 7, MAX_K = 64, GUARD = 8 };

START_TEST(igemm_against_loops)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    static float x[MAX_T * MAX_P][MAX_C + 2], w[MAX_T * MAX_C * MAX_K], bias[MAX_K], out[MAX_P][MAX_K + GUARD],
        want[MAX_P][MAX_K + GUARD];
    const float *in[MAX_T * MAX_P];
    float *outs[MAX_P];
    rng_state = 5;
    for (int set = 0; set < n; set++)
        for (int np = 1; np <= MAX_P; np++)
            for (int kn = 1; kn <= sets[set]->conv->nr; kn += kn < 20 ? 1 : 11)
                for (int mode = 0; mode < 3; mode++) { /* zero, bias, accumulate */
                    const int taps = np % (MAX_T + 1), c = 1 + (kn + np) % MAX_C,
                              kw = (kn + sets[set]->vl - 1) / sets[set]->vl * sets[set]->vl;
                    for (int i = 0; i < taps * np; i++) {
                        in[i] = x[i];
                        for (int k = 0; k < c + 2; k++) x[i][k] = (float)small_int();
                    }
                    for (int i = 0; i < MAX_T * MAX_C * MAX_K; i++) w[i] = (float)small_int();
                    for (int k = 0; k < MAX_K; k++) bias[k] = (float)small_int();
                    for (int p = 0; p < np; p++) {
                        outs[p] = out[p];
                        for (int k = 0; k < MAX_K + GUARD; k++)
                            out[p][k] = want[p][k] = mode == 2 || k >= kn ? (float)small_int() : NAN;
                        for (int k = 0; k < kn; k++) {
                            float sum = mode == 1 ? bias[k] : mode == 2 ? want[p][k] : 0;
                            for (int t = 0; t < taps; t++)
                                for (int j = 0; j < c; j++) sum += x[t * np + p][2 + j] * w[(t * c + j) * kw + k];
                            want[p][k] = sum;
                        }
                    }
                    ct_igemm a = { .in = in,
                                   .in_stride = np,
                                   .out = outs,
                                   .np = np,
                                   .taps = taps,
                                   .c = c,
                                   .c_first = 2,
                                   .w = w,
                                   .c_stride = c,
                                   .kn = kn,
                                   .kw = kw,
                                   .bias = mode == 1 ? bias : NULL,
                                   .accumulate = mode == 2 };
                    sets[set]->conv->igemm(&a);
                    for (int p = 0; p < np; p++)
                        ck_assert_msg(memcmp(out[p], want[p], sizeof out[p]) == 0, "%s: np %d kn %d mode %d row %d",
                                      sets[set]->name, np, kn, mode, p);
                }
}
END_TEST

START_TEST(wgemm_against_loops)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    static float x[MAX_P][16], dy[MAX_P][MAX_K + 3], dw[16][MAX_K + 1], want[16][MAX_K + 1];
    const float *in[MAX_P];
    rng_state = 6;
    for (int set = 0; set < n; set++)
        for (int np = 1; np <= MAX_P; np++)
            for (int c = 1; c <= 16; c++)
                for (int kw = sets[set]->vl; kw <= sets[set]->conv->nr; kw += sets[set]->vl)
                    for (int accumulate = 0; accumulate < 2; accumulate++) {
                        for (int p = 0; p < np; p++) {
                            in[p] = x[p];
                            for (int i = 0; i < 16; i++) x[p][i] = (float)small_int();
                            for (int k = 0; k < MAX_K + 3; k++) dy[p][k] = (float)small_int();
                        }
                        for (int i = 0; i < 16; i++)
                            for (int k = 0; k < MAX_K + 1; k++) {
                                dw[i][k] = want[i][k] = (float)small_int();
                                if (i >= c || k >= kw) continue;
                                float sum = accumulate ? want[i][k] : 0;
                                for (int p = 0; p < np; p++) sum += x[p][i] * dy[p][k];
                                want[i][k] = sum;
                            }
                        ct_wgemm a = { .in = in,
                                       .dy = dy[0],
                                       .np = np,
                                       .c_n = c,
                                       .kw = kw,
                                       .ldy = MAX_K + 3,
                                       .ldw = MAX_K + 1,
                                       .dw = dw[0],
                                       .accumulate = accumulate };
                        sets[set]->conv->wgemm(&a);
                        ck_assert_msg(memcmp(dw, want, sizeof dw) == 0, "%s: np %d c %d kw %d", sets[set]->name, np, c,
                                      kw);
                    }
}
END_TEST

/* Every 16-bit pattern both ways, and f32 values that have to be rounded. */
START_TEST(conversions)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    enum { N = 65536 };
    uint16_t *h = ct_malloc(N * 2, "a test"), *back = ct_malloc(N * 2, "a test");
    float *f = ct_malloc(N * 4, "a test");
    for (int set = 0; set < n; set++) {
        for (int i = 0; i < N; i++) h[i] = (uint16_t)i;
        sets[set]->copy->from_bf16(N, h, f);
        for (int i = 0; i < N; i++) {
            float want = ct_bf16_to_f32((uint16_t)i);
            ck_assert(memcmp(&want, &f[i], 4) == 0);
        }
        for (int i = 0; i < N; i++) { /* the same upper halves with lower halves about the middle */
            uint32_t u = (uint32_t)i << 16 | (uint32_t)(0x7ffe + i % 4);
            memcpy(&f[i], &u, 4);
        }
        sets[set]->copy->to_bf16(N, f, back);
        for (int i = 0; i < N; i++) ck_assert_uint_eq(back[i], ct_f32_to_bf16(f[i]));
        sets[set]->copy->from_f16(N - 3, h, f); /* not a multiple of a vector */
        for (int i = 0; i < N - 3; i++) {
            float want = ct_f16_to_f32((uint16_t)i);
            ck_assert_msg(memcmp(&want, &f[i], 4) == 0 || (isnan(want) && isnan(f[i])), "%s: f16 %04x", sets[set]->name,
                          (unsigned)i);
        }
        for (int i = 0; i < N; i++) {
            uint32_t u = (uint32_t)i << 16 | (uint32_t)(i * 7919 & 0xffff);
            memcpy(&f[i], &u, 4);
        }
        sets[set]->copy->to_f16(N - 3, f, back);
        for (int i = 0; i < N - 3; i++) {
            const uint16_t want = ct_f32_to_f16(f[i]);
            ck_assert_msg(back[i] == want || (isnan(f[i]) && isnan(ct_f16_to_f32(back[i]))), "%s: f32 %a",
                          sets[set]->name, (double)f[i]);
        }
    }
    ct_free(h);
    ct_free(back);
    ct_free(f);
}
END_TEST

START_TEST(largest_of_a_window)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    enum { C = 19 };
    float x[3 * C], y[C];
    uint8_t code[C];
    const int64_t off[3] = { 0, C, 2 * C };
    const int32_t number[3] = { 4, 7, 200 };
    for (int set = 0; set < n; set++) {
        for (int c = 0; c < C; c++) {
            const float rows[4][3] = {
                { 1, 1, 0 }, { -INFINITY, -INFINITY, -INFINITY }, { 5, NAN, NAN }, { -2, -3, -1 }
            };
            for (int t = 0; t < 3; t++) x[t * C + c] = rows[c % 4][t];
        }
        sets[set]->pool->max_row(1, C, x, C, 3, off, number, y, code);
        for (int c = 0; c < C; c++) {
            const int want[4] = { 4, 4, 7, 200 }; /* the first of equals; the first NaN */
            ck_assert_int_eq(code[c], want[c % 4]);
            ck_assert((c % 4 == 2) == (isnan(y[c]) != 0));
        }
    }
}
END_TEST

/* A step of an LSTM against f64, for numbers of units that are no multiple of a vector. */
START_TEST(lstm_units_against_f64)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int count = ct_kern_list(sets);
    enum { N = 37 };
    float xg[4 * N], sums[4 * N], gates[4 * N], c_prev[N], c[N], h[N], dy[N], dh[N], dc[N], da[4 * N];
    for (int set = 0; set < count; set++)
        for (int n = 1; n <= N; n += 6) {
            rng_state = 5;
            for (int i = 0; i < 4 * n; i++) {
                xg[i] = 0.31f * (float)small_int();
                gates[i] = sums[i] = 0.27f * (float)small_int();
            }
            for (int j = 0; j < n; j++) {
                c_prev[j] = 0.4f * (float)small_int();
                dy[j] = 0.7f * (float)small_int();
                dh[j] = 0.3f * (float)small_int();
                dc[j] = 0.2f * (float)(j % 5);
            }
            sets[set]->lstm->units(n, xg, gates, c_prev, c, h);
            sets[set]->lstm->units_bwd(n, gates, c, c_prev, dy, dh, dc, da);
            for (int j = 0; j < n; j++) {
                double a[4], cell, out, back = (double)(0.2f * (float)(j % 5));
                for (int g = 0; g < 4; g++) a[g] = (double)sums[g * n + j] + (double)xg[g * n + j];
                ct_lstm_gates_f64 v =
                    ct_lstm_unit_f64((ct_lstm_gates_f64){ a[0], a[1], a[2], a[3] }, (double)c_prev[j], &cell, &out);
                ct_lstm_gates_f64 d =
                    ct_lstm_unit_bwd_f64(v, cell, (double)c_prev[j], (double)dy[j] + (double)dh[j], &back);
                const double want[11] = { v.i, v.f, v.g, v.o, cell, out, d.i, d.f, d.g, d.o, back };
                const float got[11] = { gates[j], gates[n + j], gates[2 * n + j], gates[3 * n + j], c[j], h[j],
                                        da[j],    da[n + j],    da[2 * n + j],    da[3 * n + j],    dc[j] };
                for (int k = 0; k < 11; k++)
                    ck_assert_msg(fabs((double)got[k] - want[k]) <= 2e-6, "%s: n %d unit %d value %d: %g, not %g",
                                  sets[set]->name, n, j, k, (double)got[k], want[k]);
            }
        }
}
END_TEST

START_TEST(non_finite_gradients_are_seen)
{
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    float g[100];
    for (int set = 0; set < n; set++)
        for (int at = 0; at < 100; at++)
            for (int kind = 0; kind < 3; kind++) {
                bool finite = true;
                for (int i = 0; i < 100; i++) g[i] = 2;
                g[at] = kind == 0 ? NAN : kind == 1 ? -INFINITY : 3e38f;
                const double sum = sets[set]->sum->squares(100, g, &finite);
                ck_assert_msg(finite == (kind == 2), "%s: element %d, kind %d", sets[set]->name, at, kind);
                g[at] = 2;
                finite = true;
                ck_assert(sets[set]->sum->squares(100, g, &finite) == 400.0 && finite);
                (void)sum;
            }
}
END_TEST

/* ---- whole operators ---- */

/* Lengths are data: they are looked at when the call runs. */
START_TEST(lengths_are_checked)
{
    static const int32_t wrong[3] = { 3, 0, 4 };
    ct_device *dev = open_device(1);
    ct_call c;
    ct_accept a;
    const char *refusal;
    ck_assert_msg(ct_call_parse("lstm(f32[3,1,8], f32[8,2], -, -, -, -, i32[1])", &c) == CT_OK, "%s",
                  ct_error_message());
    float xg[24] = { 0 }, w[16] = { 0 }, y[6], gates[24], cell[6];
    int32_t len;
    void *in[7] = { xg, w, NULL, NULL, NULL, NULL, &len }, *out[3] = { y, gates, cell };
    for (int i = 0; i < 7; i++) c.in[i].data = in[i];
    for (int i = 0; i < 3; i++) c.out[i].data = out[i];
    const ct_impl *impl = winner(dev, &c, &a, &refusal);
    ck_assert(impl && !(impl->flags & CT_IMPL_REFERENCE));
    void *scratch = ct_aligned_alloc(a.scratch, "a test");
    for (int i = 0; i < 3; i++) {
        len = wrong[i];
        ck_assert_int_eq(impl->run(dev, NULL, &c, scratch), i == 0 ? CT_OK : CT_EDATA);
        if (i > 0) ck_assert_ptr_nonnull(strstr(ct_error_message(), "lstm: len of sample 0 of the batch is "));
    }
    ct_free(scratch);
    ct_backend_cpu.close(dev);
}
END_TEST

/* A large mean with a small spread must not drown the variance; a row far away in front must not spoil it either. */
START_TEST(batchnorm_statistics_are_accurate)
{
    enum { ROWS = 20000, COLS = 5 };
    ct_call c;
    ck_assert_int_eq(
        ct_call_parse("batchnorm{eps=1e-9 momentum=1 update_stats=1}(f32[20000,5], f32[5], f32[5], f32[5], f32[5]) -> "
                      "(f32[20000,5], f32[5], f32[5])",
                      &c),
        CT_OK);
    ck_assert_int_eq(ct_call_infer(&c), CT_OK);
    float *x = ct_malloc(ROWS * COLS * 4, "a test"), *y = ct_malloc(ROWS * COLS * 4, "a test");
    float per[6][COLS];
    rng_state = 3;
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < COLS; k++)
            x[r * COLS + k] = k == 4 && r == 0 ? 0 : (k >= 3 ? 1000.0f : 0.1f) + (float)small_int() * 0.25f;
    for (int k = 0; k < COLS; k++) {
        per[0][k] = 1;
        per[1][k] = per[2][k] = per[3][k] = 0;
    }
    void *const in[5] = { x, per[0], per[1], per[2], per[3] }, *const out[3] = { y, per[4], per[5] };
    for (int i = 0; i < 5; i++) c.in[i].data = in[i];
    for (int i = 0; i < 3; i++) c.out[i].data = out[i];
    ct_device *dev = open_device(2);
    ct_accept a;
    const char *refusal;
    const ct_impl *impl = winner(dev, &c, &a, &refusal);
    ck_assert(impl && !(impl->flags & CT_IMPL_REFERENCE));
    void *scratch = ct_aligned_alloc(a.scratch, "a test");
    ck_assert_int_eq(impl->run(dev, NULL, &c, scratch), CT_OK);
    for (int k = 0; k < COLS; k++) {
        double mean = 0, var = 0;
        for (int r = 0; r < ROWS; r++) mean += (double)x[r * COLS + k] / ROWS;
        for (int r = 0; r < ROWS; r++)
            var += ((double)x[r * COLS + k] - mean) * ((double)x[r * COLS + k] - mean) / (ROWS - 1);
        ck_assert_double_eq_tol((double)per[4][k], mean, 1e-7 * (mean + 1));
        ck_assert_double_eq_tol((double)per[3][k], var,
                                1e-6 * var); /* running variance with momentum 1: this batch's */
    }
    /* Channel 1 overflows: its running statistics stay, those of the others move. The reference does the same. */
    x[COLS + 1] = INFINITY;
    for (int which = 0; which < 2; which++) {
        for (int k = 0; k < COLS; k++) per[2][k] = per[3][k] = 7;
        if (which == 1) {
            impl = NULL;
            for (const ct_impl *m = NULL; (m = ct_impl_next(&ct_backend_cpu, c.op, m));) impl = m; /* the last one */
            ck_assert(impl && impl->flags & CT_IMPL_REFERENCE);
            ct_free(scratch);
            a = impl->accept(dev, &c);
            ck_assert(a.ok);
            scratch = ct_aligned_alloc(a.scratch, "a test");
        }
        ck_assert_int_eq(impl->run(dev, NULL, &c, scratch), CT_OK);
        ck_assert(isnan(y[1]));
        for (int k = 0; k < COLS; k++) {
            ck_assert_msg((per[2][k] == 7) == (k == 1), "mean %d: %g", k, (double)per[2][k]);
            ck_assert_msg((per[3][k] == 7) == (k == 1), "var %d: %g", k, (double)per[3][k]);
        }
    }
    ct_free(scratch);
    ct_free(x);
    ct_free(y);
    ct_backend_cpu.close(dev);
}
END_TEST

static Suite *cpu_suite(void)
{
    Suite *s = suite_create("cpu_backend");
    TCase *t = tcase_create("device");
    tcase_add_test(t, table_is_in_order);
    tcase_add_test(t, device_opens_or_says_why);
    tcase_add_test(t, memory_and_streams);
    tcase_add_test(t, refusals_have_reasons);
    tcase_add_test(t, slower_blas_is_warned_about);
    suite_add_tcase(s, t);
    t = tcase_create("kernels");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, igemm_against_loops);
    tcase_add_test(t, wgemm_against_loops);
    tcase_add_test(t, conversions);
    tcase_add_test(t, largest_of_a_window);
    tcase_add_test(t, lstm_units_against_f64);
    tcase_add_test(t, non_finite_gradients_are_seen);
    suite_add_tcase(s, t);
    t = tcase_create("operators");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, lengths_are_checked);
    tcase_add_test(t, batchnorm_statistics_are_accurate);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return ct_check_main(cpu_suite()); }
