/* Data sets of texts for tests: a reader and an open in one. */
#ifndef CT_TESTS_TEXT_UTIL_H
#define CT_TESTS_TEXT_UTIL_H

#include "data/scan.h"
#include "task/text/text.h"

/* rules NULL: the usual ones. */
static inline ct_status text_reader(const ct_text_rules *rules, ct_labels **out)
{
    ct_text_rules usual;
    ct_text_rules_init(&usual);
    return ct_text_labels(rules ? rules : &usual, out);
}

static inline ct_status open_text(const ct_dataset_spec *spec, const ct_text_rules *rules, int workers,
                                  ct_dataset **out)
{
    ct_labels *labels;
    *out = NULL;
    CT_TRY(text_reader(rules, &labels));
    return ct_dataset_open(spec, labels, workers, out);
}

static inline ct_status scan_text(const char *path, const ct_label_rule *rule, ct_scan *out)
{
    ct_text_rules rules;
    ct_labels *labels;
    ct_text_rules_init(&rules);
    rules.rule = *rule;
    *out = (ct_scan){ 0 };
    CT_TRY(ct_text_labels(&rules, &labels));
    ct_status st = labels->ops->scan(labels, path, out);
    ct_labels_close(labels);
    return st;
}

/* What is drawn with p. spec NULL: the usual one; its geometry is p's. first < 0: a stream. */
static inline ct_status open_drawn(const ct_text_params *p, uint64_t seed, int64_t first, int64_t count,
                                   const ct_dataset_spec *spec, const ct_text_rules *rules, int workers,
                                   ct_dataset **out)
{
    ct_dataset_spec own;
    ct_text_rules usual;
    ct_source src;
    ct_labels *labels;
    *out = NULL;
    if (spec) own = *spec;
    else ct_dataset_spec_init(&own);
    own.width = p->width;
    own.height = p->height;
    own.channels = p->channels;
    ct_text_rules_init(&usual);
    CT_TRY(ct_text_drawn_labels(p, rules ? rules : &usual, &labels));
    ct_status st = ct_text_source(p, seed, &src);
    if (st != CT_OK) {
        ct_labels_close(labels);
        return st;
    }
    src.first = first < 0 ? CT_STREAM_FIRST : first;
    src.n = count;
    if (first < 0) return ct_dataset_open_stream(&own, &src, labels, out);
    return ct_dataset_open_source(&own, &src, labels, workers, out);
}

#endif
