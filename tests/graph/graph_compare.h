/* For tests of whole graphs: gradients against finite differences, and what a step leaves behind under one pass or
 * another. Everything runs with the reference implementations. */
#ifndef CT_TESTS_GRAPH_COMPARE_H
#define CT_TESTS_GRAPH_COMPARE_H

#include "tests/graph/graph_run.h"

/* Compares the gradient of p, which r has run, with a difference quotient along a random direction. `loss` is the
 * value of loss_val [1] there. Fails the test. Runs the forward nodes again and again; p is left as it was. */
void graph_check_gradient(graph_run *r, ct_val loss_val, double loss, ct_val p, uint64_t seed);

enum graph_variant {
    GRAPH_PLAIN = 0,
    GRAPH_SHARED = 1,      /* in memory as planned, not a place for every value */
    GRAPH_FUSED = 2,
    GRAPH_RECOMPUTED = 4,
    GRAPH_MERGED = 8,      /* recomputed in three segments */
    GRAPH_REAPPLIED = 16,  /* batch norms applied again */
    GRAPH_MORE = 32,       /* fused with max-pooling, sums of gradients joined: `recomputed` counts them */
    GRAPH_MEASURED = 64    /* fused alike, gradients summed in place and norms given moments: it counts these two */
};

/* Everything a step leaves behind. */
typedef struct graph_step {
    double loss;
    size_t grad_bytes, buffer_bytes;
    char *grad, *buffer;
    int64_t act_bytes, lower_bound;
    int recomputed;
} graph_step;

/* Runs one step of a network without backward nodes yet, filled from `seed`; frees its graph. graph_step_free(). */
void graph_step_run(const test_net *built, unsigned variant, uint64_t seed, graph_step *out);
void graph_step_free(graph_step *x);
/* The same loss, gradients and running statistics, bit for bit. */
void graph_steps_equal(const graph_step *a, const graph_step *b, const char *what, uint64_t seed);

#endif
