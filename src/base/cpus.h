/* Processors. */
#ifndef CT_BASE_CPUS_H
#define CT_BASE_CPUS_H

#include <stdint.h>

/* Logical processors that this process may use: those of its affinity mask, which taskset, a launcher that binds, or a
 * container's cpuset made smaller; where there is none those the machine has. At least 1. */
int ct_cpus(void);
/* A number for which processors these are: the same for processes that share theirs. 0: not known. */
uint64_t ct_cpus_key(void);
/* Those of the machine that are on, whoever may use them. At least 1. */
int ct_cpus_online(void);

#endif
