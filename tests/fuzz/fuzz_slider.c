/* libFuzzer target: any text as the label of a slider picture, and as the name of one. What is accepted must survive
 * being written and read again, and a label without a fault must have its places in the picture. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "task/slider/slider.h"
#include "tests/fuzz/fuzz_util.h"

static void again(const ct_slider_label *l)
{
    ct_slider_label other;
    char *text = ct_slider_label_text(l), *twice;
    if (!text || ct_slider_label_parse("again", text, &other) != CT_OK) abort();
    if (!(twice = ct_slider_label_text(&other)) || strcmp(text, twice) != 0) abort();
    ct_free(text);
    ct_free(twice);
}

static void label(ct_labels *reader, const char *text)
{
    static float points[4], fakes[2 * CT_SLIDER_MAX_FAKES], direction[4], scale;
    const ct_label_in in = { .name = "Pic0001_Bgx200Bgy80_Sdx40Sdy80_0a1b2c3d.png", .text = text, .from_width = 300,
                             .from_height = 160, .fit = { .scale = { 1, 1 } } };
    void *const row[CT_SLIDER_FIELDS] = { [CT_SLIDER_POINTS] = points, [CT_SLIDER_FAKE] = fakes,
                                          [CT_SLIDER_DIRECTION] = direction, [CT_SLIDER_SCALE] = &scale };
    ct_slider_label l;
    if (ct_slider_label_parse(in.name, text, &l) != CT_OK) {
        if (ct_error_message()[0] == '\0') abort();
        return;
    }
    again(&l);
    if (reader->ops->encode(reader, &in, row) != CT_OK) {
        if (ct_error_message()[0] == '\0' || !reader->ops->fault(reader, &in)) abort();
        return;
    }
    for (int k = 0; k < 4; k++)
        if (!(points[k] >= 0 && points[k] <= 300)) abort();
}

static void name(const char *text)
{
    ct_slider_label l;
    char back[512];
    if (!ct_slider_name_parse(text, &l)) return;
    if (!ct_slider_name_like(text)) abort();
    ct_slider_name(&l, "0a1b2c3d", back, sizeof back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ct_labels *reader;
    if (size < 1 || (!reader && ct_slider_labels(NULL, NULL, &reader) != CT_OK)) return 0;
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] & 1) name(text);
    else label(reader, text);
    free(text);
    return 0;
}
