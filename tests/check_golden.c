/* Golden files that PyTorch made: those checked in agree; a changed one fails and the tensor is named. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/ct_check.h"
#include "train/golden.h"

static const ct_common cpu = { "cpu", 2 };

/* Path of a checked-in file; ct_free(). */
static char *golden_path(const char *name)
{
    return ct_asprintf("%s/tests/golden/%s", ct_check_srcdir(), name);
}

/* Checks a file; *text (free()) receives what was printed. */
static ct_status check_file(const char *path, char **text)
{
    size_t size;
    FILE *to = open_memstream(text, &size);
    ck_assert_ptr_nonnull(to);
    ct_status st = ct_golden_check(path, &cpu, to);
    fclose(to);
    return st;
}

static void agrees(const char *name)
{
    char *path = golden_path(name), *text;
    ct_status st = check_file(path, &text);
    ck_assert_msg(st == CT_OK, "%s\n%s", ct_error_message(), text);
    ck_assert_msg(strstr(text, " 0 beyond tolerance") && !strstr(text, "FAIL"), "%s", text);
    ck_assert_msg(strstr(text, "\ngrad.") && strstr(text, "\nloss "), "%s", text);
    free(text);
    ct_free(path);
}

START_TEST(files_agree)
{
    agrees("textcnn-f32.safetensors");
    agrees("textcnn-dropout-f32.safetensors");
    agrees("textcnn-dropout-f64.safetensors");
    agrees("resnet18-f32.safetensors");
}
END_TEST

/* A copy of file `name` in which the elements of `tensor` are multiplied by `factor` (NULL: nothing changes), or, if
 * `find` is given, the text `find` of the header is replaced by `replace` of the same length. The path is for unlink()
 * and free(). */
static char *altered(const char *name, const char *tensor, double factor, const char *find, const char *replace)
{
    char *path = golden_path(name), *copy = strdup("/tmp/ct_golden_XXXXXX");
    uint8_t *data;
    size_t size;
    ct_safetensors *st;
    ck_assert_int_eq(ct_file_read(path, 64u << 20, &data, &size), CT_OK);
    if (tensor) {
        ck_assert_int_eq(ct_safetensors_open_memory(data, size, path, &st), CT_OK);
        const ct_st_tensor *t = ct_safetensors_find(st, tensor);
        ck_assert_ptr_nonnull(t);
        uint8_t *at = data + (t->data - data);
        ck_assert(t->desc.dtype == CT_F32 || t->desc.dtype == CT_F64);
        for (int64_t i = 0; i < ct_desc_numel(&t->desc); i++) {
            double v;
            uint8_t *e = at + (size_t)i * ct_dtype_size(t->desc.dtype);
            ct_st_tensor one = *t;
            one.data = e;
            one.bytes = ct_dtype_size(t->desc.dtype);
            one.desc = ct_desc1(t->desc.dtype, 1);
            ct_st_read(&one, CT_F64, &v);
            v *= factor;
            double raw;
            ct_store(t->desc.dtype, &raw, 0, v);
            memcpy(e, &raw, ct_dtype_size(t->desc.dtype));
        }
        ct_safetensors_close(st);
    }
    if (find) {
        ck_assert_uint_eq(strlen(find), strlen(replace));
        uint8_t *at = memmem(data, size, find, strlen(find));
        ck_assert_ptr_nonnull(at);
        memcpy(at, replace, strlen(replace));
    }
    int fd = mkstemp(copy);
    ck_assert_int_ge(fd, 0);
    ck_assert(write(fd, data, size) == (ssize_t)size);
    close(fd);
    ct_free(data);
    ct_free(path);
    return copy;
}

/* The altered file must fail with this tensor as the worst, in the table's first row and in the message. */
static void fails_naming(const char *file, const char *tensor, double factor)
{
    char *copy = altered(file, tensor, factor, NULL, NULL), *text, row[160], worst[160];
    ct_status st = check_file(copy, &text);
    snprintf(worst, sizeof worst, "worst: %s differs by", tensor);
    ck_assert_msg(st == CT_EINTERNAL, "%s %s: %s", file, tensor, ct_status_name(st));
    ck_assert_msg(strstr(ct_error_message(), worst) != NULL, "%s", ct_error_message());
    snprintf(row, sizeof row, "allowed\n%s ", tensor);
    ck_assert_msg(strstr(text, row) != NULL, "'%s' is not in\n%.600s", row, text);
    unlink(copy);
    free(copy);
    free(text);
}

