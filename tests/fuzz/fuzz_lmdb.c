/* libFuzzer target: any bytes as the file of an LMDB database: its samples are found, and their pictures read. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "data/pictures.h"
#include "data/scan.h"
#include "task/text/reader.h"
#include "tests/fuzz/fuzz_util.h"

static char root[] = "/dev/shm/captrain-fuzz.XXXXXX", file[64];
static ct_labels *reader;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    ct_text_rules rules;
    (void)argc;
    (void)argv;
    ct_log_set_level(CT_LOG_ERROR);
    if (!mkdtemp(root)) abort();
    snprintf(file, sizeof file, "%s/data.mdb", root);
    ct_text_rules_init(&rules);
    return ct_text_labels(&rules, &reader) == CT_OK ? 0 : 1;
}

/* The first pictures, good samples or bad. */
static void read_some(const ct_scan *s)
{
    ct_pictures *p;
    if (ct_pictures_open(&p) != CT_OK) abort();
    for (size_t i = 0; i < s->n && i < 8; i++) {
        uint8_t *data = NULL;
        size_t size = 0;
        if (ct_pictures_read(p, s->dir, s->s[i].name, &data, &size) == CT_OK && !data) abort();
        ct_free(data);
    }
    ct_pictures_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ct_scan s;
    /* a new file every time: what is mapped is not written to */
    unlink(file);
    const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    close(fd);
    if (reader->ops->scan(reader, root, &s) != CT_OK) {
        if (ct_error_message()[0] == '\0') abort();
        return 0;
    }
    for (size_t i = 0; i < s.n; i++)
        if (!s.s[i].name || (!s.s[i].text && !s.s[i].bad)) abort();
    read_some(&s);
    ct_scan_free(&s);
    return 0;
}
