/* Readings as the library gives them away. */
#include "config.h"

#include "task/reading.h"

#include <string.h>

#include "base/alloc.h"

ct_status ct_reading_put_text(ct_reading_draft *d, const char *text, double confidence)
{
    ct_free(d->text);
    d->text = ct_strdup(text, "reading");
    d->out.confidence = confidence;
    return d->text ? CT_OK : CT_ENOMEM;
}

ct_status ct_reading_add_symbol(ct_reading_draft *d, const ct_symbol *symbol)
{
    const size_t text = strlen(symbol->text) + 1;
    CT_TRY(ct_grow(&d->symbol, d->out.symbols, &d->cap_symbols, sizeof *d->symbol, "symbols of a reading"));
    ct_symbol *own = ct_malloc(sizeof *own + text, "symbols of a reading"); /* its text stands behind it */
    if (!own) return CT_ENOMEM;
    *own = *symbol;
    own->text = memcpy(own + 1, symbol->text, text);
    d->symbol[d->out.symbols++] = own;
    return CT_OK;
}

ct_status ct_reading_add_point(ct_reading_draft *d, const char *name, const double at[2], double confidence)
{
    CT_TRY(ct_grow(&d->point, d->out.points, &d->cap_points, sizeof *d->point, "points of a reading"));
    ct_point *own = ct_malloc(sizeof *own, "points of a reading");
    if (!own) return CT_ENOMEM;
    *own = (ct_point){ .name = name, .x = at[0], .y = at[1], .confidence = confidence };
    d->point[d->out.points++] = own;
    return CT_OK;
}

ct_status ct_reading_refuse(ct_reading_draft *d, ct_status status)
{
    d->out.status = status;
    ct_free(d->error);
    d->error = ct_strdup(ct_error_message(), "why a picture was not read");
    return d->error ? CT_OK : CT_ENOMEM;
}

void ct_reading_seal(ct_reading_draft *d)
{
    d->out.size = sizeof d->out;
    d->out.text = d->text ? d->text : "";
    d->out.error = d->error ? d->error : "";
    d->out.json = d->json ? d->json : "";
    d->out.symbol = (const ct_symbol *const *)d->symbol;
    d->out.point = (const ct_point *const *)d->point;
}

void ct_reading_free(ct_reading_draft *d)
{
    for (size_t i = 0; i < d->out.symbols; i++) ct_free(d->symbol[i]);
    for (size_t i = 0; i < d->out.points; i++) ct_free(d->point[i]);
    ct_free(d->symbol);
    ct_free(d->point);
    ct_free(d->text);
    ct_free(d->error);
    ct_free(d->json);
    *d = (ct_reading_draft){ 0 };
}
