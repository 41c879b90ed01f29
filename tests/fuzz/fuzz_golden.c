/* libFuzzer target: any bytes as a golden file and as a file of CTC losses. */
#include "config.h"

#include <stdlib.h>

#include "base/log.h"
#include "selftest/ctc_check.h"
#include "selftest/golden.h"
#include "tests/fuzz/fuzz_util.h"

static FILE *nowhere;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ct_log_set_level(CT_LOG_ERROR);
    nowhere = fopen("/dev/null", "w");
    return nowhere ? 0 : 1;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return fuzz_mutate_safetensors(data, size, max, seed, NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ct_common common = { .backend = "cpu", .threads = 1 };
    ct_golden g;
    const char *path = fuzz_file(data, size);
    if (ct_golden_open(path, &g) == CT_OK) ct_golden_close(&g);
    if (ct_ctc_check(path, &common, nowhere) != CT_OK && ct_error_message()[0] == '\0') abort();
    return 0;
}
