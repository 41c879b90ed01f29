/* Operators of the CPU backend give the same bits for any number of threads, and wherever their results are written to. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/cpu/cpu_fixture.h"

/* Runs a call with `threads` threads on inputs drawn from a fixed seed, its outputs `off` bytes behind what is aligned; hash of everything it wrote. */
static uint64_t run_and_hash(const char *text, int threads, size_t off)
{
    ct_call c;
    ck_assert_msg(ct_call_parse(text, &c) == CT_OK && ct_call_infer(&c) == CT_OK, "%s", ct_error_message());
    ct_device *dev = open_device(threads);
    rng_state = 77;
    for (int i = 0; i < c.nin; i++) {
        if (!ct_present(&c.in[i])) continue;
        c.in[i].data = ct_aligned_alloc(ct_desc_bytes(&c.in[i].desc), "a test");
        for (int64_t k = 0; k < ct_desc_numel(&c.in[i].desc); k++)
            ct_store(c.in[i].desc.dtype, c.in[i].data, k, 0.731 * (double)small_int() + 0.01 * (double)(k % 97) + 3);
    }
    for (int i = 0; i < c.nout; i++)
        if (ct_present(&c.out[i])) c.out[i].data = (char *)ct_aligned_alloc(ct_desc_bytes(&c.out[i].desc) + off, "a test") + off;
    ct_accept a;
    const char *refusal;
    const ct_impl *impl = winner(dev, &c, &a, &refusal);
    ck_assert_msg(impl && !(impl->flags & CT_IMPL_REFERENCE), "%s: %s", text, refusal);
    void *scratch = ct_aligned_alloc(a.scratch, "a test");
    memset(scratch, 0xff, a.scratch);
    ct_alloc_fail_after(-1);
    ck_assert_int_eq(impl->run(dev, NULL, &c, scratch), CT_OK);
    ck_assert_msg(ct_alloc_fail_after(-1) == 0, "%s allocates in run()", text);
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < c.nin + c.nout; i++) {
        const ct_tensor *t = i < c.nin ? &c.in[i] : &c.out[i - c.nin];
        if (!ct_present(t)) continue;
        const unsigned char *p = t->data;
        for (size_t k = 0, n = ct_desc_bytes(&t->desc); k < n; k += 8) {
            uint64_t word = 0;
            memcpy(&word, p + k, n - k < 8 ? n - k : 8);
            hash = (hash ^ word) * 1099511628211u;
            hash ^= hash >> 29; /* a word's upper bits reach the lower ones */
        }
        ct_free((char *)t->data - (i < c.nin ? 0 : off));
    }
    ct_free(scratch);
    ct_backend_cpu.close(dev);
    return hash;
}

