/* libFuzzer target with three faults, for the self-check of tests/fuzz/soak: it reads behind its input, takes a second
 * and more, takes a gigabyte. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz_util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile uint8_t seen;
    (void)seen;
    if (size >= 4 && memcmp(data, "READ", 4) == 0) seen = data[size];
    if (size >= 4 && memcmp(data, "SLOW", 4) == 0)
        for (int i = 0; i < 8; i++) sleep(1); /* the timer interrupts each */
    if (size >= 4 && memcmp(data, "MUCH", 4) == 0) {
        void *volatile p = malloc((size_t)1 << 30); /* volatile: or the compiler leaves it out */
        seen = p != NULL;
        free(p);
    }
    return 0;
}
