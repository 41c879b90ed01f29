/* backends/cuda/backend.c, compiled against the emulated runtime. */
#include "backends/cuda/backend.c" /* NOLINT */
