#include "config.h"

#include "task/gloss/vocabulary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

enum { FILE_BYTES = 64 << 20 };

void ct_vocabulary_free(ct_vocabulary *v)
{
    if (!v) return;
    for (int64_t i = 0; i < v->n; i++) ct_free(v->word[i]);
    ct_free(v->word);
    *v = (ct_vocabulary){ 0 };
}

/* As strcmp() with the first `bytes` of a. */
static int compare(const char *a, size_t bytes, const char *b)
{
    const int c = strncmp(a, b, bytes);
    return c ? c : b[bytes] ? -1 : 0;
}

int64_t ct_vocabulary_find_part(const ct_vocabulary *v, const char *word, size_t bytes)
{
    int64_t low = 0, high = v->n;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        const int c = compare(word, bytes, v->word[mid]);
        if (c == 0) return mid;
        if (c < 0) high = mid;
        else low = mid + 1;
    }
    return -1;
}

int64_t ct_vocabulary_find(const ct_vocabulary *v, const char *word)
{
    return ct_vocabulary_find_part(v, word, strlen(word));
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Copies of the words, which ascend; equal neighbours become one. */
static ct_status take(const char *const *word, int64_t n, ct_vocabulary *out)
{
    out->word = ct_calloc(n > 0 ? (size_t)n : 1, sizeof *out->word, "vocabulary");
    if (!out->word) return CT_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        if (out->n > 0 && strcmp(out->word[out->n - 1], word[i]) == 0) continue;
        if (out->n == CT_VOCABULARY_MAX)
            return ct_fail(CT_EDATA, "vocabulary: more than %d words", CT_VOCABULARY_MAX);
        if (!(out->word[out->n] = ct_strdup(word[i], "vocabulary"))) return CT_ENOMEM;
        out->n++;
    }
    return CT_OK;
}

ct_status ct_vocabulary_of(const char *const *word, int64_t n, ct_vocabulary *out)
{
    *out = (ct_vocabulary){ 0 };
    const char **sorted = ct_calloc(n > 0 ? (size_t)n : 1, sizeof *sorted, "vocabulary");
    if (!sorted) return CT_ENOMEM;
    if (n > 0) memcpy(sorted, word, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_bytes);
    const ct_status st = take(sorted, n, out);
    ct_free(sorted);
    if (st != CT_OK) ct_vocabulary_free(out);
    return st;
}

ct_status ct_vocabulary_copy(const ct_vocabulary *v, ct_vocabulary *out)
{
    return ct_vocabulary_of((const char *const *)v->word, v->n, out);
}

bool ct_vocabulary_equal(const ct_vocabulary *a, const ct_vocabulary *b)
{
    bool same = a->n == b->n;
    for (int64_t i = 0; same && i < a->n; i++) same = strcmp(a->word[i], b->word[i]) == 0;
    return same;
}

/* ---- JSON ---- */

