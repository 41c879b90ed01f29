/* Backends, dispatch and the executor: graph + device -> plan -> steps. */
#ifndef CT_EXEC_EXEC_H
#define CT_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "backends/backend.h"
#include "graph/graph.h"

/* ---- registry ---- */

/* Number of names known: built-in backends and those a plug-in may provide. */
size_t ct_backend_count(void);
const char *ct_backend_name(size_t i);
/* Whether it is worth a word that this backend cannot be had: not where neither the build nor the machine is for it. */
bool ct_backend_is_news(size_t i);
/* Loads a backend by name, once. Missing plug-in, library, driver or device: CT_EBACKEND with a message of its own
 * each. */
ct_status ct_backend_load(const char *name, const ct_backend **out);
/* Checks a table: ABI, sizes, members; of each operator's implementations that names are unique and a reference is
 * last. */
ct_status ct_backend_validate(const ct_backend *b);
/* "auto" takes the best backend that works and says in `why` (may be NULL) what it took and why the others were not. */
ct_status ct_backend_choose(const char *name, const ct_backend **out, char *why, size_t why_size);

/* ---- dispatch ---- */

/* The backend's implementations of an operator, best first: the one that follows `after`; NULL: the first. Gives NULL
 * when there are no more. */
const ct_impl *ct_impl_next(const ct_backend *b, ct_op op, const ct_impl *after);

typedef struct ct_choice {
    const ct_impl *impl;
    size_t scratch; /* bytes */
    const char *instead; /* why the one before it in the table was not taken; NULL: it is the first, or was chosen by name. Static */
} ct_choice;

/* The implementation that opts->choices names for this very call, which the device is told to compute in the variant that the
 * name has behind a colon; or the first that accepts, in the table's order. Both honour exact, deterministic and reference of
 * `opts`. CAPTRAIN_VERBOSE=dispatch prints who refused and why. None, or a named one that does not accept, lacks the variant or is
 * ruled out by the options: CT_EUNSUPPORTED, the message lists every reason. */
ct_status ct_dispatch(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_call *call, ct_choice *out);

/* Why the options rule an implementation out, or NULL. Static string. */
const char *ct_impl_ruled_out(const ct_device_opts *opts, const ct_impl *m);
/* "cpu.vector": the name of an implementation with its backend in front, unless the table already has it there.
 * ct_free(); NULL: CT_ENOMEM recorded. */
char *ct_impl_full_name(const ct_backend *b, const ct_impl *m);

/* ---- choices: implementations by call, measured by `captrain tune` ---- */

typedef struct ct_choices ct_choices;
typedef struct ct_chosen {
    char *call; /* as ct_call_format() writes it */
    char *impl; /* full name: "cpu.indirect", or with a variant: "cuda.dnn:eng38/k2=4" */
} ct_chosen;

ct_status ct_choices_new(ct_choices **out); /* none */
void ct_choices_free(ct_choices *c);        /* NULL is fine */
size_t ct_choices_count(const ct_choices *c); /* NULL: 0 */
const ct_chosen *ct_choices_at(const ct_choices *c, size_t i); /* by call, ascending */
ct_status ct_choices_add(ct_choices *c, const char *call, const char *impl); /* CT_EINVAL: this call has one */
ct_status ct_choices_put(ct_choices *c, const char *call, const char *impl); /* in place of what it has */
/* What the choices hold for (program, device, libraries, options), as text: "" unless it was set or stood in the file. Kept in the file. */
const char *ct_choices_made_for(const ct_choices *c);
ct_status ct_choices_set_made_for(ct_choices *c, const char *text);
const char *ct_choices_source(const ct_choices *c); /* file they were read from; "": none */
/* The name chosen for a call; *impl NULL if there is none. CT_ENOMEM. */
ct_status ct_choices_find(const ct_choices *c, const ct_call *call, const char **impl);
/* One line of JSON (ct_free(); NULL: CT_ENOMEM recorded), and its reverse. Files are written atomically. Reading:
 * CT_EFORMAT (damaged, not such a file, a call that cannot be), CT_EUNSUPPORTED (another version), CT_EIO; `source`
 * names it. */
