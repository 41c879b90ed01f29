#include "config.h"

#include "task/gloss/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"
#include "task/gloss/gloss.h"

typedef struct reader {
    ct_labels base;
    ct_gloss_rules rules;
    ct_vocabulary given;      /* of the rules; word NULL: none */
    ct_vocabulary vocabulary; /* learnt */
    ct_vocabulary signers;    /* of the set, by name */
    void *user;               /* owned copy */
} reader;

static const reader *of(const ct_labels *l) { return (const reader *)l; }

static void reader_close(ct_labels *l)
{
    reader *r = (reader *)l;
    ct_vocabulary_free(&r->given);
    ct_vocabulary_free(&r->vocabulary);
    ct_vocabulary_free(&r->signers);
    ct_free(r->rules.more[0]);
    ct_free(r->rules.more[1]);
    ct_free(r->user);
    ct_free(r);
}

/* ---- texts ---- */

size_t ct_gloss_words_of(const char *text)
{
    const char *signer = NULL;
    for (const char *s = text; (s = strstr(s, " (")); s += 2) signer = s;
    return signer && text[strlen(text) - 1] == ')' ? (size_t)(signer - text) : strlen(text);
}

char *ct_gloss_signer_of(const char *text, char *buf, size_t size)
{
    const size_t n = ct_gloss_words_of(text), all = strlen(text);
    const size_t bytes = n < all ? all - n - 3 : 0;
    if (size == 0) return buf;
    memcpy(buf, text + n + (bytes > 0 ? 2 : 0), bytes < size ? bytes : size - 1);
    buf[bytes < size ? bytes : size - 1] = '\0';
    return buf;
}

/* The word that begins at s, of the `end - s` bytes that are left; *next: the one behind it, or end. */
static size_t word_at(const char *s, const char *end, const char **next)
{
    const char *slash = memchr(s, '/', (size_t)(end - s));
    *next = slash ? slash + 1 : end;
    return (size_t)((slash ? slash : end) - s);
}

int ct_gloss_count(const char *text)
{
    int n = 0;
    for (const char *s = text, *end = text + ct_gloss_words_of(text); s < end; n++) word_at(s, end, &s);
    return n;
}

int ct_gloss_needs(const char *text)
{
    const char *last = NULL, *next;
    size_t last_bytes = 0;
    int n = 0;
    for (const char *s = text, *end = text + ct_gloss_words_of(text); s < end; s = next) {
        const size_t bytes = word_at(s, end, &next);
        n += 1 + (last && bytes == last_bytes && memcmp(s, last, bytes) == 0);
        last = s;
        last_bytes = bytes;
    }
    return n;
}

/* ---- words ---- */

typedef struct word_list {
    char **word; /* [n] owned */
    size_t n, cap;
} word_list;

static void words_free(word_list *w)
{
    for (size_t i = 0; i < w->n; i++) ct_free(w->word[i]);
    ct_free(w->word);
}

static ct_status add_word(void *user, const char *word, size_t bytes)
{
    word_list *w = user;
    CT_TRY(ct_grow(&w->word, w->n, &w->cap, sizeof *w->word, "words"));
    if (!(w->word[w->n] = ct_strndup(word, bytes, "words"))) return CT_ENOMEM;
    w->n++;
    return CT_OK;
}

static ct_status add_file(const char *path, word_list *w)
{
    ct_gloss_list rows;
    CT_TRY(ct_gloss_rows_read(path, &rows));
    ct_status st = CT_OK;
    for (int64_t i = 0; i < rows.n && st == CT_OK; i++)
        if (!rows.row[i].bad) st = ct_gloss_each(rows.row[i].words, add_word, w);
    ct_gloss_rows_free(&rows);
    return st;
}

static ct_status collect(reader *r, const char *const *text, int64_t n)
{
    word_list w = { 0 };
    ct_status st = CT_OK;
    for (int64_t i = 0; i < n; i++)
        for (const char *s = text[i], *end = s + ct_gloss_words_of(s), *next; s < end; s = next) {
            const size_t bytes = word_at(s, end, &next);
            CT_GOTO(st, add_word(&w, s, bytes));
        }
    for (int k = 0; k < 2; k++)
        if (r->rules.more[k]) CT_GOTO(st, add_file(r->rules.more[k], &w));
    st = ct_vocabulary_of((const char *const *)w.word, (int64_t)w.n, &r->vocabulary);
fail:
    words_free(&w);
    return st;
}

