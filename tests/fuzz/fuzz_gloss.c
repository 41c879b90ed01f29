/* libFuzzer target: any bytes as a label file of clips, a vocabulary or a gloss. Rows that are accepted have words that
 * clean-up leaves alone, which a reader finds again; a vocabulary that is read is one when it is written. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "task/gloss/cleanup.h"
#include "task/gloss/gloss.h"
#include "task/gloss/reader.h"
#include "tests/fuzz/fuzz_util.h"

static int64_t steps(const void *user, int64_t pictures)
{
    (void)user;
    return pictures / 4;
}

static ct_status look(void *user, const char *word, size_t bytes)
{
    (void)user;
    if (bytes == 0 || memchr(word, '/', bytes)) abort();
    return CT_OK;
}

/* The words of accepted rows are all a reader of these rows knows, and each row can be encoded. */
static void read_rows(const ct_gloss_list *rows)
{
    const ct_gloss_rules rules = { .clip = { 6, 12, 4 }, .steps = steps, .user = "" };
    ct_labels *l;
    const char **text = calloc((size_t)rows->n + 1, sizeof *text);
    int64_t n = 0;
    if (!text || ct_gloss_reader(&rules, &l) != CT_OK) abort();
    for (int64_t i = 0; i < rows->n; i++)
        if (!rows->row[i].bad) text[n++] = rows->row[i].words;
    if (l->ops->learn(l, text, n) != CT_OK) abort();
    int32_t *id = calloc((size_t)l->field[0].dim[0], sizeof *id);
    void *row[1] = { id };
    for (int64_t i = 0; i < n; i++) {
        const ct_label_in in = { .name = "clip", .text = text[i] };
        const ct_status st = l->ops->encode(l, &in, row);
        if (st != CT_OK && ct_gloss_count(text[i]) <= CT_GLOSS_MAX) abort();
    }
    free(id);
    free(text);
    ct_labels_close(l);
}

static void label_file(char *text, size_t size)
{
    ct_gloss_list rows;
    if (ct_gloss_rows_parse(text, size, "labels", &rows) != CT_OK) {
        if (ct_error_message()[0] == '\0') abort();
        return;
    }
    for (int64_t i = 0; i < rows.n; i++) {
        const ct_gloss_row *r = &rows.row[i];
        if (!*r->id || strchr(r->id, '/') || (!r->bad && !*r->words)) abort();
        if (!r->bad && (ct_utf8_len(r->words) < 0 || ct_gloss_each(r->words, look, NULL) != CT_OK)) abort();
    }
    read_rows(&rows);
    ct_gloss_rows_free(&rows);
}

static void vocabulary(const uint8_t *data, size_t size)
{
    ct_vocabulary v, w;
    if (ct_vocabulary_read(fuzz_file(data, size), &v) != CT_OK) {
        if (ct_error_message()[0] == '\0') abort();
        return;
    }
    json_t *list = ct_vocabulary_list(&v);
    for (int64_t i = 0; i < v.n; i++)
        if (ct_vocabulary_find(&v, v.word[i]) != i) abort();
    if (ct_vocabulary_from_list(list, "again", &w) != CT_OK || !ct_vocabulary_equal(&v, &w)) abort();
    json_decref(list);
    ct_vocabulary_free(&v);
    ct_vocabulary_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char out[1024];
    if (size < 1) return 0;
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 4) {
    case 0: vocabulary(data + 1, size - 1); break;
    case 1:
        if (size < 1000 && ct_gloss_clean(text, size - 1, out) > size + 2) abort();
        break;
    default: label_file(text, size - 1);
    }
    free(text);
    return 0;
}
