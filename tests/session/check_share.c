/* Members of a group compute rows of one batch: which ones, what they count, and that they drop what one alone would. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "session/session.h"
#include "tests/ct_check.h"

enum { MEMBERS = 3, ROWS = 4, DRAWN = 4 };

static void ok(ct_status st) { ck_assert_msg(st == CT_OK, "%s", ct_error_message()); }

static ct_program_spec model(const char *name, int64_t row, int64_t rows, int64_t of)
{
    ct_program_spec s;
    ct_program_defaults(&s);
    s.model = (ct_model_spec){ .name = name, .height = 16, .width = 24, .channels = 1, .positions = 2, .classes = 5,
                               .width_mult = 0.25, .hidden = 16, .dropout = 0.5, .dtype = CT_F32, .seed = 3,
                               .row = row, .of = of };
    if (strcmp(name, "crnn-small") == 0) s.model.height = 32;
    s.batch = rows;
    return s;
}

static size_t mask_node(const ct_graph *g)
{
    size_t i = 0;
    while (i < g->nnodes && g->nodes[i].op != CT_OP_DROPOUT_MASK) i++;
    ck_assert_uint_lt(i, g->nnodes);
    return i;
}

/* ---- what is drawn ---- */

typedef struct drawing {
    uint8_t *mask[DRAWN]; /* [n] of each step: ct_free() */
    int64_t n;
    double state[DRAWN][CT_STATE_COUNT]; /* behind each step */
    void *weights;                       /* the first ones: ct_free() */
    size_t bytes;
} drawing;

static void fill(ct_plan *plan, const ct_program *p, const char *name)
{
    const ct_val v = ct_program_port(p, name);
    void *zeros = ct_calloc(1, ct_desc_bytes(ct_graph_desc(p->graph, v)), "test");
    ck_assert_ptr_nonnull(zeros);
    ok(ct_plan_upload(plan, v, zeros));
    ct_free(zeros);
}

/* Steps [first, DRAWN) of who computes `rows` from `row` on of a batch of `of`; from: the step state that a run left
 * behind, NULL: a new one. */
static drawing draw(int64_t row, int64_t rows, int64_t of, int first, const double *from)
{
    drawing d = { .n = 0 };
    const ct_program_spec s = model("textcnn-small", row, rows, of);
    const ct_device_opts opts = { .threads = 1 };
    const ct_arenas_needs needs = ct_program_needs(&s, true);
    ct_layout l;
    ct_program p;
    ct_arenas *store;
    ct_plan *plan;
    double state[CT_STATE_COUNT];
    ok(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p));
    const size_t drawn = mask_node(p.graph), nodes = p.graph->nnodes;
    const ct_val mask = p.graph->nodes[drawn].out[0];
    d.n = ct_desc_numel(ct_graph_desc(p.graph, mask));
    ok(ct_arenas_create(&ct_backend_cpu, &opts, &l, &needs, false, &store));
    ok(ct_plan_create(store, p.graph, false, &plan));
    ok(ct_arenas_init(store, p.graph, s.model.seed));
    ct_program_initial_state(&s, state);
    ok(ct_arenas_set_state(store, from ? from : state));
    d.bytes = store->bytes[CT_ARENA_PARAM];
    ck_assert_ptr_nonnull(d.weights = ct_malloc(d.bytes, "test"));
    memcpy(d.weights, store->base[CT_ARENA_PARAM], d.bytes);
    for (int i = first; i < DRAWN; i++) {
        ck_assert_ptr_nonnull(d.mask[i] = ct_malloc((size_t)d.n, "test"));
        fill(plan, &p, "x");
        fill(plan, &p, "target");
        ok(ct_plan_run_nodes(plan, 0, drawn + 1));
        ok(ct_plan_download(plan, mask, d.mask[i]));
        ok(ct_plan_run_nodes(plan, drawn + 1, nodes));
        ok(ct_arenas_get_state(store, d.state[i]));
    }
    ct_plan_free(plan);
    ct_arenas_free(store);
    ct_program_free(&p);
    return d;
}

static void drop_drawing(drawing *d)
{
    for (int i = 0; i < DRAWN; i++) ct_free(d->mask[i]);
    ct_free(d->weights);
}

/* A mask is a function of seed, step and row of the whole batch: members together draw what one alone does, and go on
 * where a run was left. First weights know of no member. */
START_TEST(members_draw_their_rows)
{
    drawing whole = draw(0, MEMBERS * ROWS, 0, 0, NULL), part[MEMBERS];
    drawing rest = draw(ROWS, ROWS, MEMBERS * ROWS, 2, whole.state[1]);
    for (int r = 0; r < MEMBERS; r++) part[r] = draw((int64_t)r * ROWS, ROWS, MEMBERS * ROWS, 0, NULL);
    ck_assert_int_gt(part[0].n, 50);
    ck_assert_int_eq(whole.n, MEMBERS * part[0].n);
    for (int i = 0; i < DRAWN; i++) {
        for (int r = 0; r < MEMBERS; r++)
            ck_assert_mem_eq(part[r].mask[i], whole.mask[i] + r * part[r].n, (size_t)part[r].n);
        ck_assert_mem_ne(part[0].mask[i], part[1].mask[i], (size_t)part[0].n);
        if (i >= 2) ck_assert_mem_eq(rest.mask[i], part[1].mask[i], (size_t)rest.n);
        if (i > 0) ck_assert_mem_ne(whole.mask[i], whole.mask[i - 1], (size_t)whole.n);
    }
    for (int r = 0; r < MEMBERS; r++) {
        ck_assert_mem_eq(part[r].weights, whole.weights, whole.bytes);
        drop_drawing(&part[r]);
    }
    drop_drawing(&whole);
    drop_drawing(&rest);
}
END_TEST

