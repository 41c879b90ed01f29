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

uint64_t ct_cpus_key(void)
{
    uint64_t key = 0;
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) key = (key ^ (uint64_t)(i + 1)) * 0x100000001b3u; /* FNV-1a */
#endif
    return key;
}

int ct_cpus(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    return ct_cpus_online();
}
