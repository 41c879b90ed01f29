#include "config.h"

#include "run/receipt.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/version.h"
#include "formats/svg.h"
#include "program/spec.h"

#define SHOWN_ENGINES 2 /* in a line of text */

/* The engines of a row in one text: the first few, and how many more; ct_free(). */
static char *engines_of(const ct_receipt_row *r)
{
    if (r->engines == 0) return ct_strdup("", "engines");
    if (r->engines == 1) return ct_strdup(r->engine[0], "engines");
    if (r->engines == SHOWN_ENGINES) return ct_asprintf("%s, %s", r->engine[0], r->engine[1]);
    return ct_asprintf("%s, %s and %zu more", r->engine[0], r->engine[1], r->engines - SHOWN_ENGINES);
}

void ct_receipt_print(const ct_receipt_list *l, const char *indent, FILE *to)
{
    size_t faults = 0;
    fprintf(to, "%s%-18s %-16s %-9s %-6s %-6s %-6s %-12s %5s\n", indent, "operator", "implementation", "stored",
            "asked", "factor", "sums", "matrix units", "calls");
    for (size_t i = 0; i < l->n; i++) {
        const ct_receipt_row *r = &l->row[i];
        char *engines = engines_of(r);
        fprintf(to, "%s%-18s %-16s %-9s %-6s %-6s %-6s %-12s %5d%s%s%s\n", indent, ct_op_get(r->op)->name, r->impl,
                r->types, r->asked, r->math, r->sums, r->tensor_cores ? "yes" : "no", r->calls, *r->fault ? " !" : "",
                r->engines ? "  " : "", engines ? engines : "");
        ct_free(engines);
        faults += *r->fault != '\0';
    }
    for (size_t i = 0; i < l->n && faults > 0; i++) {
        const ct_receipt_row *r = &l->row[i];
        if (*r->fault)
            fprintf(to, "%s! %s by %s (node '%s'): %s\n", indent, ct_op_get(r->op)->name, r->impl, r->node, r->fault);
    }
}

static ct_status json_row(const ct_receipt_row *r, json_t *o)
{
    json_t *engines = json_array();
    CT_TRY(ct_json_set(o, "engines", engines)); /* o owns it from here on */
    CT_TRY(ct_json_set(o, "op", json_string(ct_op_get(r->op)->name)));
    CT_TRY(ct_json_set(o, "impl", json_string(r->impl)));
    CT_TRY(ct_json_set(o, "types", json_string(r->types)));
    CT_TRY(ct_json_set(o, "asked", json_string(r->asked)));
    CT_TRY(ct_json_set(o, "math", json_string(r->math)));
    CT_TRY(ct_json_set(o, "sums", json_string(r->sums)));
    CT_TRY(ct_json_set(o, "tensor_cores", json_boolean(r->tensor_cores)));
    CT_TRY(ct_json_set(o, "transforms", json_boolean(r->transforms)));
    CT_TRY(ct_json_set(o, "calls", json_integer(r->calls)));
    CT_TRY(ct_json_set(o, "node", json_string(r->node)));
    for (size_t i = 0; i < r->engines; i++)
        if (json_array_append_new(engines, json_string(r->engine[i])) != 0)
            return ct_fail(CT_ENOMEM, "out of memory: receipt");
    return ct_json_set(o, "fault", *r->fault ? json_string(r->fault) : json_null());
}

ct_status ct_receipt_json(const ct_receipt_list *l, json_t *into)
{
    json_t *list = json_array();
    CT_TRY(ct_json_set(into, "receipt", list)); /* into owns it from here on */
    for (size_t i = 0; i < l->n; i++) {
        json_t *o = json_object();
        if (json_array_append_new(list, o) != 0) return ct_fail(CT_ENOMEM, "out of memory: receipt");
        CT_TRY(json_row(&l->row[i], o));
    }
    return CT_OK;
}

ct_status ct_receipt_strict(const ct_receipt_list *l)
{
    const ct_receipt_row *first = NULL;
    char others[80] = "";
    size_t more = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (!*l->row[i].fault) continue;
        if (first) more++;
        else first = &l->row[i];
    }
    if (!first) return CT_OK;
    if (more > 0)
        snprintf(others, sizeof others, "; and %zu more such row%s of the receipt", more, more == 1 ? "" : "s");
    return ct_fail(CT_ECONFIG, "train.strict: %s by %s, node '%s': %s%s", ct_op_get(first->op)->name, first->impl,
                   first->node, first->fault, others);
}

