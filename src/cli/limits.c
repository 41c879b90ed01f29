/* What a caller may have taken from the process: standard streams, and address space. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/alloc.h"
#include "base/cpus.h"
#include "cli/cli.h"

void cli_open_streams(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", O_RDWR) != fd) _exit(1); /* there is nobody to tell */
    }
}

/* ---- address space ----
 * OpenBLAS maps a buffer for each of its own threads when the program is loaded, and one for each thread that
 * multiplies matrices. Where the address space does not hold one it tries again for ever, also at exit. */

#define BUFFER_BYTES ((size_t)128 << 20)
#define WORK_BYTES ((size_t)32 << 20) /* less than this is no room to do anything */

/* Threads that were started before main(); -1 where the system does not tell. */
static int count_others(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = -1;
    if (!d) return -1;
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* Buffers that are mapped by now: several that lie side by side are one line of the map. */
static int count_buffers(void)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512];
    int n = 0;
    if (!f) return 0;
    while (fgets(line, sizeof line, f)) {
        uintmax_t from, to, inode;
        char mode[8];
        if (sscanf(line, "%jx-%jx %7s %*s %*s %ju", &from, &to, mode, &inode) == 4 && inode == 0 && mode[1] == 'w')
            n += (int)((to - from) / BUFFER_BYTES);
    }
    fclose(f);
    return n;
}

void cli_check_space(int threads, bool computes)
{
    const struct timespec moment = { .tv_nsec = 2000000 };
    struct rlimit l;
    if (getrlimit(RLIMIT_AS, &l) != 0 || l.rlim_cur == RLIM_INFINITY || l.rlim_cur > SIZE_MAX / 2) return;
    const int others = count_others(), mine = !computes ? 0 : threads > 0 ? threads : ct_cpus();
    int missing = others - count_buffers();
    for (int i = 0; missing > 0 && i < 50; i++) { /* they are just starting */
        nanosleep(&moment, NULL);
        missing = others - count_buffers();
    }
    if (missing < 0) missing = 0;
    const size_t reserve = (size_t)mine * BUFFER_BYTES;
    const size_t needed = ct_alloc_address_space() + (size_t)missing * BUFFER_BYTES + reserve + WORK_BYTES;
    if (needed <= l.rlim_cur) {
#ifdef __GLIBC__
        mallopt(M_ARENA_MAX, 1); /* others would take 64 MB of address space for each thread */
#endif
        ct_alloc_limit((size_t)l.rlim_cur, reserve);
        return;
    }
    fprintf(stderr,
            "captrain: ulimit -v allows %ju kB of address space, at least %zu kB are needed: OpenBLAS takes %zu kB for "
            "each of %d threads%s\n", (uintmax_t)l.rlim_cur >> 10, needed >> 10, BUFFER_BYTES >> 10, others + mine,
            mine > 1 ? "; fewer: --threads 1" : "");
    fflush(stderr);
    _exit(1); /* exit() would wait for threads that never end */
}