/* ---- what sessions make of it ---- */

static double seed_factor(const ct_graph *g)
{
    for (size_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op == CT_OP_LOSS_SEED) return g->nodes[i].attrs.loss.alpha;
    ck_abort_msg("no seed of the gradients");
    return 0;
}

/* Every sample of a batch counts the same, whoever has it: rows / all, divided by the micro-steps of an update. */
START_TEST(sessions_share_batches)
{
    const int64_t k = _i + 1;
    const ct_program_spec s = model("textcnn-small", 0, 7, 0);
    const ct_device_opts opts = { .threads = 1 };
    static const int64_t batches[] = { 9, 7, 5, 2, 1 };
    for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
        int64_t sum = 0;
        double factors = 0;
        for (int rank = 0; rank < MEMBERS; rank++) {
            ct_session x;
            ok(ct_session_begin(&x, &s, true, "cpu", &opts, NULL, 0));
            x.join = (ct_group_opts){ .rank = rank, .size = MEMBERS };
            const int64_t first = ct_share_first(batches[b], rank, MEMBERS);
            const int64_t rows = ct_share_first(batches[b], rank + 1, MEMBERS) - first;
            ok(ct_session_add(&x, CT_PROGRAM_MICRO_FIRST, 9, s.src_w, k, false)); /* of every kind there is one */
            const size_t before = x.units;
            ok(ct_session_add(&x, CT_PROGRAM_MICRO_FIRST, batches[b], s.src_w, k, false));
            const ct_unit *u = ct_session_find(&x, CT_PROGRAM_MICRO_FIRST, batches[b], s.src_w, k, false, 0);
            ck_assert_uint_eq(x.units, before + (batches[b] != 9 && rows > 0));
            ck_assert_int_eq(u != NULL, rows > 0);
            if (u) {
                const ct_dropout_attrs *a = &u->prog.graph->nodes[mask_node(u->prog.graph)].attrs.dropout;
                ck_assert_int_eq(u->rows, rows);
                ck_assert_int_eq(ct_graph_desc(u->prog.graph, ct_program_port(&u->prog, "target"))->dim[0], rows);
                ck_assert_int_eq(a->run == 0, rows == batches[b]);
                ck_assert_int_eq(a->first * batches[b], a->pitch * first);
                factors += seed_factor(u->prog.graph);
            }
            sum += rows;
            ct_session_end(&x);
        }
        ck_assert_int_eq(sum, batches[b]);
        ck_assert_double_eq_tol(factors, 1.0 / (double)k, 1e-15);
    }
}
END_TEST

/* Where time comes first, rows of a batch are runs within each step. */
START_TEST(masks_of_time_first)
{
    const ct_program_spec s = model("crnn-small", 4, 4, 12);
    ct_layout l;
    ct_program p;
    ok(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p));
    const ct_node *n = &p.graph->nodes[mask_node(p.graph)];
    const ct_desc *d = ct_graph_desc(p.graph, n->out[0]); /* [T,N,C] */
    ck_assert_int_eq(d->dim[1], 4);
    ck_assert_int_eq(n->attrs.dropout.first, 4 * d->dim[2]);
    ck_assert_int_eq(n->attrs.dropout.run, 4 * d->dim[2]);
    ck_assert_int_eq(n->attrs.dropout.pitch, 12 * d->dim[2]);
    ct_program_free(&p);
}
END_TEST

/* Four numbers share a draw: rows of another length cannot be taken out of a batch. */
START_TEST(odd_rows_are_refused)
{
    ct_program_spec s = model("textcnn", 4, 4, 12);
    ct_layout l;
    ct_program p;
    s.model.hidden = 30;
    ck_assert_int_eq(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p), CT_ECONFIG);
    ck_assert_ptr_nonnull(strstr(ct_error_message(), "30 numbers of a sample"));
    s.model.of = 4; /* alone */
    s.model.row = 0;
    ok(ct_program_build(&s, CT_PROGRAM_STEP, NULL, &l, &p));
    ct_program_free(&p);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("share");
    TCase *t = tcase_create("share");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, members_draw_their_rows);
    tcase_add_loop_test(t, sessions_share_batches, 0, 2);
    tcase_add_test(t, masks_of_time_first);
    tcase_add_test(t, odd_rows_are_refused);
    suite_add_tcase(s, t);
    return s;
}

int main(void) { return ct_check_main(suite()); }