START_TEST(changes_are_named)
{
    fails_naming("textcnn-f32.safetensors", "grad.features.4.weight", 1.01);
    fails_naming("textcnn-f32.safetensors", "grad.fc1.weight", 1.01);
    fails_naming("textcnn-f32.safetensors", "buffer1.features.5.running_var", 1.001);
    fails_naming("textcnn-f32.safetensors", "param1.fc2.weight", 1.0001);
    fails_naming("textcnn-f32.safetensors", "loss", 1.0001);
    fails_naming("resnet18-f32.safetensors", "grad.layer2.0.downsample.0.weight", 1.01);
    fails_naming("textcnn-dropout-f64.safetensors", "grad.fc2.bias", 1.01);
    fails_naming("textcnn-dropout-f64.safetensors", "param3.features.8.weight", 1.0001);
    fails_naming("textcnn-dropout-f64.safetensors", "eval3.logits", 1.0001);
    fails_naming("textcnn-f32.safetensors", "grad.features.4.weight", NAN);
}
END_TEST

/* Another learning rate, or the mask left out, must show. */
START_TEST(constants_count)
{
    char *copy =
             altered("textcnn-f32.safetensors", NULL, 1, "\\\"weight_decay\\\": 0.01", "\\\"weight_decay\\\": 0.09"),
         *text;
    ck_assert_int_eq(check_file(copy, &text), CT_EINTERNAL);
    ck_assert_msg(strstr(ct_error_message(), "worst: param1.") != NULL, "%s", ct_error_message());
    unlink(copy);
    free(copy);
    free(text);
    copy = altered("textcnn-dropout-f32.safetensors", NULL, 1, "p=0.5", "p=0.4");
    ck_assert_int_eq(check_file(copy, &text), CT_EINTERNAL);
    unlink(copy);
    free(copy);
    free(text);
}
END_TEST

static void refuses(const char *file, const char *find, const char *replace, const char *part)
{
    char *copy = altered(file, NULL, 1, find, replace), *text;
    ct_status st = check_file(copy, &text);
    ck_assert_msg(st == CT_EFORMAT, "%s: %s", find, ct_status_name(st));
    ck_assert_msg(strstr(ct_error_message(), part) != NULL, "'%s' is not in '%s'", part, ct_error_message());
    unlink(copy);
    free(copy);
    free(text);
}

START_TEST(other_files)
{
    const char *const f = "textcnn-f32.safetensors";
    char *text;
    refuses(f, "peer_torch golden 1", "peer_torch golden 2", "'peer_torch golden 2' is unknown");
    refuses(f, "\"model\":\"textcnn\"", "\"model\":\"textcmm\"", "did you mean 'textcnn'?");
    refuses(f, "\\\"hidden\\\": 16", "\\\"hidden\\\": 17", "but the model has f32[17,");
    refuses(f, "\"param.fc1.weight\"", "\"param.fc9.weight\"", "'param.fc9.weight' is no parameter of model textcnn");
    refuses(f, "\"input.target\"", "\"input.tarmac\"", "no tensor 'input.target'");
    refuses(f, "\"buffer.features.1.running_var\"", "\"buffer.features.1.running_bar\"",
            "no tensor 'buffer.features.1.running_var'");
    refuses(f, "\\\"name\\\": \\\"AdamW\\\"", "\\\"name\\\": \\\"AdamQ\\\"", "optimizer is not AdamW");
    refuses("textcnn-dropout-f32.safetensors", "\"aux.dropout_keep\"", "\"aux.dropout_heap\"",
            "no tensor 'aux.dropout_keep'");
    ck_assert_int_eq(check_file("/nonexistent.safetensors", &text), CT_EIO);
    free(text);
}
END_TEST

/* Out of memory while reading: a message, and nothing left behind. */
START_TEST(out_of_memory)
{
    char *path = golden_path("textcnn-dropout-f32.safetensors");
    int failures = 0;
    for (long n = 0;; n += n < 20 ? 1 : 31) {
        ct_golden g;
        ct_alloc_fail_after(n);
        ct_status st = ct_golden_open(path, &g);
        ct_alloc_fail_after(-1);
        if (st == CT_OK) {
            ct_golden_close(&g);
            break;
        }
        ck_assert_msg(st == CT_ENOMEM, "allocation %ld: %s", n, ct_error_message());
        failures++;
    }
    ck_assert_int_gt(failures, 5);
    ct_free(path);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("golden");
    TCase *c = tcase_create("golden");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, files_agree);
    tcase_add_test(c, changes_are_named);
    tcase_add_test(c, constants_count);
    tcase_add_test(c, other_files);
    tcase_add_test(c, out_of_memory);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return ct_check_main(suite());
}
