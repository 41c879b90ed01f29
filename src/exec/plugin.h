/* Plug-ins: shared objects captrain-<name>.so, where they are looked for and how they are opened. */
#ifndef CT_EXEC_PLUGIN_H
#define CT_EXEC_PLUGIN_H

#include "backends/backend.h"

typedef struct ct_plugin_kind {
    const char *noun;    /* "backend": begins messages */
    const char *symbol;  /* its entry */
    const char *missing; /* what the message that there is none ends with; "" for nothing */
    /* Calls the entry, whose address `symbol` is, and tells what its table's head says. NULL: the plug-in refuses. */
    const void *(*ask)(void *symbol, const ct_services *services, uint32_t *abi, uint32_t *size);
    uint32_t abi;        /* what the head must say */
    size_t size;
} ct_plugin_kind;

/* Looks for captrain-<name>.so in the folders of CAPTRAIN_BACKEND_PATH, or without it beside a program that was not installed, then in
 * the installed folder, and gives its table. CT_EBACKEND with a message of its own each: not there, cannot be loaded, no plug-in, it
 * refuses, built for another captrain. It stays open for the rest of the process. */
ct_status ct_plugin_load(const ct_plugin_kind *kind, const char *name, const void **table);
/* Whether there is a file that ct_plugin_load() would open. */
bool ct_plugin_there(const char *name);

#endif
