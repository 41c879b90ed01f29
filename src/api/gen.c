/* captrain gen: labelled pictures from the generators. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "captrain.h"
#include "task/task.h"

/* The options of a task as text. */
typedef struct option_list {
    ct_pair *pair;
    char **owned; /* [n] the values */
    size_t n, cap, cap_owned;
} option_list;

static void options_free(option_list *l)
{
    for (size_t i = 0; i < l->n; i++) ct_free(l->owned[i]);
    ct_free(l->owned);
    ct_free(l->pair);
}

/* Takes value over; NULL: no memory. */
static ct_status add(option_list *l, const char *key, char *value)
{
    if (!value) return CT_ENOMEM;
    ct_status st = ct_grow(&l->pair, l->n, &l->cap, sizeof *l->pair, "options");
    if (st == CT_OK) st = ct_grow(&l->owned, l->n, &l->cap_owned, sizeof *l->owned, "options");
    if (st != CT_OK) {
        ct_free(value);
        return st;
    }
    l->owned[l->n] = value;
    l->pair[l->n++] = (ct_pair){ key, value };
    return CT_OK;
}

static ct_status list_options(const ct_gen_opts *o, option_list *l)
{
    if (o->style) CT_TRY(add(l, "--style", ct_strdup(o->style, "option")));
    if (o->charset) CT_TRY(add(l, "--charset", ct_strdup(o->charset, "option")));
    if (o->length_min || o->length_max) {
        const int lo = o->length_min ? o->length_min : 4, hi = o->length_max ? o->length_max : 4;
        CT_TRY(add(l, "--length", ct_asprintf("%d-%d", lo, hi)));
    }
    if (o->width) CT_TRY(add(l, "--width", ct_asprintf("%d", o->width)));
    if (o->height) CT_TRY(add(l, "--height", ct_asprintf("%d", o->height)));
    for (size_t i = 0; i < o->nfonts; i++) CT_TRY(add(l, "--font", ct_strdup(o->fonts[i], "option")));
    for (size_t i = 0; i < o->nsizes; i++) CT_TRY(add(l, "--size", ct_asprintf("%.17g", o->sizes[i])));
    return CT_OK;
}

ct_status ct_run_gen(const ct_gen_opts *o, FILE *to)
{
    const ct_task *task = ct_task_find("text");
    option_list l = { 0 };
    if (!task) return CT_EINTERNAL;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int threads = o->threads > 0 ? o->threads : cores > 0 ? (int)cores : 1;
    ct_status st = list_options(o, &l);
    if (st == CT_OK) st = task->generate(l.pair, l.n, o->out, o->count, o->seed, threads, o->force, to);
    options_free(&l);
    return st;
}
