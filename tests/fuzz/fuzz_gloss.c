/* libFuzzer target: any text as what people write about clips. The first byte says what it is: a label file of either kind
 * (a header may be put in front of it), a vocabulary, or the words of a model file. Rows are mutated as rows. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "task/gloss/cleanup.h"
#include "task/gloss/gloss.h"
#include "task/gloss/reader.h"
#include "tests/fuzz/fuzz_util.h"

static const char *const header[] = { "", "Number,Translator,Chinese Sentences,Gloss,Note\n",
                                      "id|folder|signer|annotation\n" };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ct_log_set_level(CT_LOG_ERROR);
    return 0;
}

static void failed(void)
{
    if (ct_error_message()[0] == '\0') abort();
}

static ct_status no_file(const ct_config *cfg, const char *path, char **out)
{
    (void)cfg;
    (void)path;
    *out = NULL;
    return CT_OK;
}

static int64_t steps(const void *user, int64_t pictures)
{
    (void)user;
    return ((pictures - 4) / 2 - 4) / 2;
}

/* A label as the reader takes it: what it is told by one question fits what another says. */
static void read_label(ct_labels *l, const ct_gloss_row *r)
{
    static int32_t id[CT_GLOSS_MAX];
    void *const row[1] = { id };
    char signer[256], *text = *r->signer ? ct_asprintf("%s (%s)", r->words, r->signer) : ct_strdup(r->words, "label");
    if (!text) return;
    const char *const texts[] = { text };
    if (ct_gloss_words_of(text) != strlen(r->words)) abort();
    ct_gloss_signer_of(text, signer, sizeof signer);
    if (strlen(r->signer) < sizeof signer && strcmp(signer, r->signer) != 0) abort();
    if (l->ops->learn(l, texts, 1) == CT_OK) {
        const int n = ct_gloss_count(text), needs = ct_gloss_needs(text), least = l->ops->least(l, text);
        ct_label_in in = { .name = "clip", .text = text, .frames = least, .width = 8, .height = 8 };
        if (n < 1 || needs < n || needs >= 2 * n || l->field[0].dim[0] > CT_GLOSS_MAX) abort();
        const ct_status st = l->ops->encode(l, &in, row);
        if ((st == CT_OK) != (n <= CT_GLOSS_MAX)) abort();
        if (st != CT_OK) failed();
        for (int k = 0; st == CT_OK && k < n; k++)
            if (id[k] < 0 || id[k] >= ct_gloss_reader_vocabulary(l)->n) abort();
        if (st == CT_OK && least > 1) { /* one frame less is too few */
            in.frames = least - 1;
            if (l->ops->encode(l, &in, row) != CT_EDATA || strcmp(l->ops->fault(l, &in), "steps") != 0) abort();
        }
    }
    ct_free(text);
}

/* A cleaned gloss has no bracket that opens, and no number with zeros in front. */
static ct_status look(void *user, const char *word, size_t bytes)
{
    const bool cleaned = *(const bool *)user;
    char *again = malloc(bytes + 4);
    if (bytes == 0 || memchr(word, '/', bytes)) abort();
    if (cleaned && (memchr(word, '(', bytes) || memchr(word, '[', bytes) || memchr(word, '{', bytes))) abort();
    if (cleaned && bytes > 1 && word[0] == '0' && strspn(word, "0123456789") >= bytes) abort();
    bool closed;
    if (again && ct_gloss_clean(word, bytes, again, &closed) > bytes + 2) abort();
    if (again && cleaned && !closed) abort();
    free(again);
    return CT_OK;
}

static void rows(char *text, size_t size, bool cleaned)
{
    static const ct_gloss_rules rules = { .clip = { 6, 12, 4 }, .label_file = no_file, .steps = steps, .user = "" };
    ct_gloss_list list;
    ct_labels *l;
    if (ct_gloss_rows_parse(text, size, "fuzz", &list) != CT_OK) {
        failed();
        if (list.row || list.path) abort();
        return;
    }
    if (ct_gloss_reader(&rules, &l) != CT_OK) abort();
    for (int64_t i = 0; i < list.n; i++) {
        const ct_gloss_row *r = &list.row[i];
        if (!*r->id || strchr(r->id, '/') || r->line < 1 || (i > 0 && r->line <= r[-1].line)) abort();
        if (r->bad) continue;
        if (!*r->words || ct_utf8_len(r->words) < 0 || ct_gloss_each(r->words, look, &cleaned) != CT_OK) abort();
        if (i < 32) read_label(l, r);
    }
    ct_labels_close(l);
    ct_gloss_rows_free(&list);
}

static void words_again(const ct_vocabulary *v)
{
    ct_vocabulary w;
    json_t *list = ct_vocabulary_list(v);
    for (int64_t i = 0; i < v->n; i++)
        if (ct_vocabulary_find(v, v->word[i]) != i || (i > 0 && strcmp(v->word[i - 1], v->word[i]) >= 0)) abort();
    if (!list || ct_vocabulary_from_list(list, "again", &w) != CT_OK || !ct_vocabulary_equal(v, &w)) abort();
    ct_vocabulary_free(&w);
    json_decref(list);
}

static void vocabulary(const uint8_t *data, size_t size)
{
    ct_vocabulary v;
    if (ct_vocabulary_read(fuzz_file(data, size), &v) == CT_OK) words_again(&v);
    else failed();
    ct_vocabulary_free(&v);
}

static const char *get(const void *user, const char *key) { return strcmp(key, "columns") == 0 ? "9" : user; }

static void model(const char *text)
{
    ct_facts *facts;
    if (ct_gloss_read("fuzz", get, text, &facts) == CT_OK) words_again(&ct_gloss_facts(facts)->vocabulary);
    else failed();
    ct_gloss_forget(facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    const unsigned what = data[0] % 5;
    const char *first = what < 3 ? header[what] : "";
    const size_t n = strlen(first);
    char *text = malloc(n + size);
    if (!text) return 0;
    memcpy(text, first, n);
    memcpy(text + n, data + 1, size - 1);
    text[n + size - 1] = '\0';
    if (what == 3) vocabulary(data + 1, size - 1);
    else if (what == 4) model(text);
    else rows(text, n + size - 1, text[0] == 'N' || text[0] == 'n');
    free(text);
    return 0;
}

/* ---- mutation: rows and fields change places, are repeated and left out ---- */

static unsigned state;

static size_t draw(size_t below)
{
    state = state * 1664525u + 1013904223u;
    return below ? (state >> 8) % below : 0;
}

/* From a place in data the piece up to the next of `ends`, that one included. */
static size_t piece(const uint8_t *data, size_t size, size_t at, const char *ends)
{
    size_t n = 0;
    while (at + n < size && !strchr(ends, data[at + n])) n++;
    return at + n < size ? n + 1 : n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char *const ends[] = { "\n", ",|", "/ ", "\"" };
    state = seed;
    if (size < 2 || draw(3)) return LLVMFuzzerMutate(data, size, max);
    const char *end = ends[draw(4)];
    const size_t from = 1 + draw(size - 1), n = piece(data, size, from, end);
    if (draw(3) == 0) { /* left out */
        memmove(data + from, data + from + n, size - from - n);
        return size - n;
    }
    if (size + n > max) return LLVMFuzzerMutate(data, size, max);
    const size_t to = 1 + draw(size); /* once more, elsewhere */
    uint8_t *copy = malloc(n + 1);
    if (!copy) return size;
    memcpy(copy, data + from, n);
    memmove(data + to + n, data + to, size - to);
    memcpy(data + to, copy, n);
    free(copy);
    return size + n;
}
