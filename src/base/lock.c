#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"

/* Asked again and again instead of waited for: a signal's handler then runs at once, and no file system's lock daemon
 * can keep a process from being stopped. */
static const struct timespec moment = { .tv_nsec = 50000000 };

int ct_lock_enter(const char *path, bool *waited)
{
    *waited = false;
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return -1;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            close(fd);
            return -1;
        }
        *waited = true;
        nanosleep(&moment, NULL);
    }
    return fd;
}

void ct_lock_leave(int lock, const char *path)
{
    if (lock < 0) return;
    unlink(path);
    flock(lock, LOCK_UN); /* a forked child may have the descriptor, too */
    close(lock);
}