json_t *ct_vocabulary_list(const ct_vocabulary *v)
{
    json_t *list = json_array();
    for (int64_t i = 0; list && i < v->n; i++)
        if (json_array_append_new(list, json_string(v->word[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static ct_status check_word(const char *word, const char *source, int64_t number)
{
    if (!word || !*word || ct_utf8_len(word) < 0 || strchr(word, '/'))
        return ct_fail(CT_EFORMAT, "%s: entry %" PRId64 " of the vocabulary is no word", source, number);
    return CT_OK;
}

ct_status ct_vocabulary_from_list(const json_t *list, const char *source, ct_vocabulary *out)
{
    const size_t n = json_array_size(list);
    ct_status st = CT_OK;
    *out = (ct_vocabulary){ 0 };
    if (!json_is_array(list)) return ct_fail(CT_EFORMAT, "%s: the vocabulary is no list", source);
    const char **word = ct_calloc(n ? n : 1, sizeof *word, "vocabulary");
    if (!word) return CT_ENOMEM;
    for (size_t i = 0; i < n && st == CT_OK; i++) {
        word[i] = json_string_value(json_array_get(list, i));
        st = check_word(word[i], source, (int64_t)i);
        if (st == CT_OK && i > 0 && strcmp(word[i - 1], word[i]) >= 0)
            st = ct_fail(CT_EFORMAT, "%s: word '%s' of the vocabulary stands behind '%s'", source, word[i],
                         word[i - 1]);
    }
    if (st == CT_OK) st = take(word, (int64_t)n, out);
    if (st != CT_OK) ct_vocabulary_free(out);
    ct_free(word);
    return st;
}

/* ---- files ---- */

ct_status ct_vocabulary_write(const ct_vocabulary *v, const char *path)
{
    ct_status st;
    json_t *o = json_object(), *index = json_object(), *words = json_array();
    CT_GOTO(st, ct_json_set(o, "word2idx", json_incref(index)));
    CT_GOTO(st, ct_json_set(o, "idx2word", json_incref(words)));
    CT_GOTO(st, ct_json_set(o, "vocab_size", json_integer(v->n + 1)));
    if (json_array_append_new(words, json_string(" ")) != 0) CT_GOTO(st, CT_ENOMEM);
    for (int64_t i = 0; i < v->n; i++) {
        CT_GOTO(st, ct_json_set(index, v->word[i], json_integer(i + 1)));
        if (json_array_append_new(words, json_string(v->word[i])) != 0)
            CT_GOTO(st, ct_fail(CT_ENOMEM, "out of memory writing the vocabulary"));
    }
    st = ct_json_write(path, o, 1);
fail:
    json_decref(words);
    json_decref(index);
    json_decref(o);
    return st;
}

/* idx2word without the blank, in any order: what a word's class was in another program does not matter here. */
static ct_status from_json(const json_t *o, const char *path, ct_vocabulary *out)
{
    const json_t *list = json_object_get(o, "idx2word");
    const size_t n = json_array_size(list);
    ct_status st = CT_OK;
    if (n < 2) return ct_fail(CT_EFORMAT, "%s: has no idx2word, a list of the blank and words", path);
    const char **word = ct_calloc(n, sizeof *word, "vocabulary");
    if (!word) return CT_ENOMEM;
    for (size_t i = 1; i < n && st == CT_OK; i++) {
        word[i - 1] = json_string_value(json_array_get(list, i));
        st = check_word(word[i - 1], path, (int64_t)i);
    }
    if (st == CT_OK) st = ct_vocabulary_of(word, (int64_t)n - 1, out);
    ct_free(word);
    return st;
}

/* A word in each line of text, which is changed. */
static ct_status from_lines(char *text, const char *path, ct_vocabulary *out)
{
    size_t n = 0, cap = 0;
    int64_t line = 0;
    const char **word = NULL;
    ct_status st = CT_OK;
    for (char *at = text, *next; *at; at = next) {
        char *end = at + strcspn(at, "\n");
        next = *end ? end + 1 : end;
        line++;
        if (end > at && end[-1] == '\r') end--;
        *end = '\0';
        if (end == at) continue;
        CT_GOTO(st, check_word(at, path, line));
        CT_GOTO(st, ct_grow(&word, n, &cap, sizeof *word, "vocabulary"));
        word[n++] = at;
    }
    st = n > 0 ? ct_vocabulary_of(word, (int64_t)n, out) : ct_fail(CT_EFORMAT, "%s: has no words", path);
fail:
    ct_free(word);
    return st;
}

ct_status ct_vocabulary_read(const char *path, ct_vocabulary *out)
{
    uint8_t *data;
    size_t size;
    json_t *o = NULL;
    *out = (ct_vocabulary){ 0 };
    CT_TRY(ct_file_read_plain(path, FILE_BYTES, &data, &size));
    char *text = (char *)data; /* a NUL stands behind it */
    ct_status st = memchr(text, '\0', size) ? ct_fail(CT_EFORMAT, "%s: holds NUL bytes: not a text file", path) : CT_OK;
    if (st == CT_OK && size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    if (st == CT_OK && *text == '{') {
        st = ct_json_parse(text, strlen(text), path, &o);
        if (st == CT_OK) st = from_json(o, path, out);
        json_decref(o);
    } else if (st == CT_OK) {
        st = from_lines(text, path, out);
    }
    ct_free(data);
    return st;
}
