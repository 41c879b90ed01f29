/* libFuzzer target: pixels as a program gives them to ct_model_read(), with any sizes and strides. What is accepted lies within the bytes
 * given, which a sanitizer watches, and becomes a picture of the model's geometry; all else is an error with a message. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "serve/stack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* width i32, height i32, stride u64, kind u8, rule u8; the rest: what the pixels are said to be. */
enum { WIDTH = 0, HEIGHT = 4, STRIDE = 8, KIND = 16, RULE = 17, HEAD = 18 };

static void geometry(uint8_t rule, ct_dataset_spec *spec)
{
    ct_dataset_spec_init(spec);
    spec->height = 16;
    spec->width = 40;
    spec->channels = rule & 4 ? 3 : 1;
    spec->size_rule = (ct_size_rule)(rule & 3);
    spec->width_step = 8;
    spec->min_width = 8;
    spec->min_side = 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ct_picture p = { .size = sizeof p };
    ct_dataset_spec spec;
    ct_stack stack;
    ct_dataset *ds;
    uint64_t stride;
    if (size < HEAD) return 0;
    memcpy(&p.width, data + WIDTH, sizeof p.width);
    memcpy(&p.height, data + HEIGHT, sizeof p.height);
    memcpy(&stride, data + STRIDE, sizeof stride);
    p.stride = (size_t)stride;
    p.pixels = (ct_pixels)data[KIND];
    p.bytes = size - HEAD;
    uint8_t *px = malloc(p.bytes > 0 ? p.bytes : 1); /* a block of its own, so that nothing lies behind it */
    if (!px) return 0;
    memcpy(px, data + HEAD, p.bytes);
    p.data = px;
    geometry(data[RULE], &spec);
    if (ct_stack_make(&stack, &spec, 1) != CT_OK) abort();
    const ct_status st = ct_stack_add(&stack, &p, 1, "fuzz");
    if (st != CT_OK) {
        if (stack.n != 0 || ct_error_message()[0] == '\0') abort();
    } else {
        if (ct_stack_open(&stack, NULL, &ds) != CT_OK) abort(); /* what can be used was settled when it was added */
        if (ct_dataset_size(ds) != 1 || ct_dataset_height(ds) != 16 || ct_dataset_channels(ds) != spec.channels) abort();
        ct_dataset_close(ds);
    }
    ct_stack_free(&stack);
    free(px);
    return 0;
}
