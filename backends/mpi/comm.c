/* Sums and sendings over MPI. All are nonblocking collectives in one list of requests, in the same order on every
 * member; MPI moves them while poll(), finish() or gather() ask after them, and at no other time.
 *
 * Sums over members whose number is a power of two are made of messages between pairs, always by the same tree: in
 * round k member r and member r ^ 2^k add. Of long ones each of both keeps a half of what it has, and when all is added
 * the halves go back by the same way (Rabenseifner's algorithm). On one machine that takes a third of the time of Open
 * MPI 4.1's nonblocking collective. Between processes of one machine short ones, and those of memory(), go another way
 * (shared.c) to the same bits. Which bits other sums have is up to the library's algorithm: for the same size and
 * number of members they are the same, on all members and in every run. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "backends/mpi/internal.h"
#include "base/log.h"

/* Counts are ints in MPI, and some libraries keep bytes in one: larger calls are cut. Tests make it small. */
#ifndef CT_MPI_PIECE
#define CT_MPI_PIECE ((int64_t)1 << 30) /* bytes */
#endif

/* Elements of a buffer. */
typedef struct span {
    int64_t first, n;
} span;

enum { LEVELS = 31 };

/* A sum by a tree that is on its way. */
typedef struct tree {
    char *buf, *other;      /* [n] what this member has; room for what another one sends */
    size_t room;            /* bytes of `other` */
    ct_dtype type;
    bool whole;             /* too short to be cut: both of a pair add all of it */
    int level;              /* of this round, whose other one is member rank ^ 2^level */
    bool back;              /* all is added: the halves go back */
    span has[LEVELS + 1];   /* what this member is to have added when level k begins */
    int tag;
    MPI_Request request[2]; /* to it, from it */
    MPI_Status status[2];
    bool busy;
} tree;

/* A piece of a sum that no tree has begun yet. */
typedef struct piece {
    char *buf;
    int64_t n; /* elements */
    ct_dtype type;
} piece;

struct ct_comm {
    MPI_Comm comm;
    MPI_Request *request; /* [n] of [room] */
    MPI_Status *status;   /* [room] */
    int *index;           /* [room] */
    int n, room;
    int left;             /* of the n, not done yet */
    char failure[512];    /* "": none */
    tree **tree;          /* [trees] those that are done are used again */
    int trees, tree_room;
    int growing;          /* trees that are busy */
    piece *piece;         /* [pieces] of [piece_room]: those from next_piece on are still to be begun, in order */
    int next_piece, pieces, piece_room;
    int tag;              /* of the next one */
    void *sent;           /* of a gathering that has not ended */
    ct_shared *shared;    /* what of sums goes this way; NULL: nothing */
    struct ct_comm *next; /* in `lost` */
};

/* Groups that ended with requests open, whose memory the library still knows: kept until the process ends. */
static ct_comm *lost;

/* ---- the list of requests ---- */

static ct_status usable(ct_comm *c)
{
    if (c->failure[0]) return ct_mpi_core->fail(CT_EBACKEND, "%s", c->failure);
    return ct_mpi_usable();
}

/* A failure of a call: kept, for check(). */
static ct_status broke(ct_comm *c, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS) snprintf(text, sizeof text, "error %d", code);
    snprintf(c->failure, sizeof c->failure, "mpi: %s: %.300s (member %d of %d)", what, text, ct_mpi.rank, ct_mpi.size);
    return ct_mpi_failed(code, what);
}

static ct_status late(ct_comm *c, double deadline)
{
    ct_mpi.broken = true;
    snprintf(c->failure, sizeof c->failure,
             "mpi: member %d of %d waited %g s for the others: one of them is gone or stands still", ct_mpi.rank,
             ct_mpi.size, deadline);
    return ct_mpi_core->fail(CT_EBACKEND, "%s", c->failure);
}

