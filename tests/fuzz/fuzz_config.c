/* libFuzzer target: any text as a configuration file. What is accepted must survive being written and read again. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ct_config *c, *d;
    if (ct_config_parse((const char *)data, size, "fuzz", NULL, 0, &c) != CT_OK) return 0;
    char *text[2] = { ct_config_yaml(c, true), ct_config_json(c) };
    for (int i = 0; i < 2; i++) {
        if (!text[i] || ct_config_parse(text[i], strlen(text[i]), "again", NULL, 0, &d) != CT_OK) abort();
        if (!ct_config_equal(c, d)) abort();
        ct_config_free(d);
        ct_free(text[i]);
    }
    ct_config_free(c);
    return 0;
}
