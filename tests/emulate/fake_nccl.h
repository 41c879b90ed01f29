/* What stands in for NCCL declares of it: the calls that captrain makes, with the numbers that the library gives them
 * (nccl.h of NCCL 2.28). */
#ifndef CT_TESTS_EMULATE_FAKE_NCCL_H
#define CT_TESTS_EMULATE_FAKE_NCCL_H

#include <stddef.h>

enum { DONE = 0, SYSTEM = 2, INTERNAL = 3, INVALID = 4, REMOTE = 6, IN_PROGRESS = 7 }; /* ncclResult_t */

typedef struct { char internal[128]; } fake_id;                                                  /* ncclUniqueId */
typedef struct { size_t size; unsigned magic, version; int blocking; } fake_config; /* the first of ncclConfig_t */
typedef struct fake_comm fake_comm;

int ncclGetVersion(int *version);
int ncclGetUniqueId(fake_id *id);
#ifndef FAKE_NCCL_OLD
int ncclCommInitRankConfig(fake_comm **c, int size, fake_id id, int rank, fake_config *config);
#endif
int ncclCommFinalize(fake_comm *c);
int ncclCommDestroy(fake_comm *c);
int ncclCommAbort(fake_comm *c);
int ncclCommGetAsyncError(fake_comm *c, int *result);
int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, fake_comm *c, void *stream);
int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, fake_comm *c, void *stream);
const char *ncclGetErrorString(int result);
const char *ncclGetLastError(fake_comm *c);

#endif