static ct_status collect_signers(reader *r, const char *const *text, int64_t n)
{
    word_list w = { 0 };
    ct_status st = CT_OK;
    char name[256];
    for (int64_t i = 0; i < n; i++) {
        ct_gloss_signer_of(text[i], name, sizeof name);
        if (*name) CT_GOTO(st, add_word(&w, name, strlen(name)));
    }
    st = ct_vocabulary_of((const char *const *)w.word, (int64_t)w.n, &r->signers);
fail:
    words_free(&w);
    return st;
}

/* ---- operations ---- */

static ct_status reader_scan(ct_labels *l, const char *path, ct_scan *out)
{
    const ct_gloss_rules *u = &of(l)->rules;
    char *file = NULL, *tried = NULL, *sets;
    *out = (ct_scan){ 0 };
    if (!ct_path_is_dir(path)) return ct_fail(CT_EIO, "%s: is no folder of clips", path);
    CT_TRY(u->label_file(u->cfg, path, &file));
    if (file) {
        const ct_status st = ct_gloss_scan(path, file, out);
        ct_free(file);
        return st;
    }
    CT_TRY(ct_gloss_sets_in(path, &sets));
    if (sets) {
        ct_fail(CT_EIO, "%s: is no set of clips, but above some; name one of them: %s", path, sets);
        ct_free(sets);
        return CT_EIO;
    }
    CT_TRY(ct_gloss_find_labels(path, &file, &tried)); /* says where it looked */
    ct_fail(CT_EIO, "%s: there is no label file for its clips (looked for %s)", path, tried ? tried : "");
    ct_free(file);
    ct_free(tried);
    return CT_EIO;
}

static ct_status reader_shape(ct_labels *l, const char *const *text, int64_t n)
{
    int most = of(l)->rules.columns > 1 ? of(l)->rules.columns : 1;
    for (int64_t i = 0; i < n; i++) {
        const int k = ct_gloss_count(text[i]);
        if (k > most && k <= CT_GLOSS_MAX) most = k;
    }
    l->fields = 1;
    l->field[0] = (ct_field){ .name = CT_GLOSS_FIELD, .dtype = CT_I32, .kind = CT_FIELD_IDS, .ndim = 1,
                              .dim = { most } };
    return CT_OK;
}

static ct_status reader_learn(ct_labels *l, const char *const *text, int64_t n)
{
    reader *r = (reader *)l;
    ct_vocabulary_free(&r->vocabulary);
    ct_vocabulary_free(&r->signers);
    CT_TRY(r->given.word ? ct_vocabulary_copy(&r->given, &r->vocabulary) : collect(r, text, n));
    CT_TRY(collect_signers(r, text, n));
    return reader_shape(l, text, n);
}

static void reader_blank(const ct_labels *l, void *const row[])
{
    int32_t *id = row[0];
    for (int64_t k = 0; k < l->field[0].dim[0]; k++) id[k] = -1;
}

static ct_status reader_encode(const ct_labels *l, const ct_label_in *in, void *const row[])
{
    const reader *r = of(l);
    const int64_t columns = l->field[0].dim[0];
    int32_t *id = row[0];
    int64_t n = 0;
    reader_blank(l, row);
    const char *end = in->text + ct_gloss_words_of(in->text), *next;
    for (const char *s = in->text; s < end; s = next, n++) {
        const size_t bytes = word_at(s, end, &next);
        const int64_t k = ct_vocabulary_find_part(&r->vocabulary, s, bytes);
        if (k < 0)
            return ct_fail(CT_EDATA, "%s: the word '%.*s' is not in the vocabulary", in->name, (int)bytes, s);
        if (n >= columns)
            return ct_fail(CT_EDATA, "%s: %d glosses are too many, at most %" PRId64 " are possible", in->name,
                           ct_gloss_count(in->text), columns);
        id[n] = (int32_t)k;
    }
    const int need = ct_gloss_needs(in->text);
    const int64_t have = in->frames > 0 ? ct_gloss_reader_steps(l, in->frames) : need;
    if (need <= have) return CT_OK;
    return ct_fail(CT_EDATA, "%s: its %" PRId64 " glosses need %d time steps, its %d frames give %" PRId64, in->name, n,
                   need, in->frames, have);
}

