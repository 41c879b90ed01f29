/* backends/cuda/nccl.c, compiled against the emulated runtime. */
#include "backends/cuda/nccl.c" /* NOLINT */
