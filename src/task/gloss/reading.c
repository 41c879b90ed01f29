/* What the library tells of a clip: its glosses. */
#include "config.h"

#include <math.h>

#include "base/alloc.h"
#include "base/shortest.h"
#include "task/gloss/findings.h"

ct_status ct_gloss_reading(const ct_findings *f, int64_t i, ct_reading_draft *into)
{
    const ct_gloss_findings *t = ct_gloss_findings_of(f);
    int64_t n;
    const int32_t *word = ct_signed_read(t, i, &n);
    char *text = ct_signed_text(t, word, n);
    ct_status st = text ? ct_reading_put_text(into, text, ct_signed_confidence(t, i)) : CT_ENOMEM;
    ct_free(text);
    for (int64_t k = 0; st == CT_OK && k < n; k++) {
        const double confidence = ct_shortest_float(t->conf[i * t->columns + k]);
        const ct_symbol s = { .text = ct_signed_word(t, word[k]), .confidence = confidence, .index = word[k],
                              .first = NAN, .last = NAN };
        st = ct_reading_add_symbol(into, &s);
    }
    return st;
}

size_t ct_gloss_symbols(const ct_facts *facts)
{
    return (size_t)ct_gloss_facts(facts)->vocabulary.n;
}

const char *ct_gloss_symbol(const ct_facts *facts, size_t i, char buf[CT_SYMBOL_BYTES])
{
    (void)buf;
    return ct_gloss_facts(facts)->vocabulary.word[i];
}