/* ---- of a run ---- */

/* Of every program of the session. */
static ct_status collect(const ct_session *s, ct_receipt_list *out)
{
    *out = (ct_receipt_list){ .asked = ct_spec_precision_name(&s->spec) };
    for (size_t i = 0; i < s->units; i++) {
        ct_status st = ct_receipt_list_add(out, s->unit[i].plan);
        if (st == CT_OK) continue;
        ct_receipt_list_free(out);
        return st;
    }
    return CT_OK;
}

ct_status ct_receipt_check(const ct_run *r)
{
    ct_receipt_list l;
    if (!r->cfg->train.strict) return CT_OK;
    CT_TRY(collect(&r->session, &l));
    ct_status st = ct_receipt_strict(&l);
    ct_receipt_list_free(&l);
    return st;
}

static ct_status write_json(const ct_run *r, const ct_receipt_list *l)
{
    const ct_session *s = &r->session;
    char *path = ct_path_join(r->out, "receipt.json");
    json_t *o = json_object();
    ct_status st = path && o ? CT_OK : ct_fail(CT_ENOMEM, "out of memory: receipt");
    if (st != CT_OK) goto fail;
    CT_GOTO(st, ct_json_set(o, "format", json_string("captrain-receipt")));
    CT_GOTO(st, ct_json_set(o, "version", json_integer(1)));
    CT_GOTO(st, ct_json_set(o, "captrain", json_string(ct_version())));
    CT_GOTO(st, ct_json_set(o, "precision", json_string(l->asked)));
    CT_GOTO(st, ct_json_set(o, "strict", json_boolean(r->cfg->train.strict)));
    CT_GOTO(st, ct_json_set(o, "backend", json_string(s->backend->name)));
    CT_GOTO(st, ct_json_set(o, "device", json_string(s->device.name)));
    CT_GOTO(st, ct_json_set(o, "detail", json_string(s->device.detail)));
    CT_GOTO(st, ct_receipt_json(l, o));
    st = ct_json_write(path, o, 1);
fail:
    json_decref(o);
    ct_free(path);
    return st;
}

ct_status ct_receipt_write(const ct_run *r)
{
    ct_receipt_list l;
    CT_TRY(collect(&r->session, &l));
    ct_status st = write_json(r, &l);
    ct_receipt_list_free(&l);
    return st;
}

ct_status ct_receipt_log(const ct_run *r)
{
    ct_receipt_list l;
    if (!r->log) return CT_OK;
    CT_TRY(collect(&r->session, &l));
    fprintf(r->log, "precision %s was asked for; what the operators do (receipt.json):\n", l.asked);
    ct_receipt_print(&l, "  ", r->log);
    ct_receipt_list_free(&l);
    return CT_OK;
}

static void html_row(const ct_receipt_row *r, FILE *to)
{
    char *engines = engines_of(r);
    const char *cell[] = {
        ct_op_get(r->op)->name, r->impl, r->types, r->asked, r->math, r->sums, r->tensor_cores ? "yes" : "no",
        engines ? engines : "", r->fault
    };
    fputs("<tr>", to);
    for (size_t i = 0; i < sizeof cell / sizeof cell[0]; i++) {
        fputs("<td>", to);
        ct_svg_escape(to, cell[i]);
        fputs("</td>", to);
    }
    fputs("</tr>\n", to);
    ct_free(engines);
}

ct_status ct_receipt_html(const ct_run *r, FILE *to)
{
    ct_receipt_list l;
    CT_TRY(collect(&r->session, &l));
    fputs("<section><h2>Precision</h2><details><summary>what was asked of each operator, and what it "
          "does</summary><table>\n"
          "<tr><th>operator</th><th>implementation</th><th>stored</th><th>asked</th><th>factors</th><th>sums</"
          "th><th>matrix units</th>"
          "<th>engine</th><th>not as asked</th></tr>\n",
          to);
    for (size_t i = 0; i < l.n; i++) html_row(&l.row[i], to);
    fputs("</table></details></section>\n", to);
    ct_receipt_list_free(&l);
    return CT_OK;
}
