#include "config.h"

#include "exec/engine.h"

#include <string.h>

#include "exec/plugin.h"

/* Every name there is. */
static struct entry {
    const char *name;
    const ct_engine *loaded; /* after the first success */
} entries[] = {
    { "mpi", NULL },
};

/* ISO C has no cast from dlsym's result to a function, hence the union (POSIX lets it become one). */
static const void *ask(void *symbol, const ct_services *services, uint32_t *abi, uint32_t *size)
{
    union {
        void *object;
        ct_engine_entry_fn function;
    } entry = { symbol };
    const ct_engine *table = entry.function(services);
    if (table) {
        *abi = table->abi;
        *size = table->size;
    }
    return table;
}

static const ct_plugin_kind engines = { "engine", "ct_engine_entry", "; ./configure --with-mpi builds it", ask, CT_ENGINE_ABI,
                                        sizeof(ct_engine) };

static ct_status check_table(const char *name, const ct_engine *e)
{
    const ct_comm_ops *c = e->comm;
    if (!e->name || strcmp(e->name, name) != 0)
        return ct_fail(CT_EBACKEND, "engine %s: the plug-in calls itself '%s'", name, e->name ? e->name : "");
    if (!e->library || !e->start || !e->stop || !e->patience || !c)
        return ct_fail(CT_EBACKEND, "engine %s: a member of its table is NULL", name);
    if (!(c->id && c->create && c->all_reduce_sum && c->broadcast && c->check && c->abort && c->destroy && c->poll && c->finish &&
          c->gather && !c->memory == !c->release))
        return ct_fail(CT_EBACKEND, "engine %s: a member of its groups' table is NULL", name);
    return CT_OK;
}

ct_status ct_engine_open(const char *name, const ct_engine **out)
{
    struct entry *e = NULL;
    *out = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].name, name) == 0) e = &entries[i];
    if (!e) return ct_fail(CT_EBACKEND, "there is no engine '%s'; the names are mpi", name);
    if (!e->loaded) {
        const void *table;
        CT_TRY(ct_plugin_load(&engines, name, &table));
        CT_TRY(check_table(name, table));
        e->loaded = table;
    }
    *out = e->loaded;
    return CT_OK;
}
