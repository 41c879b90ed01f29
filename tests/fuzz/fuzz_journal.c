/* libFuzzer target: metrics.jsonl and a TensorBoard file of a run that is resumed. Up to the first 0xff the one,
 * behind it the other, whose records get right checksums where the first byte is odd. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "formats/tfevents.h"
#include "run/journal.h"
#include "tests/fuzz/fuzz_util.h"

static char dir[] = "/dev/shm/captrain-fuzz.XXXXXX", jsonl[64], events[80];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ct_log_set_level(CT_LOG_ERROR);
    if (!mkdtemp(dir)) abort();
    snprintf(jsonl, sizeof jsonl, "%s/tensorboard", dir);
    mkdir(jsonl, 0777);
    snprintf(jsonl, sizeof jsonl, "%s/metrics.jsonl", dir);
    snprintf(events, sizeof events, "%s/tensorboard/captrain.tfevents", dir);
    return 0;
}

static void put(const char *path, const uint8_t *data, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n) abort();
    close(fd);
}

static uint32_t masked(const uint8_t *p, size_t n)
{
    const uint32_t crc = ct_crc32c(p, n);
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

/* One record of all the bytes. */
static size_t record(const uint8_t *p, size_t n, uint8_t out[8192])
{
    if (n > 8000) n = 8000;
    const uint64_t len = n;
    memcpy(out, &len, 8);
    uint32_t crc = masked(out, 8);
    memcpy(out + 8, &crc, 4);
    memcpy(out + 12, p, n);
    crc = masked(p, n);
    memcpy(out + 12 + n, &crc, 4);
    return n + 16;
}

static ct_status look(void *user, const char *event, const json_t *line)
{
    (void)event;
    (void)line;
    ++*(int *)user;
    return CT_OK;
}

static void away(const char *path)
{
    char aside[128];
    for (int k = 1; k < 4; k++) {
        snprintf(aside, sizeof aside, k == 1 ? "%s.damaged" : "%s.damaged.%d", path, k);
        unlink(aside);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t one[8192];
    ct_journal *j;
    int lines = 0;
    if (size < 3) return 0;
    const uint8_t *rest = data + 3, *cut = memchr(rest, 0xff, size - 3);
    const size_t first = cut ? (size_t)(cut - rest) : size - 3;
    put(jsonl, rest, first);
    if (!cut) put(events, rest, 0);
    else if (data[0] & 1) put(events, one, record(cut + 1, size - 4 - first, one));
    else put(events, cut + 1, size - 4 - first);
    /* whatever they hold, the run goes on with a journal that can be read */
    if (ct_journal_open(dir, true, data[1] * (int64_t)8, data[2], &j) != CT_OK) abort();
    ct_journal_close(j);
    if (ct_journal_read(dir, look, &lines) != CT_OK) abort();
    away(jsonl);
    away(events);
    return 0;
}