static const char *const threaded_calls[] = {
    "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(f32[3,13,20,19], f32[70,3,3,19], "
    "f32[70]) -> (f32[3,13,20,70])",
    "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(bf16[3,13,20,3], bf16[20,3,3,3]) -> "
    "(bf16[3,7,10,20])",
    "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(bf16[3,13,20,19], bf16[70,3,3,19]) -> "
    "(bf16[3,7,10,70])",
    "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=13 in_w=20}(bf16[3,7,10,20], "
    "bf16[20,3,3,40]) -> (bf16[3,13,20,40])",
    "conv2d_wgrad{stride_h=2 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}(bf16[6,30,40,21], "
    "bf16[6,15,40,70]) -> (bf16[70,3,3,21])",
    "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(bf16[3,13,20,19], bf16[70,3,3,19], "
    "bf16[70]) -> (bf16[3,13,20,70])",
    "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=13 in_w=20}(bf16[3,13,20,70], "
    "bf16[70,3,3,35]) -> (bf16[3,13,20,35])",
    "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}(bf16[6,30,40,21], "
    "bf16[6,30,40,70]) -> (bf16[70,3,3,21])",
    "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(f32[5,45,47,32], f32[44,3,3,32]) -> (f32[5,23,24,44])",
    "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(f32[20,14,13,128], f32[168,3,3,128]) -> (f32[20,7,7,168])",
    "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=45 in_w=47}(f32[5,23,24,44], f32[44,3,3,32]) -> (f32[5,45,47,32])",
    "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}(f32[5,45,47,32], f32[5,23,24,44]) -> (f32[44,3,3,32])",
    "linear(bf16[300,90], bf16[600,90], bf16[600]) -> (bf16[300,600])",
    "linear_wgrad(bf16[301,90], bf16[301,600]) -> (bf16[600,90])",
    "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=24}(f32[3,13,20,24], f32[24,3,3,1]) -> "
    "(f32[3,13,20,24])",
    "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=13 in_w=20}(f32[3,7,10,20], "
    "f32[20,3,3,40]) -> "
    "(f32[3,13,20,40])",
    "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}(f32[6,30,40,5], "
    "f32[6,30,40,20]) -> "
    "(f32[20,3,3,5])",
    "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=24 ker_h=3 "
    "ker_w=3}(f32[6,30,40,24], f32[6,30,40,24]) -> "
    "(f32[24,3,3,1])",
    "linear(f32[300,90], f32[600,90], f32[600]) -> (f32[300,600])",
    "linear_dgrad(f16[300,90], f16[90,600]) -> (f16[300,600])",
    "linear_wgrad(f32[300,90], f32[300,600]) -> (f32[600,90])",
    "linear(f32[70,530], f32[290,530], f32[290]) -> (f32[70,290])",
    "linear_dgrad(f32[70,530], f32[530,290]) -> (f32[70,290])",
    "linear_wgrad(f32[70,290], f32[70,530]) -> (f32[530,290])",
    "bias_grad(f32[5000,33]) -> (f32[33])",
    "batchnorm{eps=1e-5 momentum=0.1 act=1 update_stats=1}(f32[5,31,40,33], f32[33], f32[33], f32[33], f32[33]) -> "
    "(f32[5,31,40,33], f32[33], f32[33], u8[5,31,40,5])",
    "batchnorm_bwd{act=1 has_add=1}(f32[5,31,40,33], f32[5,31,40,33], f32[33], f32[33], f32[33], u8[5,31,40,5]) "
    "-> "
    "(f32[5,31,40,33], f32[33], f32[33], f32[5,31,40,33])",
    "standardize{eps=1e-5}(bf16[7,41,67,3]) -> (bf16[7,41,67,3], f32[7])",
    "standardize_bwd(f32[7,41,67,3], f32[7,41,67,3], f32[7]) -> (f32[7,41,67,3])",
    "maxpool2d{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1}(f32[5,15,21,37]) -> (f32[5,8,11,37], "
    "u8[5,8,11,37])",
    "lstm(f32[6,29,212], f32[212,53], f32[212], f32[6,29,212], f32[212,53], f32[212]) -> (f32[6,29,106], "
    "f32[2,6,29,212], f32[2,6,29,53])",
    "lstm_bwd(bf16[6,29,106], bf16[6,29,106], bf16[2,6,29,212], f32[2,6,29,53], bf16[212,53], bf16[212,53]) -> "
    "(bf16[6,29,212], bf16[212,53], bf16[6,29,212], bf16[212,53])",
    "batchnorm_pool{eps=1e-5 momentum=0.1 update_stats=1}(f32[5,31,41,33], f32[33], f32[33], f32[33], f32[33]) -> "
    "(f32[5,15,20,33], f32[33], f32[33], u8[5,15,20,33])",
    "batchnorm_pool{eps=1e-5 momentum=0.1 overlap=1}(bf16[5,31,40,33], f32[33], f32[33], f32[33], f32[33]) -> "
    "(bf16[5,16,20,33], f32[33], f32[33], u8[5,16,20,33])",
    "batchnorm_pool_bwd(bf16[5,15,20,33], bf16[5,31,41,33], f32[33], f32[33], f32[33], u8[5,15,20,33]) -> "
    "(bf16[5,31,41,33], f32[33], f32[33])",
    "batchnorm_pool_bwd{overlap=1}(f32[5,16,20,33], f32[5,31,40,33], f32[33], f32[33], f32[33], u8[5,16,20,33]) -> "
    "(f32[5,31,40,33], f32[33], f32[33])",
    "batchnorm_sum{eps=1e-5 momentum=0.1 update_stats=1}(f32[5,31,40,33], f32[33], f32[33], f32[33], f32[33], "
    "f32[5,31,40,33], f32[33], f32[33], f32[33], f32[33]) -> (f32[5,31,40,33], f32[33], f32[33], u8[5,31,40,5], f32[33], f32[33])",
    "batchnorm_mean_bwd{has_add=1}(f32[5,33], f32[5,31,40,33], f32[33], f32[33], f32[33], u8[5,31,40,5]) -> "
    "(f32[5,31,40,33], f32[33], f32[33], f32[5,31,40,33])",
    "swap(f32[300,200,3]) -> (f32[200,300,3])",
    "grad_norm{max_norm=1}(f32[100003], f64[16]) -> ()",
};

