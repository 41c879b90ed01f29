/* What `captrain predict` reads glosses from: of each clip the log-probabilities of lp5, into a file.
 *
 *     scores MODEL OUT CLIPFOLDER...
 *
 * OUT (safetensors) holds clip0, clip1, ...: f32 [T,classes] of the clips in the order they are given. For the script
 * `peer` beside this file, which compares them with PyTorch's. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "formats/safetensors.h"
#include "session/evaluate.h"
#include "task/datasets.h"
#include "task/gloss/gloss.h"
#include "weights/use.h"

typedef struct scores {
    ct_findings base;
    ct_st_writer *out;
    float *row[256]; /* of each clip; the writer reads them when it saves */
    int n;
} scores;

static ct_status collect(ct_findings *f, const ct_outcome *o)
{
    scores *s = (scores *)f;
    const ct_desc *d = &o->output[0].desc; /* [steps of the program,1,classes] */
    const ct_desc own = ct_desc2(CT_F32, o->steps[0], d->dim[2]);
    char name[32];
    if (o->n != 1 || s->n == 256) return ct_fail(CT_EINTERNAL, "clips come one by one, 256 at most");
    s->row[s->n] = ct_malloc(ct_desc_bytes(&own), "scores");
    if (!s->row[s->n]) return CT_ENOMEM;
    memcpy(s->row[s->n], o->output[0].host, ct_desc_bytes(&own));
    snprintf(name, sizeof name, "clip%d", (int)o->place[0]);
    return ct_st_writer_add(s->out, name, &own, s->row[s->n++]);
}

static ct_status settle(ct_findings *f, double sums[CT_METRIC_COUNT])
{
    (void)f, (void)sums;
    return CT_OK;
}

/* A program for every length there is, then one pass over the clips, one at a time. */
static ct_status run(ct_model_use *use, const ct_dataset *clips, scores *s)
{
    const ct_clip_rule *rule = ct_model_clip(&use->session.spec.model);
    double sums[CT_METRIC_COUNT];
    if (ct_dataset_bad_count(clips) > 0) return ct_fail(CT_EDATA, "%s", ct_dataset_bad(clips, 0).reason);
    for (int64_t i = 0; i < ct_dataset_size(clips); i++)
        CT_TRY(ct_session_add(&use->session, CT_PROGRAM_PREDICT, 1, ct_clip_padded(rule, ct_dataset_frames(clips, i)),
                              1, false));
    CT_TRY(ct_model_use_ready(use));
    s->base.view = (ct_view){ clips, NULL, ct_dataset_size(clips) };
    return ct_evaluate(&use->session, false, &s->base.view, 1, 0, NULL, &s->base, sums);
}

static ct_status write_scores(const char *model, const char *out, const char *const *clip, int n)
{
    static ct_task listener;
    const ct_common common = { .threads = 1 };
    scores s = { .base = { .task = &listener, .want = { "lp5" } } };
    ct_model_use use = { 0 };
    ct_dataset *clips = NULL;
    ct_dataset_spec spec;
    ct_labels *none;
    ct_status st;
    listener = ct_task_gloss;
    listener.collect = collect;
    listener.settle = settle;
    CT_GOTO(st, ct_st_writer_new(&s.out));
    CT_GOTO(st, ct_model_use_begin(&use, model, &common));
    ct_datasets_spec(use.file.cfg, use.file.task, NULL, &spec);
    spec.cache = false;
    CT_GOTO(st, ct_labels_none(ct_model_clip(&use.session.spec.model), &none));
    CT_GOTO(st, ct_dataset_open_files(&spec, none, clip, n, 1, &clips));
    CT_GOTO(st, run(&use, clips, &s));
    st = ct_st_writer_save(s.out, out);
fail:
    ct_st_writer_free(s.out);
    for (int i = 0; i < s.n; i++) ct_free(s.row[i]);
    ct_dataset_close(clips);
    ct_model_use_end(&use);
    return st;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("usage: scores MODEL OUT CLIPFOLDER...\n", stderr);
        return 2;
    }
    if (write_scores(argv[1], argv[2], (const char *const *)argv + 3, argc - 3) == CT_OK) return 0;
    fprintf(stderr, "scores: %s\n", ct_error_message());
    return 1;
}
