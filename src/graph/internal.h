/* Inside src/graph only. */
#ifndef CT_GRAPH_INTERNAL_H
#define CT_GRAPH_INTERNAL_H

#include "graph/graph.h"

/* Appends a node whose outputs exist already (outputs get this node as producer); the graph takes over node->name. On
 * failure the name stays the caller's. */
ct_status ct_graph_push(ct_graph *g, const ct_node *node);

/* Gives node i the outputs that its attributes ask for since they were changed, behind those it has. CT_EINTERNAL when the others do
 * not stay as they are. */
ct_status ct_graph_more_outputs(ct_graph *g, size_t node);

/* Drops the nodes i with drop[i] and renumbers the rest; values of dropped nodes that no node produces any more become
 * orphans: producer -1, arena ACT, root itself. */
ct_status ct_graph_drop(ct_graph *g, const bool *drop);

/* References to each value as a node's input; [nvalues], to be released with ct_free(). NULL when out of memory. */
int *ct_graph_uses(const ct_graph *g);

/* True when some node has CT_PHASE_BACKWARD: autodiff has run. */
bool ct_graph_has_backward(const ct_graph *g);

/* Removes dead nodes, of the backward phase only when asked so. */
ct_status ct_graph_remove_dead(ct_graph *g, bool backward_only);

/* Bit i: input i of the node is written. Batch normalisation with update_stats=0 writes nothing. */
unsigned ct_node_mutates(const ct_node *n);

/* Values of ACT whose memory is their own, and that some node produces: what the memory plan places. */
static inline bool ct_value_is_act_root(const ct_graph *g, ct_val v)
{
    const ct_value *x = &g->values[v];
    return x->arena == CT_ARENA_ACT && x->root == v && x->producer >= 0;
}

/* Gives views the offset of their root. */
void ct_graph_sync_views(ct_graph *g);

#endif
