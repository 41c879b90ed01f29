/* The report's section on speed and the device, from metrics.jsonl and the run's gauge. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/svg.h"
#include "report/report_html.h"

enum { DEV_X, DEV_RATE, DEV_POWER, DEV_LIMIT, DEV_BUSY, DEV_MEMORY_BUSY, DEV_TEMPERATURE, DEV_COLUMNS };
enum { MOST_REASONS = 16 };

typedef struct reason {
    char text[64];
    int64_t count; /* readings in which it held clocks down */
} reason;

typedef struct readings {
    double *col[DEV_COLUMNS];
    size_t cap[DEV_COLUMNS];
    size_t n, told; /* steps that were logged; those of them at which the device told something */
    size_t known[DEV_COLUMNS]; /* how many of them are numbers */
    reason reason[MOST_REASONS];
    size_t reasons;
} readings;

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* "power cap, thermal (software)": each counts for itself. */
static void count_reasons(readings *h, const char *text)
{
    while (text && *text) {
        size_t n = strcspn(text, ","), i = 0;
        char one[sizeof h->reason[0].text];
        snprintf(one, sizeof one, "%.*s", (int)n, text);
        while (i < h->reasons && strcmp(h->reason[i].text, one) != 0) i++;
        if (i == h->reasons && h->reasons < MOST_REASONS) memcpy(h->reason[h->reasons++].text, one, sizeof one);
        if (i < h->reasons) h->reason[i].count++;
        text += n;
        text += strspn(text, ", ");
    }
}

static ct_status take(void *user, const char *event, const json_t *line)
{
    readings *h = user;
    const json_t *d = json_object_get(line, "device");
    if (strcmp(event, "step") != 0) return CT_OK;
    const double v[DEV_COLUMNS] = { number(line, "epoch"),   number(line, "samples_per_s"),
                                    number(d, "power"),      number(d, "power_limit"),
                                    100 * number(d, "busy"), 100 * number(d, "memory_busy"),
                                    number(d, "temperature") };
    for (int i = 0; i < DEV_COLUMNS; i++) {
        CT_TRY(ct_grow(&h->col[i], h->n, &h->cap[i], sizeof(double), "readings of the device"));
        h->col[i][h->n] = v[i];
        h->known[i] += !isnan(v[i]);
    }
    h->n++;
    h->told += d != NULL;
    count_reasons(h, json_string_value(json_object_get(d, "throttle")));
    return CT_OK;
}

/* A plot of one or two columns, or nothing where the first has no two numbers: one makes no curve. */
static ct_status plot(FILE *f, const readings *h, const char *title, const char *unit, int first, const char *name,
                      int second, const char *second_name)
{
    const bool few = h->known[first] <= 40; /* readings may be rarer than steps: lines between them are not to be had */
    ct_svg_series s[2] = { { name, h->col[DEV_X], h->col[first], h->n, false, few && first != DEV_RATE },
                           { second_name, h->col[DEV_X], h->col[second], h->n, second == DEV_LIMIT, false } };
    if (h->known[first] < 2) return CT_OK;
    ct_svg_plot p = { title, "epoch", unit, 460, 280, false, true, s, 1 + (second != first && h->known[second] > 0) };
    fputs("<div>", f);
    CT_TRY(ct_svg_write(f, &p));
    fputs("</div>\n", f);
    return CT_OK;
}

static void row(FILE *f, const char *name, const char *text)
{
    fputs("<tr><th>", f);
    ct_svg_escape(f, name);
    fputs("</th><td>", f);
    ct_svg_escape(f, text);
    fputs("</td></tr>\n", f);
}

static double mean(const double *v, size_t n)
{
    double sum = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(v[i])) continue;
        sum += v[i];
        k++;
    }
    return k > 0 ? sum / (double)k : NAN;
}

static void table(FILE *f, const ct_gauge *g, const readings *h)
{
    char text[1024];
    size_t n = 0;
    fputs("<table>\n", f);
    if (isfinite(ct_gauge_each(g))) {
        snprintf(text, sizeof text, "%.4g J per image trained (evaluation not counted)", ct_gauge_each(g));
        row(f, "energy", text);
        snprintf(text, sizeof text, "%.0f W while it trained", ct_gauge_power(g));
        row(f, "mean power", text);
    }
    if (h->known[DEV_BUSY] > 0) {
        snprintf(text, sizeof text, "%.0f %% of the time, mean of the readings", mean(h->col[DEV_BUSY], h->n));
        row(f, "busy", text);
    }
    text[0] = '\0';
    for (size_t i = 0; i < h->reasons && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%" PRId64 " of %zu readings)", i ? ", " : "",
                              h->reason[i].text, h->reason[i].count, h->told);
    if (h->reasons > 0) row(f, "clocks held down by", text);
    fputs("</table>\n", f);
}

ct_status ct_report_device(FILE *f, const ct_report *rep)
{
    readings h;
    ct_status st;
    memset(&h, 0, sizeof h);
    CT_GOTO(st, ct_journal_read(rep->run->out, take, &h));
    const bool told = h.known[DEV_POWER] > 0 || h.known[DEV_BUSY] > 0 || h.known[DEV_TEMPERATURE] > 0;
    if (!told && h.known[DEV_RATE] < 2) goto fail;
    fprintf(f, "<section><h2>%s</h2><div class=\"plots\">\n", told ? "Device" : "Speed");
    CT_GOTO(st, plot(f, &h, "Throughput", "samples/s", DEV_RATE, NULL, DEV_RATE, NULL));
    CT_GOTO(st, plot(f, &h, "Power", "W", DEV_POWER, "power", DEV_LIMIT, "limit"));
    CT_GOTO(st, plot(f, &h, "Utilisation", "%", DEV_BUSY, "device", DEV_MEMORY_BUSY, "memory"));
    CT_GOTO(st, plot(f, &h, "Temperature", "\xc2\xb0" "C", DEV_TEMPERATURE, NULL, DEV_TEMPERATURE, NULL));
    fputs("</div>\n", f);
    if (told) table(f, &rep->run->gauge, &h);
    fputs("</section>\n", f);
fail:
    for (int i = 0; i < DEV_COLUMNS; i++) ct_free(h.col[i]);
    return st;
}
