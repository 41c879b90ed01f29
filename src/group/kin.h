/* Processes below this one, as /proc lists them; where there is no such thing, none. */
#ifndef CT_GROUP_KIN_H
#define CT_GROUP_KIN_H

#include <stdbool.h>
#include <sys/types.h>

/* How many processes descend from `root` (itself left out) and run the program of this one. */
int ct_kin_alike(pid_t root);

/* From here on what outlives its parent below this process becomes its child; `former` is for ct_kin_release(). */
void ct_kin_adopt(bool *former);
/* Ends the children that were adopted: SIGTERM, and SIGKILL after `seconds`. Returns when they are gone. */
void ct_kin_end(double seconds);
void ct_kin_release(bool former);

#endif
