#include "config.h"

#include "base/file.h"
#include "base/log.h"
#include "base/pace.h"
#include "base/text.h"

ct_pace ct_pace_begin(const char *doing, int64_t total)
{
    return (ct_pace){ .doing = doing, .total = total, .every = 10, .said = ct_now() };
}

void ct_pace_say(ct_pace *p, int64_t done)
{
    if (!p) return;
    const double now = ct_now();
    if (now - p->said < p->every) return;
    char begun[32], all[32];
    p->said = now;
    ct_info("%s: %s of %s", p->doing, ct_text_count(p->before + done, begun, sizeof begun),
            ct_text_count(p->total, all, sizeof all));
}
