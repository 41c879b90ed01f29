/* libFuzzer target: any bytes as a file that lies in or beside a folder of pictures. The first byte says which: a list of
 * labels that is read, one of another program, a text beside a picture, the labels of slider pictures. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "data/scan.h"
#include "task/slider/slider.h"
#include "task/text/reader.h"
#include "tests/fuzz/fuzz_util.h"

static char root[] = "/dev/shm/captrain-fuzz.XXXXXX", in[64];
static ct_labels *text_reader, *slider_reader;

static void put(const char *name, const uint8_t *data, size_t n)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", in, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n) abort();
    close(fd);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    ct_text_rules rules;
    (void)argc;
    (void)argv;
    ct_log_set_level(CT_LOG_ERROR);
    if (!mkdtemp(root)) abort();
    snprintf(in, sizeof in, "%s/train", root);
    mkdir(in, 0777);
    put("01_a.png", NULL, 0);
    put("word_2.png", NULL, 0);
    put("Pic0001_Bgx200Bgy80_Sdx40Sdy80_0a1b2c3d.png", NULL, 0);
    ct_text_rules_init(&rules);
    return ct_text_labels(&rules, &text_reader) == CT_OK && ct_slider_labels(NULL, NULL, &slider_reader) == CT_OK ? 0 : 1;
}

/* What stands in a scan is a name and a label or a reason. */
static void look(ct_labels *reader)
{
    ct_scan s;
    if (reader->ops->scan(reader, in, &s) != CT_OK) {
        if (ct_error_message()[0] == '\0') abort();
        return;
    }
    for (size_t i = 0; i < s.n; i++)
        if (!s.s[i].name || (!s.s[i].text && !s.s[i].bad)) abort();
    ct_scan_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "labels.csv", "labels.txt", "labels.tsv", "all_labels.json", "gt.txt",
                                         "word_2.txt", "../list.jsonl", "../labels.csv", "metadata.csv",
                                         "metadata.jsonl", "rec_gt_train.txt", "annotation.txt", "list.csv", "words.lmdb" };
    char path[160];
    if (size < 1) return 0;
    const char *name = names[data[0] % (sizeof names / sizeof *names)];
    put(name, data + 1, size - 1);
    look(strcmp(name, "all_labels.json") == 0 ? slider_reader : text_reader);
    snprintf(path, sizeof path, "%s/%s", in, name);
    unlink(path);
    return 0;
}
