/* Pictures that claim more than they are. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/image.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"

/* CRC-32 as PNG has it. */
static uint32_t crc32_of(const uint8_t *p, size_t n)
{
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

static void put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* The file in a process of its own: must fail with `message`, and take less than 100 MB. */
static void modest(const uint8_t *data, size_t size, const char *message)
{
    struct rusage before, used;
    int status;
    getrusage(RUSAGE_SELF, &before);
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        ct_image im;
        ct_status st = ct_image_read_mem(data, size, "x", NULL, &im);
        _exit(st == CT_EFORMAT && strstr(ct_error_message(), message) ? 0 : 1);
    }
    ck_assert_int_eq(wait4(pid, &status, 0, &used), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "no \"%s\"", message);
    ck_assert_int_lt(used.ru_maxrss - before.ru_maxrss, 100000); /* kB */
}

/* Small files that claim much: memory is taken for what is there. */
START_TEST(hungry)
{
    static uint8_t row[16 * 3], *rows[16];
    for (int y = 0; y < 16; y++) rows[y] = row;
    const ct_png_kind kind = { .w = 16, .h = 16, .depth = 8, .color = 2 };
    ct_blob b = ct_util_png(&kind, rows);
    /* signature and header of the file, and a text chunk that is not there */
    static const char *const type[] = { "tEXt", "zTXt", "iCCP", "IDAT" };
    uint8_t small[57] = { 0 };
    memcpy(small, b.data, 33);
    for (size_t i = 0; i < sizeof type / sizeof type[0]; i++) {
        char text[64];
        put32(small + 33, 0x7ffffff0);
        memcpy(small + 37, type[i], 4);
        snprintf(text, sizeof text, "chunk %s claims 2147483632 bytes, 12 are left", type[i]);
        modest(small, sizeof small, text);
    }
    /* 8000 x 8000 pixels in the bytes of a few */
    put32(b.data + 16, 8000);
    put32(b.data + 20, 8000);
    put32(b.data + 29, crc32_of(b.data + 12, 17));
    modest(b.data, b.size, "Not enough image data");
    free(b.data);
}
END_TEST

static Suite *memory_suite(void)
{
    Suite *s = suite_create("memory of pictures");
    TCase *t = tcase_create("memory");
    tcase_add_test(t, hungry);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return ct_check_main(memory_suite());
}
