#include "config.h"

#include "program/random.h"

#include "base/alloc.h"
#include "base/philox.h"

static void fill_images(const ct_program_spec *spec, const ct_desc *d, ct_rng *rng, void *host)
{
    const ct_model_info *m = ct_model_find(spec->model.name);
    const bool masked = m && m->mask; /* all of it picture */
    for (int64_t i = 0; i < ct_desc_numel(d); i++) {
        const int64_t c = i % d->dim[3], channels = spec->model.channels;
        const bool given = c >= channels || (masked && c == channels - 1);
        ct_store(d->dtype, host, i, !given ? ct_rng_uniform(rng, 0, 1) : c < channels);
    }
}

/* Every picture fills its place: of sample number i, in the first epoch. */
static void fill_source(const ct_program_spec *spec, ct_port_role role, const ct_desc *d, ct_rng *rng, void *host)
{
    const int64_t n = ct_desc_numel(d), frames = spec->model.frames > 1 ? spec->model.frames : 1;
    const int64_t columns = d->dim[d->ndim - 1];
    for (int64_t i = 0; i < n; i++) {
        const int64_t column = i % columns, row = i / columns;
        if (role == CT_PORT_PIXELS) ((uint8_t *)host)[i] = (uint8_t)ct_rng_below(rng, 256);
        else if (role == CT_PORT_INDEX)
            ((int32_t *)host)[i] = (int32_t)(column == 0   ? row
                                              : column == 1 ? row / frames
                                              : column == 3 ? row % frames
                                                            : 0);
        else ((float *)host)[i] = column == 2 ? (float)spec->src_w : column == 3 ? (float)spec->src_h : 0;
    }
}

static ct_status fill(const ct_program_spec *spec, const ct_port *port, const ct_desc *d, ct_rng *rng, void *host)
{
    const ct_place place = { .model = &spec->model, .goal = &spec->goal };
    switch (port->role) {
    case CT_PORT_READY: fill_images(spec, d, rng, host); return CT_OK;
    case CT_PORT_PIXELS:
    case CT_PORT_INDEX:
    case CT_PORT_WINDOW: fill_source(spec, port->role, d, rng, host); return CT_OK;
    case CT_PORT_FIELD: return spec->goal.task->random(&place, port->name, d, rng, host);
    case CT_PORT_STEPS:
        for (int64_t i = 0; i < d->dim[0]; i++)
            ((int32_t *)host)[i] = (int32_t)ct_model_steps(&spec->model, ct_model_length(&spec->model));
        return CT_OK;
    default: return ct_fail(CT_EINVAL, "random input: there is none for '%s'", port->name);
    }
}

ct_status ct_random_batch_make(const ct_program_spec *spec, const ct_program *p, ct_random_batch *out)
{
    ct_rng rng;
    ct_rng_init(&rng, 1, CT_RNG_TEST, 0);
    for (int k = 0; k < p->ports; k++) {
        const ct_port *port = &p->port[k];
        const ct_desc *d = ct_graph_desc(p->graph, port->val);
        if (!ct_port_is_input(port->role)) continue;
        if (!(out->host[k] = ct_aligned_alloc(ct_desc_bytes(d), "random input"))) return CT_ENOMEM;
        CT_TRY(fill(spec, port, d, &rng, out->host[k]));
    }
    return CT_OK;
}

ct_status ct_random_batch_send(const ct_random_batch *b, const ct_program *p, ct_plan *plan)
{
    for (int k = 0; k < p->ports; k++)
        if (b->host[k]) CT_TRY(ct_plan_upload(plan, p->port[k].val, b->host[k]));
    return CT_OK;
}

void ct_random_batch_free(ct_random_batch *b)
{
    for (int k = 0; k < CT_MAX_PORTS; k++) ct_free(b->host[k]);
    *b = (ct_random_batch){ .host = { NULL } };
}
