/* libFuzzer target: any bytes as a file of names for import-torch; then names go through it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/fuzz/fuzz_util.h"
#include "weights/name_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "conv1.weight", "backbone.layer1.0.bn2.running_mean", "a", "" };
    ct_name_map m = { 0 };
    if (ct_name_map_read(&m, fuzz_file(data, size)) != CT_OK && ct_error_message()[0] == '\0') abort();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *to = ct_name_map_apply(&m, names[i]);
        if (!to) abort();
        ct_free(to);
    }
    ct_name_map_free(&m);
    return 0;
}
