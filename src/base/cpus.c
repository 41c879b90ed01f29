#define _GNU_SOURCE /* sched_getaffinity() */
#include "config.h"

#include <sched.h>
#include <unistd.h>

#include "base/cpus.h"

int ct_cpus_online(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int ct_cpus(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    return ct_cpus_online();
}
