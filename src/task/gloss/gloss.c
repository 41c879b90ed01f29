/* The table of the task of continuous sign language. */
#include "config.h"

#include "task/gloss/gloss.h"

/* ---- belongs to others: replaced as a whole when labels, vocabulary and scoring come in ---- */

static ct_status none(const char *what) { return ct_fail(CT_EINTERNAL, "task gloss: no %s", what); }

const struct ct_gloss_facts *ct_gloss_facts(const ct_facts *facts) { return (const struct ct_gloss_facts *)facts; }

int ct_gloss_columns(const ct_dataset *ds)
{
    (void)ds;
    return 0;
}

static ct_status labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out)
{
    (void)cfg, (void)facts;
    *out = NULL;
    return none("labels");
}

static ct_status learn(const ct_config *cfg, const ct_dataset *train, ct_facts **out)
{
    (void)cfg, (void)train;
    *out = NULL;
    return none("vocabulary");
}

static void forget(ct_facts *facts) { (void)facts; }

static bool same(const ct_facts *now, const ct_facts *then, char *why, size_t size)
{
    (void)why, (void)size;
    return now == then;
}

static ct_status put_facts(const ct_place *p, ct_status (*put)(void *user, const char *key, const char *value),
                           void *user)
{
    (void)p, (void)put, (void)user;
    return none("model files");
}

static ct_status get_facts(const char *path, const char *(*get)(const void *user, const char *key), const void *user,
                           ct_facts **out)
{
    (void)path, (void)get, (void)user;
    *out = NULL;
    return none("model files");
}

static ct_status given(ct_config *cfg, const ct_option *option, size_t options, ct_facts **out)
{
    (void)cfg, (void)option, (void)options;
    *out = NULL;
    return none("vocabulary");
}

static ct_status look(const ct_place *p, const ct_view *v, bool labelled, const ct_option *option, size_t options,
                      ct_findings **out)
{
    (void)p, (void)v, (void)labelled, (void)option, (void)options;
    *out = NULL;
    return none("scoring");
}

static const ct_metric_row metrics[] = {
    { .key = "word_accuracy", .label = "words right", .curve = "words", .unit = "%" },
};

/* ---- the table ---- */

const ct_task ct_task_gloss = {
    .name = "gloss",
    .doc = "reads continuous sign language as glosses",
    .metric = metrics,
    .metrics = 0,
    .select = "loss",
    /* data */
    .labels = labels,
    .learn = learn,
    .forget = forget,
    .same = same,
    /* files */
    .write = put_facts,
    .read = get_facts,
    /* programs */
    .specify = ct_gloss_specify,
    .usual = ct_gloss_usual,
    .fit = ct_gloss_fit,
    .build = ct_gloss_build,
    .loss_name = ct_gloss_loss_name,
    .describe = ct_gloss_describe,
    .outputs = ct_gloss_outputs,
    .random = ct_gloss_random,
    .golden = ct_gloss_golden,
    .golden_score = ct_gloss_golden_score,
    /* scoring */
    .look = look,
    /* verbs */
    .given = given,
};