char *ct_choices_text(const ct_choices *c);
ct_status ct_choices_parse(const char *text, const char *source, ct_choices **out);
ct_status ct_choices_write(const ct_choices *c, const char *path);
ct_status ct_choices_read(const char *path, ct_choices **out);

/* ---- receipt: how calls are really computed (receipt.c) ---- */

/* What the backend says; what one without receipt() does stands in backend.h. */
ct_status ct_receipt_of(const ct_backend *b, const ct_device *dev, const ct_impl *impl, const ct_call *call, ct_receipt *out);

struct ct_plan;

/* Calls of one operator that one implementation computes alike. */
typedef struct ct_receipt_row {
    ct_op op;
    char *impl;              /* full name, without a variant */
    char types[32];          /* of the floating-point operands and results, each once, as they are stored: "bf16", "bf16 f32" */
    const char *asked;       /* "fp32", "tf32", "bf16", "fp16", "f64" */
    const char *math, *sums; /* as in ct_receipt; live as long as the device */
    bool tensor_cores, transforms;
    char **engine;           /* [engines] of the library, each once */
    size_t engines, cap_engines;
    char *node;              /* name of the first of them */
    int calls;
    char fault[128];         /* why this is not what was asked for; "": it is, or nothing was asked of such an operator */
} ct_receipt_row;

typedef struct ct_receipt_list { /* starts zeroed but for `asked` */
    const char *asked;       /* precision of the heavy operators (CT_OPF_HEAVY). Static */
    ct_receipt_row *row;
    size_t n, cap;
} ct_receipt_list;

/* Adds the calls of a plan. CT_ENOMEM, or what receipt() returns. */
ct_status ct_receipt_list_add(ct_receipt_list *l, const struct ct_plan *plan);
void ct_receipt_list_free(ct_receipt_list *l); /* empties */

/* ---- store: the arenas that all plans of a model share ---- */

/* Who holds addresses in arenas, which may move: a plan. */
typedef struct ct_arenas_user {
    void (*rebind)(void *self); /* takes the addresses anew */
    void *self;
    struct ct_arenas_user *next;
} ct_arenas_user;

/* Asked while the host waits for a device that works together with others: `waited` seconds so far, 0 when what it waits for is done.
 * A failure ends the waiting. */
typedef struct ct_arenas_watch {
    ct_status (*look)(void *self, double waited);
    void *self;
} ct_arenas_watch;

/* Called between two nodes of a plan, while a group has sums on their way that move only when they are asked to. */
typedef struct ct_arenas_between {
    ct_status (*call)(void *self);
    void *self;
} ct_arenas_between;

/* Adds to `buf`, n elements that a node group_sum has given, those of all other members of the group. */
typedef struct ct_arenas_sum {
    ct_status (*call)(void *self, void *buf, int64_t n, ct_dtype type);
    void *self;
} ct_arenas_sum;

typedef struct ct_arenas {
    const ct_backend *backend;
    ct_device *device;
    ct_device_opts opts;
    ct_stream *stream;
    ct_layout layout;
    void *base[CT_ARENA_COUNT];      /* device addresses; NULL if not allocated; ACT and INPUT are shared by all plans and grow to the largest */
    size_t bytes[CT_ARENA_COUNT];
    bool lent[CT_ARENA_COUNT];       /* its memory is somebody else's: ct_arenas_move() */
    bool planned_only;               /* no memory behind it: for `plan`, which touches no tensor */
    ct_arena copied;                 /* the weights that PARAM16 holds in 16 bits: PARAM or EMA; INPUT: none, nodes of
                                        phase LOAD must run */
    const ct_arenas_watch *watch;    /* the group's that this device is a member of (exec/comm.h); NULL: it works alone */
    const ct_arenas_between *between; /* NULL: nothing to do there */
    const ct_arenas_sum *sum;        /* NULL: a node group_sum gives what it read */
    ct_arenas_user *users;           /* all who hold addresses in these arenas: when ACT or INPUT grow they are told */
} ct_arenas;

