/* The parallel loop of the CPU backend: the only file with OpenMP in it. */
#include "config.h"

#include "backends/cpu/cpu.h"

#if defined(_OPENMP)
#include <omp.h>
#include <stdatomic.h>
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

#if defined(_OPENMP)
#define MOST_SHARES 64

/* Items that one thread takes before others do. What an operator has written in a cache the next one then finds in the same: threads of different caches
 * would fetch half of it from the other's. */
typedef struct share {
    _Alignas(64) _Atomic int64_t next;
    int64_t begin, end;
} share;

static void take(share *s, int64_t run, bool back, ct_cpu_body body, void *arg, int thread)
{
    for (;;) {
        const int64_t first = atomic_fetch_add_explicit(&s->next, run, memory_order_relaxed), end = ct_min64(s->end, first + run);
        if (first >= s->end) return;
        for (int64_t i = first; i < end; i++) body(arg, back ? s->begin + s->end - 1 - i : i, thread);
    }
}
#endif

static void for_all(const ct_device *dev, int64_t items, bool back, ct_cpu_body body, void *arg)
{
#if defined(_OPENMP)
    const int threads = (int)ct_min64(dev->threads, items);
    if (threads > 1) {
        const int shares = threads < MOST_SHARES ? threads : MOST_SHARES;
        const int64_t run = ct_max64(1, items / (threads * RUNS_PER_THREAD));
        share all[MOST_SHARES];
        for (int k = 0; k < shares; k++) {
            all[k].begin = items * k / shares;
            all[k].end = items * (k + 1) / shares;
            atomic_init(&all[k].next, all[k].begin);
        }
#pragma omp parallel num_threads(threads)
        {
            const int thread = omp_get_thread_num(), own = thread * shares / threads;
            for (int k = 0; k < shares; k++) take(&all[(own + k) % shares], run, back, body, arg, thread);
        }
        return;
    }
#else
    (void)dev;
#endif
    for (int64_t i = 0; i < items; i++) body(arg, back ? items - 1 - i : i, 0);
}

void ct_cpu_for(const ct_device *dev, int64_t items, ct_cpu_body body, void *arg) { for_all(dev, items, false, body, arg); }
void ct_cpu_for_back(const ct_device *dev, int64_t items, ct_cpu_body body, void *arg) { for_all(dev, items, true, body, arg); }
