/* What ddddocr wants to know of a model of texts beside its graph: charsets.json. */
#include "config.h"

#include "base/alloc.h"
#include "task/text/findings.h"

/* Class 0 is the blank. */
static ct_status fill(const ct_place *p, json_t *out)
{
    const bool wide = p->cfg->data.size_rule == CT_CFG_SIZE_FIT_HEIGHT;
    const ct_model_spec *m = p->model;
    char buf[CT_SYMBOL_BYTES];
    json_t *list = json_array(), *size = json_array();
    ct_status st = ct_json_set(out, "charset", list), more = ct_json_set(out, "image", size);
    CT_TRY(st);
    CT_TRY(more);
    bool good = json_array_append_new(list, json_string(" ")) == 0;
    for (size_t i = 0; good && i < ct_text_symbols(p->facts); i++)
        good = json_array_append_new(list, json_string(ct_text_symbol(p->facts, i, buf))) == 0;
    good = good && json_array_append_new(size, json_integer(wide ? -1 : (json_int_t)m->width)) == 0 &&
           json_array_append_new(size, json_integer((json_int_t)m->height)) == 0;
    if (!good) return ct_fail(CT_ENOMEM, "out of memory writing charsets.json");
    CT_TRY(ct_json_set(out, "word", json_false()));
    return ct_json_set(out, "channel", json_integer((json_int_t)m->channels));
}

ct_status ct_text_beside(const ct_place *p, char **name, char **text)
{
    json_t *out = json_object();
    ct_status st = out ? fill(p, out) : ct_fail(CT_ENOMEM, "out of memory writing charsets.json");
    *name = *text = NULL;
    if (st == CT_OK && (!(*text = ct_json_text(out, 0)) || !(*name = ct_strdup("charsets.json", "name of a file"))))
        st = CT_ENOMEM;
    json_decref(out);
    if (st == CT_OK) return CT_OK;
    ct_free(*text);
    *text = NULL;
    return st;
}
