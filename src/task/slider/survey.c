/* What `captrain check` tells about sliders beyond what is wrong with single ones: backgrounds, and whether places lie
 * on a grid, which a model learns by heart. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "task/slider/slider.h"

#define ENOUGH 20       /* samples of a background, or of a set, that can show a grid */
#define SHARE 0.5       /* as few different places, of all, are a grid */
#define SHOWN 10

/* A sample. */
typedef struct seen {
    int set;
    int64_t pic;
    double place[4]; /* gap and piece */
    char *name;
} seen;

typedef struct slider_survey {
    ct_survey base;
    seen *s;
    size_t n, cap;
    int64_t turned, faked;
    double widest_angle;
} slider_survey;

static const slider_survey *of(const ct_survey *s) { return (const slider_survey *)s; }

static ct_status add(ct_survey *s, int set, const ct_label_in *in, const char *fault)
{
    slider_survey *v = (slider_survey *)s;
    ct_slider_label l;
    ct_status st = ct_slider_label_parse(in->name, in->text, &l);
    if (fault || st == CT_EDATA) return CT_OK;
    CT_TRY(st);
    CT_TRY(ct_grow(&v->s, v->n, &v->cap, sizeof *v->s, "survey of labels"));
    seen x = { .set = set, .pic = l.pic, .place = { l.gap[0], l.gap[1], l.piece[0], l.piece[1] },
               .name = ct_strdup(in->name, "survey of labels") };
    if (!x.name) return CT_ENOMEM;
    v->s[v->n++] = x;
    v->faked += l.fakes > 0;
    if (isnan(l.angle) || l.angle == 0) return CT_OK;
    v->turned++;
    v->widest_angle = fmax(v->widest_angle, fabs(l.angle));
    return CT_OK;
}

/* ---- what the whole shows ---- */

static int by_place(const void *a, const void *b)
{
    const seen *x = *(const seen *const *)a, *y = *(const seen *const *)b;
    for (int k = 0; k < 4; k++)
        if (x->place[k] != y->place[k]) return x->place[k] < y->place[k] ? -1 : 1;
    return 0;
}

static int by_background(const void *a, const void *b)
{
    const seen *x = *(const seen *const *)a, *y = *(const seen *const *)b;
    if (x->pic != y->pic) return x->pic < y->pic ? -1 : 1;
    return x->set != y->set ? x->set - y->set : strcmp(x->name, y->name);
}

typedef struct view {
    const seen **s; /* [n] by background */
    int64_t backgrounds, shared, places; /* shared: in both sets; places: different ones */
    const seen *grid;   /* of a background whose places repeat; NULL: there is none */
    int64_t grid_samples, grid_places;
} view;

/* Different places among n samples, which are sorted by place afterwards. */
static int64_t places_of(const seen **s, size_t n)
{
    int64_t places = 0;
    if (n > 1) qsort(s, n, sizeof *s, by_place);
    for (size_t i = 0; i < n; i++) places += i == 0 || by_place(&s[i - 1], &s[i]) != 0;
    return places;
}

static void note_grid(view *w, const seen *s, size_t n, int64_t places)
{
    if (n < ENOUGH || (double)places > SHARE * (double)n || w->grid) return;
    w->grid = s;
    w->grid_samples = (int64_t)n;
    w->grid_places = places;
}

static ct_status look(const slider_survey *v, view *w)
{
    *w = (view){ .s = ct_calloc(v->n + 1, sizeof *w->s, "survey of labels") };
    const seen **group = ct_calloc(v->n + 1, sizeof *group, "survey of labels");
    if (!w->s || !group) {
        ct_free(group);
        return CT_ENOMEM;
    }
    for (size_t i = 0; i < v->n; i++) w->s[i] = group[i] = &v->s[i];
    w->places = places_of(group, v->n);
    if (v->n > 1) qsort(w->s, v->n, sizeof *w->s, by_background);
    for (size_t i = 0, k; i < v->n; i = k) {
        for (k = i + 1; k < v->n && w->s[k]->pic == w->s[i]->pic; k++) { }
        if (w->s[i]->pic < 0) continue;
        w->backgrounds++;
        w->shared += w->s[i]->set != w->s[k - 1]->set;
        memcpy(group, w->s + i, (k - i) * sizeof *group);
        note_grid(w, w->s[i], k - i, places_of(group, k - i));
    }
    if (v->n > 0) note_grid(w, &v->s[0], v->n, w->places);
    ct_free(group);
    return CT_OK;
}

/* ---- telling ---- */