/* Room for one more request. */
static ct_status make_room(ct_comm *c)
{
    const int room = c->room ? 2 * c->room : 64;
    if (c->n < c->room) return CT_OK;
    MPI_Request *request = ct_mpi_core->alloc((size_t)room * sizeof *request, "requests of a group");
    MPI_Status *status = ct_mpi_core->alloc((size_t)room * sizeof *status, "requests of a group");
    int *index = ct_mpi_core->alloc((size_t)room * sizeof *index, "requests of a group");
    if (!request || !status || !index) {
        ct_mpi_core->free(request);
        ct_mpi_core->free(status);
        ct_mpi_core->free(index);
        return CT_ENOMEM;
    }
    if (c->n > 0) memcpy(request, c->request, (size_t)c->n * sizeof *request);
    ct_mpi_core->free(c->request);
    ct_mpi_core->free(c->status);
    ct_mpi_core->free(c->index);
    c->request = request;
    c->status = status;
    c->index = index;
    c->room = room;
    return CT_OK;
}

static ct_status grow_trees(ct_comm *c);

static bool all_done(const ct_comm *c)
{
    if (c->shared && !ct_shared_done(c->shared)) return false;
    return c->left == 0 && c->growing == 0; /* with trees at work or none there are no pieces left */
}

/* Has the library move what is in the list. */
static ct_status advance(ct_comm *c)
{
    int done = 0;
    if (c->shared) ct_shared_advance(c->shared);
    if (c->growing > 0) CT_TRY(grow_trees(c));
    if (c->left == 0) return CT_OK;
    int code = MPI_Testsome(c->n, c->request, &done, c->index, c->status);
    if (code == MPI_ERR_IN_STATUS)
        for (int i = 0; i < done; i++)
            if (c->status[i].MPI_ERROR != MPI_SUCCESS) code = c->status[i].MPI_ERROR;
    if (code != MPI_SUCCESS) return broke(c, code, "a sum over the group");
    c->left = done == MPI_UNDEFINED ? 0 : c->left - done;
    if (c->left == 0) c->n = 0;
    return CT_OK;
}

static ct_status poll_group(ct_comm *c, bool *done)
{
    *done = false;
    CT_TRY(usable(c));
    CT_TRY(advance(c));
    *done = all_done(c);
    return CT_OK;
}

static void give_up(ct_comm *c)
{
    if (c->failure[0]) return;
    ct_mpi.broken = true;
    snprintf(c->failure, sizeof c->failure, "mpi: the group of %d members was given up", ct_mpi.size);
}

static ct_status finish(ct_comm *c, double deadline)
{
    const double started = ct_mpi_now();
    double next = 0;
    bool passed;
    CT_TRY(usable(c));
    for (;;) {
        CT_TRY(advance(c));
        if (all_done(c)) return CT_OK;
        const double waited = ct_mpi_now() - started;
        ct_status st = ct_mpi_wait_on(waited, deadline, &next, &passed);
        if (passed) return late(c, deadline);
        if (st != CT_OK) {
            give_up(c); /* its message stays the last */
            return st;
        }
        ct_mpi_breathe(waited);
    }
}

/* ---- joining, leaving ---- */

static ct_status group_id(unsigned char id[CT_COMM_ID])
{
    memset(id, 0, CT_COMM_ID); /* there is one group, the launcher's */
    return CT_OK;
}

static void lose(ct_comm *c)
{
    c->next = lost;
    lost = c;
}

static ct_status create(ct_device *dev, const unsigned char id[CT_COMM_ID], int rank, int size, double deadline,
                        ct_comm **out)
{
    (void)dev;
    (void)id;
    CT_TRY(ct_mpi_usable());
    if (rank != ct_mpi.rank || size != ct_mpi.size)
        return ct_mpi_core->fail(CT_EINVAL, "mpi: this is member %d of %d, not %d of %d", ct_mpi.rank, ct_mpi.size,
                                 rank, size);
    ct_comm *c = ct_mpi_core->alloc(sizeof *c, "group of processes");
    if (!c) return CT_ENOMEM;
    memset(c, 0, sizeof *c);
    ct_status st = make_room(c);
    if (st != CT_OK) {
        ct_mpi_core->free(c);
        return st;
    }
    /* A communicator of its own: its messages are nobody else's, and all members have to come for it. */
    int code = MPI_Comm_idup(MPI_COMM_WORLD, &c->comm, &c->request[0]);
    if (code != MPI_SUCCESS) st = broke(c, code, "joining the group");
    c->n = c->left = 1;
    if (st == CT_OK && (st = finish(c, deadline)) != CT_OK && strstr(c->failure, "waited"))
        st = ct_mpi_core->fail(CT_EBACKEND,
                               "mpi: after %g s not all %d members had joined (this is member %d, counted from 0)",
                               deadline, size, rank);
    if (st == CT_OK && (code = MPI_Comm_set_errhandler(c->comm, MPI_ERRORS_RETURN)) != MPI_SUCCESS)
        st = broke(c, code, "joining the group");
    if (st != CT_OK) lose(c);
    else *out = c;
    return st;
}

