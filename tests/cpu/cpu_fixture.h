/* What tests of the CPU backend share: small numbers, a device, the implementation that a call gets. */
#ifndef CT_CPU_FIXTURE_H
#define CT_CPU_FIXTURE_H

#include "backends/cpu/cpu.h"
#include "exec/exec.h"
#include "tests/ct_check.h"

static uint32_t rng_state;

static int small_int(void) /* -4..4 */
{
    rng_state = rng_state * 1664525u + 1013904223u;
    return (int)((rng_state >> 16) % 9) - 4;
}

static ct_device *open_device(int threads)
{
    ct_device_opts o = { .threads = threads };
    ct_device *dev;
    ck_assert_msg(ct_backend_cpu.open(&o, &dev) == CT_OK, "%s", ct_error_message());
    return dev;
}

/* The implementation that would run the call (its reference if the others refuse), and the reason of the last that
 * refused before it. */
static const ct_impl *winner(const ct_device *dev, const ct_call *c, ct_accept *accept, const char **refusal)
{
    *refusal = NULL;
    for (const ct_impl *m = NULL; (m = ct_impl_next(&ct_backend_cpu, c->op, m));) {
        *accept = m->accept(dev, c);
        if (accept->ok) return m;
        *refusal = accept->reason;
    }
    return NULL;
}

#endif