typedef struct ct_arenas_needs {
    bool train;        /* GRAD */
    int sums;          /* GACC, for so many sums of gradients, one behind the other */
    int means;         /* MEANS, for so many sums of running statistics and what these were before the step */
    int moments;       /* 0, 1 (OPT1), 2 (OPT1 and OPT2) */
    bool ema;          /* EMA, EMABUF */
    int rows;          /* METRIC, for so many parts that count apart; 0: 1 */
    bool half;         /* PARAM16, with `train` GRAD16 (ct_pass_flat) */
} ct_arenas_needs;

/* Opens the device and allocates the flat arenas, cleared; the state starts with loss scale 1 and clip coefficient
 * 1. planned_only: sizes only (the device is opened, nothing is allocated). */
ct_status ct_arenas_create(const ct_backend *b, const ct_device_opts *opts, const ct_layout *layout, const ct_arenas_needs *needs,
                          bool planned_only, ct_arenas **out);
/* Gives a planned store its memory, cleared as above, and binds its plans: a session looks at what they need before it takes anything. After a failure
 * (CT_ENOMEM) it is as it was. */
ct_status ct_arenas_commit(ct_arenas *s);
/* Gives an arena other memory of the device in place of its own, which is freed and what it held lost; it stays whose it is. NULL: takes
 * it away again, and plans that need the arena cannot run any more. */
void ct_arenas_move(ct_arenas *s, ct_arena a, void *memory);
/* Takes `bytes` for arena DATA, images that stay on the device: once, before plans that read them are made. */
ct_status ct_arenas_hold(ct_arenas *s, int64_t bytes);
void ct_arenas_free(ct_arenas *s); /* NULL is fine; plans must be gone */

/* Waits on the host until what an event was recorded behind is done; leaves the processor to others meanwhile. Fails when that work
 * has, or as the store's watch does. */
ct_status ct_arenas_await(const ct_arenas *s, ct_event *e);

/* Draws initial values of all parameters and buffers of g: element e of the i-th parameter in name order is a
 * function of (seed, i, e) alone, and an f64 model starts from the same numbers as an f32 one. EMA and EMABUF, if
 * there are any, become copies. */
ct_status ct_arenas_init(ct_arenas *s, const ct_graph *g, uint64_t seed);
/* Copies EMA from PARAM and EMABUF from BUFFER: after weights were loaded from a file that has no averages. */
ct_status ct_arenas_reset_ema(ct_arenas *s);
/* Copies a parameter or buffer (by value of g, in `arena` PARAM, GRAD, OPT1, ...) to or from host memory of
 * ct_desc_bytes(). CT_EINVAL if the value has no place there or the store lacks that arena. Synchronises. GRAD of a
 * graph whose gradients are left in 16 bits is read there. */
ct_status ct_arenas_get(ct_arenas *s, const ct_graph *g, ct_val v, ct_arena arena, void *host);
/* The same to read it where it lies, if the host reads the device's memory; else it is copied to `host`. */
ct_status ct_arenas_see(ct_arenas *s, const ct_graph *g, ct_val v, ct_arena arena, void *host, const void **p);
ct_status ct_arenas_set(ct_arenas *s, const ct_graph *g, ct_val v, ct_arena arena, const void *host);
/* Of its bytes those [at, at + bytes) alone; CT_EINVAL beyond its end. */
ct_status ct_arenas_set_part(ct_arenas *s, const ct_graph *g, ct_val v, ct_arena arena, size_t at, const void *host, size_t bytes);
ct_status ct_arenas_get_state(ct_arenas *s, double state[CT_STATE_COUNT]);
ct_status ct_arenas_set_state(ct_arenas *s, const double state[CT_STATE_COUNT]);
/* Row 0, of most stores the only one; and all [rows][CT_METRIC_COUNT] that the store was made with. `clear` clears all. */
ct_status ct_arenas_get_metrics(ct_arenas *s, double metrics[CT_METRIC_COUNT], bool clear);
ct_status ct_arenas_get_metric_rows(ct_arenas *s, double *metrics, bool clear);

