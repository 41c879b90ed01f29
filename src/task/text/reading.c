/* What the library tells of a text: its characters, and of models with time steps where they stand. */
#include "config.h"

#include <math.h>

#include "base/alloc.h"
#include "base/shortest.h"
#include "task/text/findings.h"

/* Time step s of sample i in columns of its picture: steps share the bucket's width evenly. */
static double column(const ct_text_findings *t, int64_t i, int32_t s)
{
    const ct_dataset *ds = t->base.view.data;
    const int64_t sample = ct_view_sample(&t->base.view, i);
    const int width = ct_dataset_bucket_width(ds, ct_dataset_sample_bucket(ds, sample));
    ct_fit fit;
    int w, h;
    ct_dataset_fit(ds, sample, &fit);
    ct_dataset_source_size(ds, sample, &w, &h);
    const double x = ((double)s * width / t->steps[i] - fit.shift[0]) / fit.scale[0];
    return x < 0 ? 0 : w > 0 && x > w ? w : x;
}

ct_status ct_text_reading(const ct_findings *f, int64_t i, ct_reading_draft *into)
{
    const ct_text_findings *t = ct_text_findings_of(f);
    const int n = ct_found_length(t, i);
    char *text = ct_found_text(t, i);
    ct_status st = text ? ct_reading_put_text(into, text, ct_found_confidence(t, i)) : CT_ENOMEM;
    ct_free(text);
    for (int k = 0; st == CT_OK && k < n; k++) {
        const int64_t cell = i * t->columns + k;
        char buf[CT_SYMBOL_BYTES];
        ct_symbol s = { .confidence = ct_shortest_float(t->conf[cell]), .index = t->pred[cell],
                        .first = NAN, .last = NAN };
        s.text = ct_charset_decode(&t->facts->charset, &t->pred[cell], 1, buf, sizeof buf);
        if (t->place) {
            s.first = column(t, i, t->place[cell][0]);
            s.last = column(t, i, t->place[cell][1]);
        }
        st = ct_reading_add_symbol(into, &s);
    }
    return st;
}

size_t ct_text_symbols(const ct_facts *facts)
{
    return (size_t)ct_text_facts(facts)->charset.n;
}

const char *ct_text_symbol(const ct_facts *facts, size_t i, char buf[CT_SYMBOL_BYTES])
{
    const int32_t id = (int32_t)i;
    return ct_charset_decode(&ct_text_facts(facts)->charset, &id, 1, buf, CT_SYMBOL_BYTES);
}