/* The communicator itself goes with MPI_Finalize: to free it takes all members, and who knows where they are. */
static void destroy(ct_comm *c)
{
    if (!c) return;
    if (!all_done(c)) give_up(c);
    ct_shared_free(c->shared);
    c->shared = NULL;
    if (c->failure[0]) {
        lose(c);
        return;
    }
    ct_mpi_core->free(c->request);
    ct_mpi_core->free(c->status);
    ct_mpi_core->free(c->index);
    for (int i = 0; i < c->trees; i++) {
        ct_mpi_core->free(c->tree[i]->other);
        ct_mpi_core->free(c->tree[i]);
    }
    ct_mpi_core->free(c->tree);
    ct_mpi_core->free(c->piece);
    ct_mpi_core->free(c);
}

static ct_status check(ct_comm *c)
{
    return usable(c);
}

/* ---- collectives ---- */

static bool type_of(ct_dtype d, MPI_Datatype *type)
{
    switch (d) {
    case CT_I32: *type = MPI_INT32_T; return true;
    case CT_I64: *type = MPI_INT64_T; return true;
    case CT_F32: *type = MPI_FLOAT; return true;
    case CT_F64: *type = MPI_DOUBLE; return true;
    case CT_U8:
    case CT_F16:
    case CT_BF16:
    case CT_DTYPE_COUNT: break;
    }
    return false;
}

/* ---- sums by a tree ---- */

/* One that is free, with room for `bytes`. NULL: CT_ENOMEM recorded. */
static tree *find_tree(ct_comm *c, size_t bytes)
{
    int i = 0;
    while (i < c->trees && (c->tree[i]->busy || c->tree[i]->room < bytes)) i++;
    if (i < c->trees) return c->tree[i];
    if (c->trees == c->tree_room) {
        const int room = c->tree_room ? 2 * c->tree_room : 16;
        tree **longer = ct_mpi_core->alloc((size_t)room * sizeof *longer, "sums of a group");
        if (!longer) return NULL;
        if (c->trees > 0) memcpy(longer, c->tree, (size_t)c->trees * sizeof *longer);
        ct_mpi_core->free(c->tree);
        c->tree = longer;
        c->tree_room = room;
    }
    tree *t = ct_mpi_core->alloc(sizeof *t, "a sum of a group");
    if (!t) return NULL;
    *t = (tree){ .room = bytes, .other = ct_mpi_core->alloc(bytes, "a sum of a group") };
    if (!t->other) {
        ct_mpi_core->free(t);
        return NULL;
    }
    return c->tree[c->trees++] = t;
}

/* Bytes below which a sum is not cut in halves: rounds cost more then. */
#define CUT_FROM 16384

/* A long sum is many trees of so many bytes, a few of them at work at a time: each has half of its bytes beside it, and
 * libraries keep what messages on their way took, so that all at once would take the gradients' memory over again. Few
 * enough to be small beside a plan, enough that a step whose nodes take long still gets its sums done between them. */
enum { TREE_BYTES = 4 << 20, TREES_AT_WORK = 8 };

static int64_t element(const tree *t) { return t->type == CT_F64 ? 8 : 4; }

static char *at(const tree *t, span s) { return t->buf + s.first * element(t); }

