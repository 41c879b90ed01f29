#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "exec/internal.h"

char *ct_call_text(const ct_call *call)
{
    int n = ct_call_format(call, NULL, 0);
    char *text = ct_malloc((size_t)n + 1, "text of a call");
    if (text) ct_call_format(call, text, (size_t)n + 1);
    return text;
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

static void print_choice(const ct_backend *b, const ct_call *call, const ct_impl *m, const char *reason)
{
    if (!ct_log_topic_on(CT_TOPIC_DISPATCH)) return;
    char *text = ct_call_text(call), *name = ct_impl_full_name(b, m);
    const char *who = name ? name : m->name, *what = text ? text : "?";
    if (reason) ct_log_topic_line(CT_TOPIC_DISPATCH, "%s refuses %s: %s", who, what, reason);
    else ct_log_topic_line(CT_TOPIC_DISPATCH, "%s takes %s", who, what);
    ct_free(text);
    ct_free(name);
}

/* The implementation named for this call, if one is. */
static ct_status take_chosen(const ct_backend *b, const ct_device *dev, const ct_device_opts *opts, const ct_call *call,
                             const char *name, ct_choice *out)
{
    const char *reason = "this backend has no such implementation";
    for (size_t i = 0; i < b->nimpls; i++) {
        const ct_impl *m = &b->impls[i];
        if (m->op != call->op) continue;
        char *full = ct_impl_full_name(b, m);
        if (!full) return CT_ENOMEM;
        bool same = strcmp(full, name) == 0;
        ct_free(full);
        if (!same) continue;
        reason = ct_impl_ruled_out(opts, m);
        if (reason) break;
        ct_accept a = m->accept(dev, call);
        if (a.ok) {
            print_choice(b, call, m, NULL);
            *out = (ct_choice){ m, a.scratch };
            return CT_OK;
        }
        reason = a.reason ? a.reason : "no reason given";
        break;
    }
    char *text = ct_call_text(call);
    if (!text) return CT_ENOMEM;
    ct_status st = ct_fail(CT_EUNSUPPORTED, "%s was measured and chosen for %s, but cannot take it here: %s", name, text,
                           reason);
    ct_free(text);
    return st;
}

ct_status ct_dispatch(const ct_backend *b, const ct_device *dev, const ct_device_opts *opts, const ct_call *call,
                      ct_choice *out)
{
    char reasons[1024] = "";
    const char *chosen;
    size_t n = 0;
    CT_TRY(ct_choices_find(opts->choices, call, &chosen));
    if (chosen) return take_chosen(b, dev, opts, call, chosen, out);
    for (size_t i = 0; i < b->nimpls; i++) {
        const ct_impl *m = &b->impls[i];
        if (m->op != call->op) continue;
        const char *reason = ct_impl_ruled_out(opts, m);
        if (!reason) {
            ct_accept a = m->accept(dev, call);
            if (a.ok) {
                print_choice(b, call, m, NULL);
                *out = (ct_choice){ m, a.scratch };
                return CT_OK;
            }
            reason = a.reason ? a.reason : "no reason given";
        }
        print_choice(b, call, m, reason);
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
