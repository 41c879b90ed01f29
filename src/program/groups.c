#include "config.h"

#include "program/groups.h"

#include <string.h>

#include "base/number.h"

static ct_status refuse(const char *word, size_t len, const char *why)
{
    return ct_fail(CT_ECONFIG, "optimizer.groups: '%.*s' %s", (int)(len < 64 ? len : 64), word, why);
}

/* The number behind the '=' of a word of `len` bytes lies in [lo, hi]. */
static bool number(const char *word, size_t len, double lo, double hi, double *out)
{
    char copy[CT_NUMBER_BYTES];
    const size_t head = (size_t)(strchr(word, '=') - word) + 1;
    double v;
    if (len - head >= sizeof copy) return false;
    memcpy(copy, word + head, len - head);
    copy[len - head] = '\0';
    if (!ct_number_of(copy, &v) || !(v >= lo && v <= hi)) return false;
    *out = v;
    return true;
}

static bool is(const char *word, size_t len, const char *text)
{
    return strlen(text) == len && strncmp(word, text, len) == 0;
}

static ct_status setting(const char *word, size_t len, ct_group_rule *r)
{
    if (strncmp(word, "lr=", 3) == 0) {
        if (number(word, len, 1e-9, 1e9, &r->lr)) return CT_OK;
        return refuse(word, len, "must be a factor of optimizer.lr, 1e-9 to 1e9 (train.freeze leaves them alone)");
    }
    if (strncmp(word, "decay=", 6) == 0) {
        if (number(word, len, 0, 10, &r->decay)) return CT_OK;
        return refuse(word, len, "must be a weight decay between 0 and 10");
    }
    if (is(word, len, "by=muon")) r->by = CT_BY_MUON;
    else if (is(word, len, "by=adamw")) r->by = CT_BY_ADAMW;
    else return refuse(word, len, "is none of lr=FACTOR, decay=NUMBER, by=muon, by=adamw");
    return CT_OK;
}

ct_status ct_group_rule_read(const char *text, ct_group_rule *out)
{
    ct_group_rule r = { .lr = -1, .decay = -1 };
    const char *p = text + strspn(text, " ");
    const size_t len = strcspn(p, " ");
    if (len == 0 || len >= sizeof r.pattern) return refuse(p, len, "is no pattern of names of parameters");
    memcpy(r.pattern, p, len);
    for (p += len; *(p += strspn(p, " ")); p += strcspn(p, " ")) CT_TRY(setting(p, strcspn(p, " "), &r));
    if (r.lr < 0 && r.decay < 0 && r.by == CT_BY_ANY)
        return refuse(text, strlen(text), "is nothing but a pattern; add lr=FACTOR, decay=NUMBER or by=adamw");
    *out = r;
    return CT_OK;
}
