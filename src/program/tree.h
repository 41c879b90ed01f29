/* Sums over the parts of a batch by a fixed binary tree: (0 + 1) + (2 + 3), and so on. What each part gives and what is
 * added to what do not depend on how many processes share the parts: one that has parts [r*k, (r+1)*k) sums a subtree,
 * and exec/comm.h goes on with the next level. Adding gives the same bits whichever of two comes first, dividing by a
 * power of two rounds nothing: so 1, 2, 4, ... processes get the same sums.
 *
 * While parts are computed one after another, the subtrees that are complete and wait for their neighbour are kept, one
 * of 2^l parts at most for each level l: the memory of log2(parts) gradients, not of all parts'. */
#ifndef CT_PROGRAM_TREE_H
#define CT_PROGRAM_TREE_H

#include "graph/graph.h"

/* log2(parts): how often pairs are summed until one is left. 0 for fewer than two. */
int ct_tree_levels(int64_t parts);

/* Adds to the graph of part `part` of `parts`, a power of two, behind its backward pass: GRAD and BUFFER are joined
 * with the subtrees that this part completes. But for the last part the sum waits in GACC and MEANS for the next one;
 * the last leaves the sum of all gradients in GRAD, the mean of all running statistics in BUFFER. Nothing for one part.
 * Whoever runs the parts gives each the BUFFER that the first one found. */
ct_status ct_tree_build(ct_graph *g, const ct_layout *l, int64_t part, int64_t parts);

/* Has a graph count into row `part` of METRIC. */
void ct_tree_count(ct_graph *g, int64_t part);

/* The same sum of numbers that all are there: rows [parts, n] become row 0. */
void ct_tree_sum(double *rows, int64_t parts, int64_t n);

#endif