/* ---- plan ---- */

typedef struct ct_plan ct_plan;

typedef struct ct_plan_stats {
    int64_t act_bytes, input_bytes, lower_bound, unshared_bytes; /* of this plan */
    int64_t param_bytes, buffer_bytes, grad_bytes, optimizer_bytes, ema_bytes; /* of the store */
    int64_t peak_bytes;   /* everything this plan needs at once on the device: all of the above arenas */
    double flops;         /* per run */
    double bytes;         /* moved at least, per run */
} ct_plan_stats;

/* Chooses implementations, plans memory and binds the calls to the store. The plan keeps g (not owned: it must
 * outlive the plan). ema = true binds the EMA and EMABUF arenas in place of PARAM and BUFFER. A plan that needs
 * more ACT or INPUT memory than there is makes those arenas grow: what they held is lost (upload inputs again),
 * older plans are bound to the new memory. */
ct_status ct_plan_create(ct_arenas *s, ct_graph *g, bool ema, ct_plan **out);
void ct_plan_free(ct_plan *p); /* NULL is fine */
/* Copies host memory into an input value (ct_desc_bytes of it). */
ct_status ct_plan_upload(ct_plan *p, ct_val input, const void *host);
/* The same from memory of the device. */
ct_status ct_plan_fill(ct_plan *p, ct_val input, const void *device);
/* Runs every call once, in order, those of phase LOAD where they are needed. A failure names the node. Returns when
 * the work is queued; ct_plan_download waits. Where the backend can capture, the third run records the calls and from
 * then on they are replayed as one piece, unless the store was made with `eager` or timing is on. */
ct_status ct_plan_run(ct_plan *p);
/* The same where more than calls is to be queued, or in another order: `body` queues all of a run, its nodes by ct_plan_run_nodes, and what
 * it queues in other streams is recorded, too, if events lead there from the store's stream and back before it ends. */
ct_status ct_plan_run_as(ct_plan *p, ct_status (*body)(void *self), void *self);
/* Nodes [first, end) of it, for looking between two of them: ct_plan_download reads any value that is alive there, ct_plan_patch
 * overwrites one (host memory of ct_desc_bytes). */
ct_status ct_plan_run_nodes(ct_plan *p, size_t first, size_t end);
/* Of a node with CT_OPF_FLAT those elements of its ranges alone that lie within [first, end) of their arenas. */
ct_status ct_plan_run_range(ct_plan *p, size_t node, int64_t first, int64_t end);
ct_status ct_plan_patch(ct_plan *p, ct_val v, const void *host);
ct_status ct_plan_download(ct_plan *p, ct_val v, void *host);
void ct_plan_get_stats(const ct_plan *p, ct_plan_stats *out);
const ct_graph *ct_plan_graph(const ct_plan *p);
/* Call of node i with the plan's descriptors and addresses; *impl is who computes it, NULL for views. */
const ct_call *ct_plan_call(const ct_plan *p, size_t node, const ct_impl **impl);
const ct_arenas *ct_plan_store(const ct_plan *p);
/* Chosen implementation of node i ("cpu.im2col"; "view" for views). */
const char *ct_plan_impl(const ct_plan *p, size_t node);
/* Seconds spent in node i so far, when timing was switched on: by events before and behind each call where the backend can tell the
 * time between two, else by waiting after every call. While it is on, nothing is captured, and a run waits for the device. */
ct_status ct_plan_set_timing(ct_plan *p, bool on);
double ct_plan_seconds(const ct_plan *p, size_t node);

#endif
