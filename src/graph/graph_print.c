/* A graph for people, and for programs. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "graph/graph.h"

void ct_graph_cost(const ct_graph *g, ct_phase phase, double *flops, double *bytes)
{
    *flops = *bytes = 0;
    for (size_t i = 0; i < g->nnodes; i++) {
        if (g->nodes[i].phase != phase) continue;
        ct_call c;
        ct_graph_call(g, i, &c);
        *flops += ct_call_flops(&c);
        *bytes += ct_call_bytes(&c);
    }
}

/* 1234567 -> "1.23M": three figures and a decimal prefix. */
static const char *short_number(double v, char buf[16])
{
    static const char prefixes[] = " kMGTPE";
    size_t p = 0;
    while (v >= 999.5 && p + 2 < sizeof prefixes) {
        v /= 1000;
        p++;
    }
    int decimals = p == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    if (p == 0)
        snprintf(buf, 16, "%.0f", v);
    else
        snprintf(buf, 16, "%.*f%c", decimals, v, prefixes[p]);
    return buf;
}

/* The first output's shape, or for operators that only write their inputs the first written one's. */
static const char *result_shape(const ct_graph *g, const ct_node *n, char buf[CT_DESC_STR])
{
    for (int k = 0; k < n->nout; k++)
        if (n->out[k] != CT_NOVAL) return ct_desc_str(ct_graph_desc(g, n->out[k]), buf);
    unsigned mutates = ct_op_get(n->op)->rules->mutates;
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] != CT_NOVAL && (mutates >> k & 1u)) return ct_desc_str(ct_graph_desc(g, n->in[k]), buf);
    return "-";
}

static int name_width(const ct_graph *g)
{
    size_t w = 4;
    for (size_t i = 0; i < g->nnodes; i++) {
        size_t len = strlen(g->nodes[i].name);
        if (len > w) w = len;
    }
    return w > 40 ? 40 : (int)w;
}

void ct_graph_print(const ct_graph *g, const char *const *impl, FILE *out)
{
    char shape[CT_DESC_STR], flops[16], bytes[16];
    int w = name_width(g);
    fprintf(out, "%5s %-8s %-*s %-19s %-24s %7s %7s%s\n", "node", "phase", w, "name", "operator", "result", "FLOP",
            "bytes", impl ? "  implementation" : "");
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        ct_call c;
        ct_graph_call(g, i, &c);
        fprintf(out, "%5zu %-8s %-*s %-19s %-24s %7s %7s", i, n->clone_of >= 0 ? "again" : ct_phase_name(n->phase), w,
                n->name, ct_op_get(n->op)->name, result_shape(g, n, shape), short_number(ct_call_flops(&c), flops),
                short_number(ct_call_bytes(&c), bytes));
        if (impl) fprintf(out, "  %s", impl[i] ? impl[i] : "-");
        fputc('\n', out);
    }
    for (int p = CT_PHASE_FORWARD; p <= CT_PHASE_UPDATE; p++) {
        double f, b;
        ct_graph_cost(g, (ct_phase)p, &f, &b);
        if (f > 0 || b > 0)
            fprintf(out, "%5s %-8s %-*s %-19s %-24s %7s %7s\n", "", ct_phase_name((ct_phase)p), w, "total", "", "",
                    short_number(f, flops), short_number(b, bytes));
    }
}

/* A JSON string; bytes of UTF-8 go through as they are. */
static void print_string(const char *s, FILE *out)
{
    fputc('"', out);
    for (; *s; s++) {
        unsigned char ch = (unsigned char)*s;
        if (ch == '"' || ch == '\\') fprintf(out, "\\%c", ch);
        else if (ch < 0x20) fprintf(out, "\\u%04x", ch);
        else fputc(ch, out);
    }
    fputc('"', out);
}

static void print_values(const ct_graph *g, const char *key, int n, const ct_val *v, FILE *out)
{
    fprintf(out, ",\"%s\":[", key);
    for (int i = 0; i < n; i++) {
        if (i) fputc(',', out);
        if (v[i] == CT_NOVAL) fputs("null", out);
        else print_string(g->values[v[i]].name, out);
    }
    fputc(']', out);
}

void ct_graph_print_json(const ct_graph *g, const char *const *impl, FILE *out)
{
    char text[1024];
    for (size_t i = 0; i < g->nnodes; i++) {
        const ct_node *n = &g->nodes[i];
        ct_call c;
        ct_graph_call(g, i, &c);
        ct_call_format(&c, text, sizeof text);
        fprintf(out, "{\"node\":%zu,\"phase\":\"%s\",\"clone_of\":", i, ct_phase_name(n->phase));
        if (n->clone_of >= 0) fprintf(out, "%d", n->clone_of);
        else fputs("null", out);
        fputs(",\"name\":", out);
        print_string(n->name, out);
        fprintf(out, ",\"op\":\"%s\",\"call\":", ct_op_get(n->op)->name);
        print_string(text, out);
        print_values(g, "inputs", n->nin, n->in, out);
        print_values(g, "outputs", n->nout, n->out, out);
        fprintf(out, ",\"flops\":%.0f,\"bytes\":%.0f", ct_call_flops(&c), ct_call_bytes(&c));
        if (impl) {
            fputs(",\"impl\":", out);
            if (impl[i]) print_string(impl[i], out);
            else fputs("null", out);
        }
        fputs("}\n", out);
    }
}
