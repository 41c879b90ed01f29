/* Communication engines (backends/engine.h): the one list of them, and how they are loaded. */
#ifndef CT_EXEC_ENGINE_H
#define CT_EXEC_ENGINE_H

#include "backends/engine.h"

/* Loads an engine by name, once in a process: "mpi". It is not started. CT_EBACKEND with a message of its own each: no such name, not
 * built, cannot be loaded (with the loader's words), built for another captrain or another library. */
ct_status ct_engine_open(const char *name, const ct_engine **out);

#endif
