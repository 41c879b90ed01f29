/* Locks between processes. */
#ifndef CT_BASE_LOCK_H
#define CT_BASE_LOCK_H

#include <stdbool.h>

/* Holds the file `path`, which is made where it is not there, once nobody else does: until ct_lock_leave(), or until
 * the process that holds it is gone, however it ended. Processes of the same machine; those of others where the file
 * system carries flock(). *waited says whether somebody had it. -1 where there is no lock to be had (the folder cannot
 * be written, the file system has none): what it would have kept apart must be right without it, too. */
int ct_lock_enter(const char *path, bool *waited);
/* `path` goes, and with it the lock. Who waits for it gets it all the same. lock -1 is fine. */
void ct_lock_leave(int lock, const char *path);

#endif