/* The half of a span that this member keeps at a level, and the other one's. */
static span half(span s, int level, bool other)
{
    const int64_t low = s.n / 2;
    const bool upper = ((ct_mpi.rank >> level & 1) != 0) != other;
    return upper ? (span){ s.first + low, s.n - low } : (span){ s.first, low };
}

/* Sends `out` to the other one of this level, and has what it sends written to `in`. */
static ct_status exchange(ct_comm *c, tree *t, span out, char *in, int64_t n)
{
    MPI_Datatype type = MPI_FLOAT;
    const int to = ct_mpi.rank ^ 1 << t->level;
    type_of(t->type, &type);
    int code = MPI_Irecv(in, (int)n, type, to, t->tag, c->comm, &t->request[1]);
    if (code == MPI_SUCCESS) code = MPI_Isend(at(t, out), (int)out.n, type, to, t->tag, c->comm, &t->request[0]);
    return code == MPI_SUCCESS ? CT_OK : broke(c, code, "a sum over the group");
}

static ct_status begin_round(ct_comm *c, tree *t)
{
    const span all = t->has[t->level];
    if (t->whole) return exchange(c, t, all, t->other, all.n);
    const span mine = half(all, t->level, false), theirs = half(all, t->level, true);
    return t->back ? exchange(c, t, mine, at(t, theirs), theirs.n) : exchange(c, t, theirs, t->other, mine.n);
}

/* What both have is added, in whichever order: that makes no difference to the bits. */
static void add_other(const tree *t, span s)
{
    if (t->type == CT_F64) {
        double *restrict a = (double *)t->buf + s.first;
        const double *restrict b = (const double *)t->other;
        for (int64_t i = 0; i < s.n; i++) a[i] += b[i];
    } else {
        float *restrict a = (float *)t->buf + s.first;
        const float *restrict b = (const float *)t->other;
        for (int64_t i = 0; i < s.n; i++) a[i] += b[i];
    }
}

/* Behind a round: the next one, or *done. */
static void end_round(tree *t, bool *done)
{
    const bool last = 1 << (t->level + 1) >= ct_mpi.size;
    *done = false;
    if (t->back) {
        *done = t->level-- == 0;
        return;
    }
    const span all = t->has[t->level], mine = t->whole ? all : half(all, t->level, false);
    add_other(t, mine);
    if (!last) t->has[++t->level] = mine;
    else if (t->whole) *done = true;
    else t->back = true; /* begins with this level */
}

static ct_status begin_tree(ct_comm *c, const piece *p)
{
    const int64_t size = p->type == CT_F64 ? 8 : 4;
    const bool whole = p->n * size < CUT_FROM;
    tree *t = find_tree(c, (size_t)((whole ? p->n : p->n - p->n / 2) * size));
    if (!t) return CT_ENOMEM;
    t->buf = p->buf;
    t->type = p->type;
    t->whole = whole;
    t->level = 0;
    t->back = false;
    t->has[0] = (span){ 0, p->n };
    t->tag = c->tag;
    c->tag = (c->tag + 1) & 0x3fff; /* MPI promises no more than 32767 */
    t->busy = true;
    c->growing++;
    return begin_round(c, t);
}

/* All members begin their trees in the same order. The first that is not done everywhere has been begun everywhere,
 * since those before it are done: so there is always one that grows. */
static ct_status begin_trees(ct_comm *c)
{
    while (c->next_piece < c->pieces && c->growing < TREES_AT_WORK) CT_TRY(begin_tree(c, &c->piece[c->next_piece++]));
    if (c->next_piece == c->pieces) c->next_piece = c->pieces = 0;
    return CT_OK;
}

static ct_status grow_trees(ct_comm *c)
{
    for (int i = 0; i < c->trees; i++) {
        tree *t = c->tree[i];
        int there = 0;
        bool done;
        if (!t->busy) continue;
        int code = MPI_Testall(2, t->request, &there, t->status);
        if (code == MPI_ERR_IN_STATUS)
            for (int k = 0; k < 2; k++)
                if (t->status[k].MPI_ERROR != MPI_SUCCESS && t->status[k].MPI_ERROR != MPI_ERR_PENDING)
                    code = t->status[k].MPI_ERROR;
        if (code != MPI_SUCCESS) return broke(c, code, "a sum over the group");
        if (!there) continue;
        end_round(t, &done);
        if (!done) {
            CT_TRY(begin_round(c, t));
            continue;
        }
        t->busy = false;
        c->growing--;
    }
    return begin_trees(c);
}

