/* Pictures for TensorBoard: samples as they are trained with, and what the best weights read wrongly. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "run/run.h"
#include "session/augmented.h"

#define MOST_WRONG 16 /* pictures */
#define TAG_TEXT 80   /* bytes of a label in a tag */

/* GROUP/<number> <text>: tags are told apart by their numbers, and say whose picture it is. */
static ct_status show(ct_run *r, const char *group, int number, const char *text, const ct_image *im)
{
    char *tag = ct_asprintf("%s/%02d %.*s", group, number, (int)ct_utf8_cut(text, 3 * TAG_TEXT), text);
    if (!tag) return CT_ENOMEM;
    const ct_status st = ct_journal_picture(r->journal, r->p.step, tag, im);
    ct_free(tag);
    return st;
}

ct_status ct_run_show_augmented(ct_run *r)
{
    ct_augmented *a;
    int n;
    ct_status st = CT_OK;
    if (!ct_journal_shows(r->journal)) return CT_OK;
    CT_TRY(ct_augmented_draw(&r->session, r->cfg, &r->data.train, CT_AUGMENTED_MOST, &a, &n));
    for (int i = 0; i < n && st == CT_OK; i++) st = show(r, "trained with", i + 1, a[i].label, &a[i].image);
    ct_augmented_free(a, n);
    return st;
}

/* A place of the view that was read wrongly, and how sure. */
typedef struct wrong {
    int64_t i;
    double sure;
} wrong;

static int surest_first(const void *a, const void *b)
{
    const wrong *x = a, *y = b;
    if (x->sure != y->sure) return x->sure > y->sure ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* The surest of what was read wrongly, at most MOST_WRONG of them; the first ones where nobody knows how sure. */
static ct_status find_wrong(const ct_findings *f, wrong **out, int *n)
{
    wrong *all = NULL;
    size_t found = 0, cap = 0;
    *out = NULL;
    *n = 0;
    for (int64_t i = 0; i < f->view.n; i++) {
        if (f->task->right(f, i)) continue;
        const ct_status st = ct_grow(&all, found, &cap, sizeof *all, "wrong readings");
        if (st != CT_OK) {
            ct_free(all);
            return st;
        }
        all[found++] = (wrong){ i, f->task->confidence ? f->task->confidence(f, i) : 0 };
    }
    if (found > 0) qsort(all, found, sizeof *all, surest_first);
    *out = all;
    *n = found < MOST_WRONG ? (int)found : MOST_WRONG;
    return CT_OK;
}

/* The picture of a sample; of a clip the frame in its middle. */
static ct_status picture_of(const ct_dataset *ds, int64_t sample, ct_image *im)
{
    return ct_dataset_clip(ds) ? ct_dataset_frame(ds, sample, ct_dataset_frames(ds, sample) / 2, im)
                               : ct_dataset_picture(ds, sample, im);
}

static ct_status show_wrong(ct_run *r, const ct_findings *f, int number, int64_t i)
{
    char *label = NULL, *predicted = NULL, *text = NULL;
    ct_image im = { .px = NULL };
    ct_status st;
    CT_GOTO(st, f->task->example(f, i, &label, &predicted));
    const char *read = *predicted ? predicted : "nothing";
    text = ct_asprintf("%.*s read as %.*s", (int)ct_utf8_cut(label, TAG_TEXT), label, (int)ct_utf8_cut(read, TAG_TEXT),
                       read);
    if (!text) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, picture_of(f->view.data, ct_view_sample(&f->view, i), &im));
    st = show(r, "wrong", number, text, &im);
fail:
    ct_free(label);
    ct_free(predicted);
    ct_free(text);
    ct_image_free(&im);
    return st;
}

ct_status ct_run_show_wrong(ct_run *r, const ct_findings *f)
{
    wrong *w;
    int n;
    ct_status st = CT_OK;
    if (!ct_journal_shows(r->journal) || !f->task->right || !f->task->example) return CT_OK;
    CT_TRY(find_wrong(f, &w, &n));
    for (int k = 0; k < n && st == CT_OK; k++) st = show_wrong(r, f, k + 1, w[k].i);
    ct_free(w);
    return st;
}
