#include "config.h"

#include "session/parts.h"

#include <inttypes.h>

#include "base/alloc.h"

static int members(const ct_session *s)
{
    return s->join.size > 1 ? s->join.size : 1;
}

int ct_session_workers(const ct_session *s, int64_t wanted)
{
    return ct_loader_workers(wanted, s->device.threads, s->join.here, s->join.beside);
}

int ct_session_parts(const ct_session *s)
{
    return s->parts > members(s) ? (int)(s->parts / members(s)) : 1;
}

ct_program_kind ct_session_kind(const ct_session *s, ct_program_kind kind, int part)
{
    return kind == CT_PROGRAM_STEP && part < ct_session_parts(s) - 1 ? CT_PROGRAM_PART : kind;
}

ct_status ct_session_check_parts(const ct_session *s, ct_program_kind kind)
{
    const int64_t p = s->parts;
    const bool micro = kind == CT_PROGRAM_MICRO_FIRST || kind == CT_PROGRAM_MICRO_NEXT || kind == CT_PROGRAM_UPDATE;
    if (p <= 0) return CT_OK;
    if ((p & (p - 1)) != 0 || p % members(s) != 0)
        return ct_fail(CT_EINVAL, "%" PRId64 " parts of a batch for %d processes: both must be powers of two", p,
                       members(s));
    return micro ? ct_fail(CT_EINVAL, "a batch in parts has no micro-steps") : CT_OK;
}

ct_status ct_session_count_parts(ct_session *s)
{
    if (s->parts <= 0 || s->counted) return CT_OK;
    s->counted = ct_calloc((size_t)s->parts * CT_METRIC_COUNT, sizeof *s->counted, "what parts have counted");
    return s->counted ? CT_OK : CT_ENOMEM;
}