/* Room for so many pieces more. */
static ct_status make_pieces(ct_comm *c, int64_t more)
{
    int room = c->piece_room ? c->piece_room : 32;
    if (c->pieces + more > INT_MAX / 2) return ct_mpi_core->fail(CT_EINVAL, "mpi: a sum of too many pieces");
    while (room < c->pieces + more) room *= 2;
    if (room == c->piece_room) return CT_OK;
    piece *longer = ct_mpi_core->alloc((size_t)room * sizeof *longer, "pieces of sums");
    if (!longer) return CT_ENOMEM;
    if (c->pieces > 0) memcpy(longer, c->piece, (size_t)c->pieces * sizeof *longer);
    ct_mpi_core->free(c->piece);
    c->piece = longer;
    c->piece_room = room;
    return CT_OK;
}

static bool power_of_two(int n) { return (n & (n - 1)) == 0; }

static ct_status tree_sum(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    (void)s;
    CT_TRY(usable(c));
    if (type != CT_F32 && type != CT_F64)
        return ct_mpi_core->fail(CT_EUNSUPPORTED, "mpi: sums by a tree of elements of type %d", (int)type);
    if (!power_of_two(ct_mpi.size))
        return ct_mpi_core->fail(CT_EINVAL, "mpi: %d members are no tree: their number must be a power of two",
                                 ct_mpi.size);
    if (ct_mpi.size == 1) return CT_OK;
    if (c->shared && ct_shared_takes(c->shared, buf, n, type)) return ct_shared_sum(c->shared, buf, n, type);
    const int64_t size = type == CT_F64 ? 8 : 4, most = (CT_MPI_PIECE < TREE_BYTES ? CT_MPI_PIECE : TREE_BYTES) / size;
    CT_TRY(make_pieces(c, (n + most - 1) / most));
    for (int64_t first = 0; first < n; first += most)
        c->piece[c->pieces++] = (piece){ (char *)buf + first * size, n - first < most ? n - first : most, type };
    return begin_trees(c);
}

static ct_status all_reduce_sum(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    MPI_Datatype t;
    CT_TRY(usable(c));
    if (c->shared && ct_shared_takes(c->shared, buf, n, type)) return ct_shared_sum(c->shared, buf, n, type);
    if (power_of_two(ct_mpi.size) && (type == CT_F32 || type == CT_F64)) return tree_sum(c, s, buf, n, type);
    if (!type_of(type, &t)) return ct_mpi_core->fail(CT_EUNSUPPORTED, "mpi: sums of elements of type %d", (int)type);
    const int64_t size = type == CT_F64 || type == CT_I64 ? 8 : 4, most = CT_MPI_PIECE / size;
    for (int64_t first = 0; first < n; first += most) {
        CT_TRY(make_room(c));
        const int count = (int)(n - first < most ? n - first : most);
        int code = MPI_Iallreduce(MPI_IN_PLACE, (char *)buf + first * size, count, t, MPI_SUM, c->comm,
                                  &c->request[c->n]);
        if (code != MPI_SUCCESS) return broke(c, code, "a sum over the group");
        c->n++;
        c->left++;
    }
    return CT_OK;
}

static ct_status broadcast(ct_comm *c, ct_stream *s, void *buf, int64_t bytes, int root)
{
    (void)s;
    CT_TRY(usable(c));
    for (int64_t at = 0; at < bytes; at += CT_MPI_PIECE) {
        CT_TRY(make_room(c));
        const int count = (int)(bytes - at < CT_MPI_PIECE ? bytes - at : CT_MPI_PIECE);
        int code = MPI_Ibcast((char *)buf + at, count, MPI_BYTE, root, c->comm, &c->request[c->n]);
        if (code != MPI_SUCCESS) return broke(c, code, "sending to the group");
        c->n++;
        c->left++;
    }
    return CT_OK;
}

