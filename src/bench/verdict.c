#include "config.h"

#include <stddef.h>

#include "bench/profile.h"

const char *ct_bound_name(ct_bound b)
{
    static const char *const name[CT_BOUND_COUNT] = {
        "loader", "copy", "launch", "communication", "memory", "compute"
    };
    return (unsigned)b < CT_BOUND_COUNT ? name[b] : "?";
}

static bool always(const ct_profile_facts *f) { return (void)f, true; }
static bool drawn(const ct_profile_facts *f) { return f->fresh; }
static bool sent(const ct_profile_facts *f) { return f->data && !f->resident; }
static bool uncaptured(const ct_profile_facts *f) { return f->captures && f->eager; }
static bool could_halve(const ct_profile_facts *f) { return f->far && f->full; }
static bool in_parts(const ct_profile_facts *f) { return f->parts; }
static bool untuned(const ct_profile_facts *f) { return !f->tuned; }

/* The first row of a bound whose condition holds is what is said. */
static const struct {
    ct_bound bound;
    bool (*when)(const ct_profile_facts *f);
    const char *why, *knob;
} rules[] = {
    { CT_BOUND_LOADER, drawn, "the device waits for images that are still being drawn",
      "data.synth.fresh: false draws them once" },
    { CT_BOUND_LOADER, always, "the device waits for batches", "train.workers: more of them" },
    { CT_BOUND_COPY, sent, "copying batches to the device takes longer than training on them hides",
      "data.resident: true keeps the images there" },
    { CT_BOUND_COPY, always, "copying to the device takes longer than training hides",
      "train.batch_size: larger batches are fewer copies" },
    { CT_BOUND_LAUNCH, uncaptured, "the device waits for the host to queue operators one by one",
      "train.graph: true replays a step in one piece" },
    { CT_BOUND_LAUNCH, always, "operators are so small that starting them takes longer than running them",
      "train.batch_size: larger batches give each more to do" },
    { CT_BOUND_COMMUNICATION, in_parts, "the devices wait for the sum of their gradients",
      "train.batch_size: fewer sums per image" },
    { CT_BOUND_COMMUNICATION, always, "the devices wait for the sum of their gradients",
      "train.accumulate: fewer sums per image" },
    { CT_BOUND_MEMORY, could_halve, "operators wait for the device's memory",
      "train.precision: bf16 halves what is moved" },
    { CT_BOUND_MEMORY, untuned, "operators wait for memory",
      "train.tune: auto takes the implementations that are fastest here" },
    { CT_BOUND_MEMORY, always, "operators wait for memory", "model.width: a narrower model moves less" },
    { CT_BOUND_COMPUTE, could_halve, "the device computes all the time",
      "train.precision: bf16 uses its matrix units" },
    { CT_BOUND_COMPUTE, untuned, "the device computes all the time",
      "train.tune: auto takes the implementations that are fastest here" },
    { CT_BOUND_COMPUTE, always, "the device computes all the time", "model.width: a narrower model computes less" },
};

static double within(double v, double most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

bool ct_profile_disagrees(const ct_profile_facts *f)
{
    const double sum = f->operators + f->communication, most = 1.25;
    return sum > most * f->run || (!f->far && f->run > most * sum);
}

void ct_profile_judge(const ct_profile_facts *f, ct_verdict *out)
{
    const double step = f->step > 0 ? f->step : 1e-12;
    /* Of a copy beside a step only what is longer than the step shows; of a wait for the loader only what the rest
     * leaves open. */
    const double copy = f->overlaps ? within(f->copy - f->run, step) : within(f->copy, step);
    const double seconds[CT_BOUND_COUNT] = {
        [CT_BOUND_LOADER] = within(f->loader, within(step - f->run - copy, step)),
        [CT_BOUND_COPY] = copy,
        [CT_BOUND_LAUNCH] = within(f->run - f->operators - f->communication, step),
        [CT_BOUND_COMMUNICATION] = within(f->communication, step),
        [CT_BOUND_MEMORY] = within(f->memory, step),
        [CT_BOUND_COMPUTE] = within(f->compute, step),
    };
    *out = (ct_verdict){ .bound = CT_BOUND_LOADER };
    for (int b = 0; b < CT_BOUND_COUNT; b++) {
        out->share[b] = seconds[b] / step;
        if (out->share[b] > out->share[out->bound]) out->bound = (ct_bound)b;
    }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].bound != out->bound || !rules[i].when(f)) continue;
        out->why = rules[i].why;
        out->knob = rules[i].knob;
        return;
    }
}
