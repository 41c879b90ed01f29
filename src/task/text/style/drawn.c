/* Pictures that parameters draw, and what they look like. */
#include "config.h"

#include "base/alloc.h"
#include "base/workers.h"
#include "task/text/style/style.h"

typedef struct job {
    const ct_text_gen *g;
    ct_text_pen **pen; /* [threads] */
    ct_look_one *one;  /* [n] */
    ct_image *keep;    /* [n] or NULL */
} job;

static ct_status draw_one(void *user, int worker, int64_t i)
{
    job *j = user;
    ct_image im = { 0 };
    char label[CT_TEXT_BYTES];
    if (!j->pen[worker]) CT_TRY(ct_text_pen_open(j->g, &j->pen[worker]));
    CT_TRY(ct_text_pen_draw(j->pen[worker], i, &im, label));
    const ct_status st = ct_look_at(&im, &j->one[i]);
    if (j->keep && st == CT_OK) j->keep[i] = im;
    else ct_image_free(&im);
    return st;
}

ct_status ct_look_drawn(const ct_text_params *p, uint64_t seed, int64_t n, int threads, ct_image *keep, ct_look *out)
{
    ct_text_gen *g = NULL;
    job j = { .keep = keep };
    ct_status st;
    CT_TRY(ct_text_gen_open(p, seed, &g));
    j.g = g;
    j.pen = ct_calloc((size_t)threads, sizeof *j.pen, "pens");
    j.one = ct_calloc((size_t)n, sizeof *j.one, "looks");
    if (!j.pen || !j.one) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, ct_parallel_for(n, threads, draw_one, &j, NULL));
    ct_look_join(j.one, n, out);
fail:
    for (int i = 0; j.pen && i < threads; i++) ct_text_pen_close(j.pen[i]);
    ct_free(j.pen);
    ct_free(j.one);
    ct_text_gen_close(g);
    return st;
}
