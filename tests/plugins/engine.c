/* Stand-ins for engines: a good one, and others that must be refused. */
#include <stddef.h>

#include "backends/engine.h"

#if !defined(ENGINE_NO_SYMBOL)

static ct_status start(int rank, int size)
{
    (void)rank;
    (void)size;
    return CT_OK;
}

static ct_status stop(double deadline)
{
    (void)deadline;
    return CT_OK;
}

static void patience(const ct_patience *p)
{
    (void)p;
}

static ct_status id(unsigned char name[CT_COMM_ID])
{
    name[0] = 0;
    return CT_OK;
}

static ct_status create(ct_device *dev, const unsigned char name[CT_COMM_ID], int rank, int size, double deadline,
                        ct_comm **out)
{
    (void)dev;
    (void)name;
    (void)rank;
    (void)size;
    (void)deadline;
    *out = NULL;
    return CT_OK;
}

static ct_status sum(ct_comm *c, ct_stream *s, void *buf, int64_t n, ct_dtype type)
{
    (void)c;
    (void)s;
    (void)buf;
    (void)n;
    (void)type;
    return CT_OK;
}

static ct_status broadcast(ct_comm *c, ct_stream *s, void *buf, int64_t bytes, int root)
{
    return sum(c, s, buf, bytes + root, CT_U8);
}

static ct_status check(ct_comm *c)
{
    (void)c;
    return CT_OK;
}

static void end(ct_comm *c)
{
    (void)c;
}

#if !defined(ENGINE_LACKS)
static ct_status poll(ct_comm *c, bool *done)
{
    (void)c;
    *done = true;
    return CT_OK;
}
#endif

static ct_status finish(ct_comm *c, double deadline)
{
    (void)c;
    (void)deadline;
    return CT_OK;
}

static ct_status gather(ct_comm *c, const void *mine, size_t bytes, void *all, double deadline)
{
    (void)c;
    (void)mine;
    (void)bytes;
    (void)all;
    (void)deadline;
    return CT_OK;
}

static const ct_comm_ops comm = {
    .id = id,
    .create = create,
    .all_reduce_sum = sum,
    .broadcast = broadcast,
    .check = check,
    .abort = end,
    .destroy = end,
#if !defined(ENGINE_LACKS)
    .poll = poll,
#endif
    .finish = finish,
    .gather = gather,
};

static const ct_engine table = {
#if defined(ENGINE_ABI)
    .abi = CT_ENGINE_ABI + 1,
#else
    .abi = CT_ENGINE_ABI,
#endif
    .size = sizeof(ct_engine),
    .name = "mpi",
    .library = "test library 1.0",
    .start = start,
    .stop = stop,
    .comm = &comm,
    .patience = patience,
};

const ct_engine *ct_engine_entry(const ct_services *services);

const ct_engine *ct_engine_entry(const ct_services *services)
{
#if defined(ENGINE_REFUSES)
    services->fail(CT_EBACKEND, "it was built for Other MPI 3");
    return table.name ? NULL : &table;
#else
    (void)services;
    return &table;
#endif
}

#else
extern int ct_no_engine;
int ct_no_engine;
#endif