static void print_sample(const seen *s, const char *const mark[2], FILE *to)
{
    fputs(mark[s->set], to);
    ct_text_put(to, s->name, false);
}

static void print_shared(const slider_survey *v, const view *w, const char *const mark[2], FILE *to)
{
    int64_t shown = 0;
    if (w->shared == 0) return;
    fprintf(to, "\nbackgrounds (Pic numbers) in both training and validation: %" PRId64 "\n", w->shared);
    for (size_t i = 0, k; i < v->n && shown < SHOWN; i = k) {
        for (k = i + 1; k < v->n && w->s[k]->pic == w->s[i]->pic; k++) { }
        if (w->s[i]->pic < 0 || w->s[i]->set == w->s[k - 1]->set) continue;
        fputs("  ", to);
        print_sample(w->s[i], mark, to);
        fputc(' ', to);
        print_sample(w->s[k - 1], mark, to);
        fputc('\n', to);
        shown++;
    }
}

static void print(const ct_survey *s, ct_survey_part part, const char *const mark[2], FILE *to)
{
    const slider_survey *v = of(s);
    view w;
    if (part != CT_SURVEY_LABELS || v->n == 0) return;
    if (look(v, &w) == CT_OK) {
        fprintf(to, "\nbackgrounds: %" PRId64 "; different places: %" PRId64 " of %zu; with fake gaps: %" PRId64
                "; turned: %" PRId64, w.backgrounds, w.places, v->n, v->faked, v->turned);
        if (v->turned) fprintf(to, " (by up to %g degrees)", v->widest_angle);
        fputc('\n', to);
        if (v->turned > 0 && v->widest_angle < 0.05)
            fprintf(to, "angles of less than 0.05 degrees: are they radians?\n");
        if (w.grid) {
            fprintf(to, "places on a grid: %" PRId64 " samples such as ", w.grid_samples);
            print_sample(w.grid, mark, to);
            fprintf(to, " have %" PRId64 " places; a model learns these instead of looking\n", w.grid_places);
        }
        print_shared(v, &w, mark, to);
    }
    ct_free(w.s);
}

static ct_status json(const ct_survey *s, ct_survey_part part, json_t *into)
{
    const slider_survey *v = of(s);
    view w;
    if (part != CT_SURVEY_LABELS) return CT_OK;
    ct_status st = look(v, &w);
    if (st != CT_OK) goto fail;
    CT_GOTO(st, ct_json_set(into, "backgrounds", json_integer(w.backgrounds)));
    CT_GOTO(st, ct_json_set(into, "backgrounds_in_both", json_integer(w.shared)));
    CT_GOTO(st, ct_json_set(into, "places", json_integer(w.places)));
    CT_GOTO(st, ct_json_set(into, "with_fakes", json_integer(v->faked)));
    CT_GOTO(st, ct_json_set(into, "turned", json_integer(v->turned)));
    st = ct_json_set(into, "grid", w.grid ? json_pack("{s:o,s:I,s:I}", "file", ct_json_any(w.grid->name), "samples",
                                                       (json_int_t)w.grid_samples, "places", (json_int_t)w.grid_places)
                                           : json_null());
fail:
    ct_free(w.s);
    return st;
}

static ct_status object(const ct_survey *s, char **out)
{
    const slider_survey *v = of(s);
    view w;
    *out = NULL;
    ct_status st = look(v, &w);
    if (st == CT_OK && w.shared > 0)
        *out = ct_asprintf("%" PRId64 " backgrounds (Pic numbers) are in both training and validation", w.shared);
    else if (st == CT_OK && w.grid)
        *out = ct_asprintf("places lie on a grid: %" PRId64 " samples such as %s have only %" PRId64 " places",
                           w.grid_samples, w.grid->name, w.grid_places);
    if (st == CT_OK && (w.shared > 0 || w.grid) && !*out) st = CT_ENOMEM;
    ct_free(w.s);
    return st;
}

static void close_survey(ct_survey *s)
{
    slider_survey *v = (slider_survey *)s;
    for (size_t i = 0; i < v->n; i++) ct_free(v->s[i].name);
    ct_free(v->s);
    ct_free(v);
}

ct_status ct_slider_survey(const ct_labels *l, ct_survey **out)
{
    static const ct_survey_ops ops = { .add = add, .print = print, .json = json, .object = object,
                                       .close = close_survey };
    slider_survey *v = ct_calloc(1, sizeof *v, "survey of labels");
    (void)l;
    *out = v ? &v->base : NULL;
    if (!v) return CT_ENOMEM;
    v->base.ops = &ops;
    return CT_OK;
}
