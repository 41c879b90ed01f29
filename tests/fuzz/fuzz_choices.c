/* libFuzzer target: any text as a file of choices, as the operator call in one, and as the progress in a checkpoint. The first
 * byte says which. What is accepted must survive being written and read again. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/exec.h"
#include "tests/fuzz/fuzz_util.h"
#include "weights/checkpoint.h"

static void choices(const char *text)
{
    ct_choices *c, *d;
    if (ct_choices_parse(text, "fuzz", &c) != CT_OK) return;
    char *again = ct_choices_text(c);
    if (!again || ct_choices_parse(again, "again", &d) != CT_OK || ct_choices_count(c) != ct_choices_count(d)) abort();
    ct_free(again);
    ct_choices_free(c);
    ct_choices_free(d);
}

static void call(const char *text)
{
    ct_call one, two;
    if (ct_call_parse(text, &one) != CT_OK) return;
    char *again = ct_call_text(&one), *twice;
    if (!again || ct_call_parse(again, &two) != CT_OK || !(twice = ct_call_text(&two)) || strcmp(again, twice) != 0) abort();
    ct_free(again);
    ct_free(twice);
}

static void progress(const char *text)
{
    ct_progress p;
    char *again = NULL;
    if (ct_progress_from_json(text, "fuzz", &p) != CT_OK) return;
    if (ct_progress_to_json(&p, &again) != CT_OK) abort();
    ct_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const part[])(const char *) = { choices, call, progress };
    if (size < 1) return 0;
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    part[data[0] % 3](text);
    free(text);
    return 0;
}
