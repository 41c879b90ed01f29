/* The parallel loop of the CPU backend: the only file with OpenMP in it. */
#include "config.h"

#include "backends/cpu/cpu.h"

#if defined(_OPENMP)
#include <omp.h>
#endif

bool ct_cpu_has_openmp(void)
{
#if defined(_OPENMP)
    return true;
#else
    return false;
#endif
}

/* Runs of items handed out at a time: many to each thread, so that one that is held up by other programs is not waited
 * for long. */
#define RUNS_PER_THREAD 32

void ct_cpu_for(const ct_device *dev, int64_t items, ct_cpu_body body, void *arg)
{
#if defined(_OPENMP)
    const int threads = (int)ct_min64(dev->threads, items);
    if (threads > 1) {
        const int64_t run = ct_max64(1, items / (threads * RUNS_PER_THREAD));
#pragma omp parallel for schedule(dynamic, run) num_threads(threads)
        for (int64_t i = 0; i < items; i++) body(arg, i, omp_get_thread_num());
        return;
    }
#else
    (void)dev;
#endif
    for (int64_t i = 0; i < items; i++) body(arg, i, 0);
}