START_TEST(same_bits_for_any_number_of_threads)
{
    for (size_t i = 0; i < sizeof threaded_calls / sizeof threaded_calls[0]; i++) {
        const uint64_t one = run_and_hash(threaded_calls[i], 1, 0);
        const int counts[] = { 2, 3, 8 };
        for (size_t t = 0; t < sizeof counts / sizeof counts[0]; t++)
            ck_assert_msg(run_and_hash(threaded_calls[i], counts[t], 0) == one, "%d threads give other bits: %s", counts[t],
                          threaded_calls[i]);
    }
}
END_TEST

/* Results of 16 MiB and more go past the caches where they are aligned: nothing but time may depend on it. */
START_TEST(same_bits_past_the_caches)
{
    static const char *const calls[] = {
        "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(f32[3,183,241,16], f32[32,3,3,16], f32[32]) -> (f32[3,183,241,32])",
        "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=7 in_w=7}(f32[670,7,7,128], f32[128,3,3,128]) -> "
        "(f32[670,7,7,128])",
        "conv2d{stride_h=2 stride_w=2 pad_h=3 pad_w=3 dil_h=1 dil_w=1 groups=1}(f32[1,724,726,3], f32[32,7,7,3]) -> (f32[1,362,363,32])",
        "conv2d{stride_h=1 stride_w=1 dil_h=1 dil_w=1 groups=1}(f32[1,257,256,64], f32[64,1,1,64]) -> (f32[1,257,256,64])",
        "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=259 in_w=256}(f32[1,130,128,16], f32[16,3,3,64]) -> "
        "(f32[1,259,256,64])",
        "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=259 in_w=255}(f32[1,130,128,64], f32[64,3,3,64]) -> "
        "(f32[1,259,255,64])",
        "linear(f32[80,64], f32[65536,64]) -> (f32[80,65536])",
        "linear_wgrad(f32[64,4096], f32[64,1030]) -> (f32[1030,4096])",
        "batchnorm{eps=1e-5 momentum=0.1 act=1 update_stats=1}(f32[64,65,64,16], f32[16], f32[16], f32[16], f32[16]) -> "
        "(f32[64,65,64,16], f32[16], f32[16], u8[64,65,64,2])",
        "batchnorm_infer{eps=1e-5 act=2}(f32[64,65,64,16], f32[16], f32[16], f32[16], f32[16]) -> (f32[64,65,64,16])",
        "batchnorm_bwd{act=1 has_add=1}(f32[64,65,64,16], f32[64,65,64,16], f32[16], f32[16], f32[16], u8[64,65,64,2]) -> "
        "(f32[64,65,64,16], f32[16], f32[16], f32[64,65,64,16])",
        "batchnorm_bwd{act=1}(f32[64,65,64,16], f32[64,65,64,16], f32[16], f32[16], f32[16], u8[64,65,64,2]) -> (f32[64,65,64,16], f32[16], f32[16])",
        "batchnorm_bwd(f32[64,65,64,16], f32[64,65,64,16], f32[16], f32[16], f32[16]) -> (f32[64,65,64,16], f32[16], f32[16])",
        "batchnorm_pool_bwd(f32[64,32,32,16], f32[64,65,65,16], f32[16], f32[16], f32[16], u8[64,32,32,16]) -> (f32[64,65,65,16], f32[16], f32[16])",
        "batchnorm_pool_bwd{overlap=1}(f32[64,33,32,16], f32[64,65,64,16], f32[16], f32[16], f32[16], u8[64,33,32,16]) -> "
        "(f32[64,65,64,16], f32[16], f32[16])",
    };
    const ct_kern *sets[CT_KERN_SETS];
    const int n = ct_kern_list(sets);
    for (int k = 0; k < n && sets[k] != &ct_kern_base; k++) /* those behind it are emulations */
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
            ck_assert_int_eq(setenv("CAPTRAIN_KERNELS", sets[k]->name, 1), 0);
            ck_assert_msg(sets[k]->streams, "%s writes nothing past the caches", sets[k]->name);
            ck_assert_msg(run_and_hash(calls[i], 2, 0) == run_and_hash(calls[i], 2, 16), "%s: other bits: %s", sets[k]->name, calls[i]);
        }
    ck_assert_int_eq(unsetenv("CAPTRAIN_KERNELS"), 0);
}
END_TEST

static Suite *bits_suite(void)
{
    Suite *s = suite_create("same_bits");
    TCase *t = tcase_create("operators");
    tcase_set_timeout(t, 300); /* with sanitizers */
    tcase_add_test(t, same_bits_for_any_number_of_threads);
    tcase_add_test(t, same_bits_past_the_caches);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return ct_check_main(bits_suite()); }
