/* What a backend's table must be like before anything uses it: a bad one is refused when it is loaded, with the row
 * named. */
#include "config.h"

#include <string.h>

#include "exec/exec.h"

static ct_status check_members(const ct_backend *b)
{
    const struct {
        const char *name;
        bool there;
    } members[] = {
        { "device_count", b->device_count != NULL },
        { "open", b->open != NULL },
        { "close", b->close != NULL },
        { "info", b->info != NULL },
        { "alloc", b->alloc != NULL },
        { "free", b->free != NULL },
        { "clear", b->clear != NULL },
        { "upload", b->upload != NULL },
        { "download", b->download != NULL },
        { "copy", b->copy != NULL },
        { "stream_create", b->stream_create != NULL },
        { "stream_destroy", b->stream_destroy != NULL },
        { "stream_sync", b->stream_sync != NULL },
        { "event_create", b->event_create != NULL },
        { "event_destroy", b->event_destroy != NULL },
        { "event_record", b->event_record != NULL },
        { "event_wait", b->event_wait != NULL },
        { "event_done", b->event_done != NULL },
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (!members[i].there) return ct_fail(CT_EBACKEND, "backend %s: member %s is NULL", b->name, members[i].name);
    int capture = (b->capture_begin != NULL) + (b->capture_end != NULL) + (b->capture_replay != NULL) +
                  (b->capture_destroy != NULL);
    if (capture != 0 && capture != 4)
        return ct_fail(CT_EBACKEND, "backend %s: %d of the 4 capture members are given; all or none must be", b->name,
                       capture);
    if ((b->host_alloc != NULL) != (b->host_free != NULL))
        return ct_fail(CT_EBACKEND, "backend %s: of host_alloc and host_free one is NULL", b->name);
    if ((b->variants != NULL) != (b->prefer != NULL))
        return ct_fail(CT_EBACKEND, "backend %s: of variants and prefer one is NULL", b->name);
    const ct_comm_ops *c = b->comm;
    if (c && !(c->id && c->create && c->all_reduce_sum && c->broadcast && c->check && c->abort && c->destroy))
        return ct_fail(CT_EBACKEND, "backend %s: a member of its groups' table is NULL", b->name);
    if (c && (c->poll != NULL) != (c->finish != NULL))
        return ct_fail(CT_EBACKEND, "backend %s: of poll and finish of its groups one is NULL", b->name);
    return CT_OK;
}

/* `m` stands at place i of set k. */
static ct_status check_impl(const ct_backend *b, size_t k, size_t i)
{
    const ct_impl *m = &b->sets[k]->impls[i];
    if ((unsigned)m->op >= (unsigned)CT_OP_COUNT)
        return ct_fail(CT_EBACKEND,
                       "backend %s: implementation %zu of set %zu is for operator %d, which does not exist", b->name, i,
                       k, (int)m->op);
    const char *op = ct_op_get(m->op)->name;
    if (!m->name || !*m->name)
        return ct_fail(CT_EBACKEND, "backend %s: implementation %zu (%s) of set %zu has no name", b->name, i, op, k);
    if (!m->accept || !m->run)
        return ct_fail(CT_EBACKEND, "backend %s: %s.%s lacks %s", b->name, op, m->name, m->accept ? "run" : "accept");
    unsigned known = CT_IMPL_REFERENCE | CT_IMPL_EXACT | CT_IMPL_DETERMINISTIC | CT_IMPL_YARDSTICK | CT_IMPL_ROUNDS;
    if (m->flags & ~known)
        return ct_fail(CT_EBACKEND, "backend %s: %s.%s has unknown flags 0x%x", b->name, op, m->name,
                       m->flags & ~known);
    if ((m->flags & CT_IMPL_REFERENCE) && !(m->flags & CT_IMPL_EXACT))
        return ct_fail(CT_EBACKEND, "backend %s: %s.%s is a reference but not exact", b->name, op, m->name);
    /* Those before it, of the same operator. */
    for (const ct_impl *e = NULL; (e = ct_impl_next(b, m->op, e)) && e != m;) {
        if (e->flags & CT_IMPL_REFERENCE)
            return ct_fail(CT_EBACKEND, "backend %s: %s.%s stands behind the reference; the reference comes last",
                           b->name, op, m->name);
        if (strcmp(e->name, m->name) == 0)
            return ct_fail(CT_EBACKEND, "backend %s: two implementations are called %s.%s", b->name, op, m->name);
    }
    return CT_OK;
}

ct_status ct_backend_validate(const ct_backend *b)
{
    if (!b) return ct_fail(CT_EBACKEND, "backend: no table");
    if (b->abi != CT_BACKEND_ABI || b->size != sizeof(ct_backend))
        return ct_fail(CT_EBACKEND, "backend: ABI %u with a table of %u bytes; this program has ABI %u with %zu bytes",
                       (unsigned)b->abi, (unsigned)b->size, (unsigned)CT_BACKEND_ABI, sizeof(ct_backend));
    if (!b->name || !*b->name) return ct_fail(CT_EBACKEND, "backend: the table has no name");
    CT_TRY(check_members(b));
    size_t n = 0;
    for (size_t k = 0; k < b->nsets; k++) {
        if (!b->sets[k] || (b->sets[k]->n > 0 && !b->sets[k]->impls))
            return ct_fail(CT_EBACKEND, "backend %s: set %zu of implementations is NULL", b->name, k);
        for (size_t j = 0; j < k; j++)
            if (b->sets[j] == b->sets[k])
                return ct_fail(CT_EBACKEND, "backend %s: sets %zu and %zu of implementations are one", b->name, j, k);
        n += b->sets[k]->n;
    }
    if (n == 0) return ct_fail(CT_EBACKEND, "backend %s: no implementations", b->name);
    for (size_t k = 0; k < b->nsets; k++)
        for (size_t i = 0; i < b->sets[k]->n; i++) CT_TRY(check_impl(b, k, i));
    return CT_OK;
}
