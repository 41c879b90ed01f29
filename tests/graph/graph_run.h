/* For the graph tests: runs a graph with the reference implementations, and builds small random networks. */
#ifndef CT_TESTS_GRAPH_RUN_H
#define CT_TESTS_GRAPH_RUN_H

#include <check.h>
#include <string.h>

#include "base/philox.h"
#include "graph/graph.h"

#define MUST(expr) ck_assert_msg((expr) == CT_OK, "%s", ct_error_message())
/* expr must fail, with `text` in its message. */
#define REFUSES(expr, text)                                                                                   \
    do {                                                                                                      \
        ck_assert_msg((expr) != CT_OK, "%s was accepted", #expr);                                             \
        ck_assert_msg(strstr(ct_error_message(), text) != NULL, "the message is \"%s\"", ct_error_message()); \
    } while (0)

/* ---- looking ---- */

/* What every graph must satisfy: producers agree, inputs come before their readers, descriptors are what the shape
 * rules say. */
void graph_check_valid(const ct_graph *g);
int graph_count_op(const ct_graph *g, ct_op op);
const ct_node *graph_find_node(const ct_graph *g, const char *name); /* fails the test if there is none */

/* ---- running ---- */

typedef struct graph_run {
    ct_graph *g;
    char *base[CT_ARENA_COUNT];
    size_t bytes[CT_ARENA_COUNT];
    int64_t *scratch_offset; /* [nnodes] within ACT; -1: none */
    ct_memplan plan;         /* what the memory plan said (shared only) */
} graph_run;

/* Prepares memory for g, whose parameters and buffers have a layout. shared: ACT as the memory plan says; otherwise
 * every value has its own place. Fails the test on any error. Parameters, buffers, state and inputs are zero but for
 * loss scale and clip coefficient, which are 1. */
void graph_run_open(graph_run *r, ct_graph *g, bool shared);
void graph_run_close(graph_run *r);

/* Runs nodes [first, end). Before node 0 the whole ACT arena is filled with NaN bits. */
void graph_run_nodes(graph_run *r, size_t first, size_t end);

void *graph_run_data(const graph_run *r, ct_val v);
double graph_run_get(const graph_run *r, ct_val v, int64_t i);
void graph_run_set(const graph_run *r, ct_val v, int64_t i, double x);

/* Fills inputs, parameters and buffers from `seed`: floating inputs and parameters U(-1,1)/sqrt(fan), gamma near 1,
 * running variances positive, integer targets below `classes`. Which numbers a value gets depends on its name alone. */
void graph_run_fill(graph_run *r, uint64_t seed, int classes);

/* ---- random networks ---- */

typedef struct test_net {
    ct_graph *g;
    ct_val x, target, logits, loss;
    int classes;
} test_net;

/* A random network of `layers` layers on a few small images, with loss: convolutions, batch norms, residual and shared
 * branches, pools, all activations, dropout, products, weights used twice. Marks checkpoints. The same for the same
 * seed and dtype. */
void test_net_random(test_net *t, uint64_t seed, ct_dtype dtype, int layers);

/* A chain of `blocks` residual blocks (conv, norm, relu, conv, norm, add, relu) behind a stem, a checkpoint behind
 * each. */
void test_net_deep(test_net *t, ct_dtype dtype, int blocks, int64_t batch, int64_t size, int64_t channels);

/* What ResNets have: a 3x3 pooling behind the first norm, and residual blocks whose shortcut is a 1x1 convolution with a norm of its own, with
 * strides 1, 2 and 3, one of them behind a block without such a shortcut. 7 by 9 pixels. */
void test_net_shrinking(test_net *t, ct_dtype dtype);

/* f32: x [2,4,4,3] -> conv -> bn -> relu -> conv_again (the same filter *w) -> pool -> fc -> loss; the loss is kept. */
void test_net_small(test_net *t, ct_val *w);

/* Adds loss_seed and the backward nodes. */
void test_net_backward(test_net *t);

#endif
