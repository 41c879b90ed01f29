/* Groups of cards (nccl.c) as the backend's table sees them. */
#ifndef CT_CUDA_NCCL_H
#define CT_CUDA_NCCL_H

#include "backends/backend.h"

extern const ct_comm_ops ct_cuda_comm;
void ct_cuda_nccl_version(char *buf, size_t size); /* "NCCL 2.28.9"; "" where it cannot be loaded */

#endif
