/* libFuzzer target: any text as a configuration file. What is accepted must survive being written and read again. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/config.h"
#include "tests/fuzz/fuzz_util.h"

/* A value that the row's key may have, or nearly: one of its words, its default, its bounds, a number between them. */
static void value_of(const ct_config_row *row, unsigned pick, char *buf, size_t size)
{
    static const char *const odd[] = { "0", "-1", "1e300", "[1, 2]", "true", "~", "\"#a0b1c2\"", "synth:slider", "[]" };
    const int words = 4;
    if (pick % 2 == 0 && ct_config_value_name(row, (int)(pick / 2) % words, buf, size)) return;
    switch (pick % 5) {
    case 0: snprintf(buf, size, "%s", odd[pick / 5 % (sizeof odd / sizeof *odd)]); break;
    case 1: snprintf(buf, size, "%.17g", row->min); break;
    case 2: snprintf(buf, size, "%.17g", row->max); break;
    case 3: snprintf(buf, size, "%u", pick / 5 % 64); break;
    default: snprintf(buf, size, "%s", row->def);
    }
}

/* One more line "key: value", in front of a line: keys by their whole names stand anywhere in the outermost map. Of the
 * table's keys, since those that are found by changing bytes are nearly all unknown. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    char line[256], value[128];
    if (seed % 3 == 0) return LLVMFuzzerMutate(data, size, max);
    const ct_config_row *row = ct_config_row_at(seed / 3 % ct_config_row_count());
    value_of(row, seed / 1024, value, sizeof value);
    const size_t n = (size_t)snprintf(line, sizeof line, "%s: %s\n", row->name, value);
    size_t at = size > 0 ? seed / 64 % size : 0;
    while (at > 0 && data[at - 1] != '\n') at--;
    if (n >= sizeof line || size + n > max) return LLVMFuzzerMutate(data, size, max);
    memmove(data + at + n, data + at, size - at);
    memcpy(data + at, line, n);
    return size + n;
}

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
