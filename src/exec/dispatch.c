#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "exec/internal.h"

const ct_impl *ct_impl_next(const ct_backend *b, ct_op op, const ct_impl *after)
{
    bool behind = after == NULL;
    for (size_t k = 0; k < b->nsets; k++)
        for (size_t i = 0; i < b->sets[k]->n; i++) {
            const ct_impl *m = &b->sets[k]->impls[i];
            if (behind && m->op == op) return m;
            behind = behind || m == after;
        }
    return NULL;
}

const char *ct_impl_ruled_out(const ct_device_opts *opts, const ct_impl *m)
{
    if (opts->reference && !(m->flags & CT_IMPL_REFERENCE)) return "not the reference, which was asked for";
    if (opts->exact && !(m->flags & CT_IMPL_EXACT)) return "trades accuracy for speed, and exact was asked for";
    if (opts->deterministic && !(m->flags & CT_IMPL_DETERMINISTIC))
        return "its bits depend on the number of threads, and deterministic was asked for";
    return NULL;
}

char *ct_impl_full_name(const ct_backend *b, const ct_impl *m)
{
    size_t len = strlen(b->name);
    bool qualified = strncmp(m->name, b->name, len) == 0 && m->name[len] == '.';
    return qualified ? ct_strdup(m->name, "implementation name") : ct_asprintf("%s.%s", b->name, m->name);
}

/* variant: "" or ":eng38/k2=4". */
static void print_choice(const ct_backend *b, const ct_call *call, const ct_impl *m, const char *variant, const char *reason)
{
    if (!ct_log_topic_on(CT_TOPIC_DISPATCH)) return;
    char *text = ct_call_text(call), *name = ct_impl_full_name(b, m);
    const char *who = name ? name : m->name, *what = text ? text : "?";
    if (reason) ct_log_topic_line(CT_TOPIC_DISPATCH, "%s refuses %s: %s", who, what, reason);
    else ct_log_topic_line(CT_TOPIC_DISPATCH, "%s%s takes %s", who, variant, what);
    ct_free(text);
    ct_free(name);
}

/* The implementation of `call` that is meant by the first `len` bytes of a full name; NULL in *out if there is none. */
static ct_status find_named(const ct_backend *b, const ct_call *call, const char *name, size_t len, const ct_impl **out)
{
    *out = NULL;
    for (const ct_impl *m = NULL; !*out && (m = ct_impl_next(b, call->op, m));) {
        char *full = ct_impl_full_name(b, m);
        if (!full) return CT_ENOMEM;
        if (strlen(full) == len && memcmp(full, name, len) == 0) *out = m;
        ct_free(full);
    }
    return CT_OK;
}

/* Takes `m` in the variant it is to run in (NULL: its own choice); the reason why not, or NULL. Static, or the recorded message. */
static const char *take(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_impl *m, const ct_call *call,
                        const char *variant, ct_choice *out)
{
    const char *reason = ct_impl_ruled_out(opts, m);
    if (reason) return reason;
    if (variant && !b->prefer) return "this backend knows no variants of implementations";
    if (b->prefer && b->prefer(dev, m, call, variant) != CT_OK) return ct_error_message();
    ct_accept a = m->accept(dev, call);
    if (!a.ok) return a.reason ? a.reason : "no reason given";
    *out = (ct_choice){ .impl = m, .scratch = a.scratch };
    return NULL;
}

/* The implementation named for this call, "cpu.indirect" or "cuda.dnn:eng38/k2=4". */
static ct_status take_chosen(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_call *call,
                             const char *name, ct_choice *out)
{
    const char *colon = strchr(name, ':'), *source = ct_choices_source(opts->choices);
    const ct_impl *m;
    CT_TRY(find_named(b, call, name, colon ? (size_t)(colon - name) : strlen(name), &m));
    const char *reason = m ? take(b, dev, opts, m, call, colon ? colon + 1 : NULL, out) : "this backend has no such implementation";
    if (!reason) {
        print_choice(b, call, m, colon ? colon : "", NULL);
        return CT_OK;
    }
    char *text = ct_call_text(call);
    if (!text) return CT_ENOMEM;
    ct_status st = ct_fail(CT_EUNSUPPORTED, "%s%s%s was measured and chosen for %s, but cannot take it here: %s", source, *source ? ": " : "",
                           name, text, reason);
    ct_free(text);
    return st;
}

ct_status ct_dispatch(const ct_backend *b, ct_device *dev, const ct_device_opts *opts, const ct_call *call,
                      ct_choice *out)
{
    char reasons[1024] = "";
    const char *chosen, *instead = NULL;
    size_t n = 0;
    CT_TRY(ct_choices_find(opts->choices, call, &chosen));
    if (chosen) return take_chosen(b, dev, opts, call, chosen, out);
    for (const ct_impl *m = NULL; (m = ct_impl_next(b, call->op, m));) {
        const char *reason = ct_impl_ruled_out(opts, m);
        if (!reason) {
            ct_accept a = m->accept(dev, call);
            if (a.ok) {
                print_choice(b, call, m, "", NULL);
                *out = (ct_choice){ .impl = m, .scratch = a.scratch, .instead = instead };
                return CT_OK;
            }
            reason = a.reason ? a.reason : "no reason given";
        }
        print_choice(b, call, m, "", reason);
        if (!(m->flags & CT_IMPL_YARDSTICK)) instead = reason; /* of the last that could have taken it: what comes first is for few calls */
        if (n < sizeof reasons)
            n += (size_t)snprintf(reasons + n, sizeof reasons - n, "%s%s: %s", n ? "; " : "", m->name, reason);
    }
    char *text = ct_call_text(call);
    if (!text) return CT_ENOMEM;
    ct_status st = ct_fail(CT_EUNSUPPORTED, "backend %s cannot run %s (%s)", b->name, text,
                           n ? reasons : "it has no implementation of this operator");
    ct_free(text);
    return st;
}