/* Through memory of its own, which stays where it is should the deadline pass: the caller's may not. */
static ct_status gather(ct_comm *c, const void *mine, size_t bytes, void *all, double deadline)
{
    const size_t members = (size_t)ct_mpi.size;
    CT_TRY(usable(c));
    if (bytes == 0) return CT_OK;
    if (bytes > INT_MAX / members) return ct_mpi_core->fail(CT_EINVAL, "mpi: %zu bytes are too many to gather", bytes);
    CT_TRY(make_room(c));
    char *p = ct_mpi_core->alloc((members + 1) * bytes, "what members tell each other");
    if (!p) return CT_ENOMEM;
    c->sent = p;
    memcpy(p, mine, bytes);
    int code = MPI_Iallgather(p, (int)bytes, MPI_BYTE, p + bytes, (int)bytes, MPI_BYTE, c->comm, &c->request[c->n]);
    if (code != MPI_SUCCESS) return broke(c, code, "gathering");
    c->n++;
    c->left++;
    CT_TRY(finish(c, deadline));
    memcpy(all, p + bytes, members * bytes);
    ct_mpi_core->free(p);
    c->sent = NULL;
    return CT_OK;
}

/* ---- shared memory ---- */

enum { REASON = 192 };

/* Members agree: all of them map all, or none does. */
static ct_status agree(ct_comm *c, ct_shared *s, const ct_shared_card *mine, char why[REASON], double deadline)
{
    const size_t n = (size_t)ct_mpi.size;
    char no[REASON] = "";
    ct_shared_card *cards = ct_mpi_core->alloc(n * (sizeof *cards + REASON), "shared sums of a group");
    if (!cards) return CT_ENOMEM;
    char *said = (char *)(cards + n);
    ct_status st = gather(c, mine, sizeof *mine, cards, deadline);
    if (st == CT_OK && s) ct_shared_map(s, cards, no, sizeof no);
    if (st == CT_OK && !s) snprintf(no, sizeof no, "member %d: %s", ct_mpi.rank, mine->no);
    if (st == CT_OK) st = gather(c, no, sizeof no, said, deadline);
    for (size_t i = n; i-- > 0 && st == CT_OK;)
        if (said[i * REASON]) snprintf(why, REASON, "%s", said + i * REASON);
    ct_mpi_core->free(cards);
    return st;
}

static ct_status memory(ct_comm *c, const ct_comm_memory *m, double deadline, void **mine, void **common)
{
    ct_shared_card card;
    char why[REASON] = "";
    *mine = *common = NULL;
    CT_TRY(usable(c));
    if (ct_mpi.size == 1) return CT_OK;
    if (c->shared) return ct_mpi_core->fail(CT_EINVAL, "mpi: this group shares memory already");
    ct_shared *s = ct_shared_new(m, &card);
    const ct_status st = agree(c, s, &card, why, deadline);
    if (st == CT_OK && !*why) {
        ct_shared_begin(s, mine, common);
        c->shared = s;
    } else {
        ct_shared_free(s);
    }
    if (st != CT_OK || m->own == 0 || ct_mpi.rank != 0) return st;
    if (*why) ct_mpi_core->log(CT_LOG_INFO, "  sums       are made of messages: %s", why);
    else ct_mpi_core->log(CT_LOG_INFO, "  sums       are made in memory that the %d processes share%s", ct_mpi.size,
                          m->common > 0 ? ", which also holds weights and optimizer once for all" : "");
    return CT_OK;
}

const ct_comm_ops ct_mpi_comm = {
    .id = group_id,
    .create = create,
    .all_reduce_sum = all_reduce_sum,
    .broadcast = broadcast,
    .check = check,
    .abort = give_up,
    .destroy = destroy,
    .poll = poll_group,
    .finish = finish,
    .gather = gather,
    .tree_sum = tree_sum,
    .memory = memory,
    .release = ct_shared_release,
};