static const char *reader_fault(const ct_labels *l, const ct_label_in *in)
{
    const reader *r = of(l);
    const char *end = in->text + ct_gloss_words_of(in->text), *next;
    for (const char *s = in->text; s < end; s = next) {
        const size_t bytes = word_at(s, end, &next);
        if (ct_vocabulary_find_part(&r->vocabulary, s, bytes) < 0) return "vocabulary";
    }
    return ct_gloss_count(in->text) > l->field[0].dim[0] ? "length" : "steps";
}

/* The fewest frames that give the steps a label needs. */
static int reader_least(const ct_labels *l, const char *text)
{
    const int need = ct_gloss_needs(text);
    int frames = 1;
    while (frames < CT_GLOSS_MAX * 8 && ct_gloss_reader_steps(l, frames) < need) frames++;
    return frames;
}

static const ct_label_fault faults[] = {
    { "vocabulary", "clips with words outside the vocabulary" },
    { "length", "clips with too many glosses" },
    { "steps", "clips whose glosses need more time steps (CTC) than they give" },
    { NULL, NULL },
};

ct_status ct_gloss_reader(const ct_gloss_rules *rules, ct_labels **out)
{
    static const ct_labels_ops ops = { .scan = reader_scan, .learn = reader_learn, .shape = reader_shape,
                                       .encode = reader_encode, .blank = reader_blank, .least = reader_least,
                                       .fault = reader_fault, .faults = faults, .survey = ct_gloss_survey,
                                       .close = reader_close };
    static const ct_labels_ops drawn = { .learn = reader_learn, .shape = reader_shape, .encode = reader_encode,
                                         .blank = reader_blank, .least = reader_least, .close = reader_close };
    ct_status st;
    *out = NULL;
    reader *r = ct_calloc(1, sizeof *r, "label reader");
    if (!r) return CT_ENOMEM;
    r->base.ops = rules->label_file ? &ops : &drawn;
    r->base.clip = rules->clip;
    r->rules = *rules;
    r->rules.vocabulary = NULL;
    r->rules.user = NULL;
    for (int k = 0; k < 2; k++) r->rules.more[k] = NULL;
    for (int k = 0; k < 2; k++)
        if (rules->more[k] && !(r->rules.more[k] = ct_strdup(rules->more[k], "label file"))) CT_GOTO(st, CT_ENOMEM);
    if (rules->vocabulary) CT_GOTO(st, ct_vocabulary_copy(rules->vocabulary, &r->given));
    if (!(r->user = ct_malloc(rules->user_bytes + 1, "label reader"))) CT_GOTO(st, CT_ENOMEM);
    memcpy(r->user, rules->user, rules->user_bytes);
    r->rules.user = r->user;
    *out = &r->base;
    return CT_OK;
fail:
    reader_close(&r->base);
    return st;
}

/* ---- asking ---- */

const ct_vocabulary *ct_gloss_reader_vocabulary(const ct_labels *l) { return &of(l)->vocabulary; }

int64_t ct_gloss_reader_steps(const ct_labels *l, int frames)
{
    const ct_gloss_rules *u = &of(l)->rules;
    return u->steps(u->user, ct_clip_padded(&u->clip, frames));
}

bool ct_gloss_reader_set_columns(ct_labels *l, int columns)
{
    const bool others = l->field[0].dim[0] != columns;
    l->field[0].dim[0] = columns;
    return others;
}

int ct_gloss_columns(const ct_dataset *ds)
{
    int n;
    return (int)ct_dataset_fields(ds, &n)[0].dim[0];
}

const int32_t *ct_gloss_ids(const ct_dataset *ds, int64_t i) { return ct_dataset_field(ds, 0, i); }

const char *ct_gloss_signer(const ct_dataset *ds, int64_t i)
{
    const ct_labels *l = ct_dataset_label_reader(ds);
    const ct_vocabulary *signers = &of(l)->signers;
    char name[256];
    if (l->ops->close != reader_close) return ""; /* clips without labels */
    const int64_t k = ct_vocabulary_find(signers, ct_gloss_signer_of(ct_dataset_label_text(ds, i), name, sizeof name));
    return k < 0 ? "" : signers->word[k];
}
