/* libFuzzer target: any bytes as a model file: its configuration, its facts, its progress, its choices of
 * implementations. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "exec/exec.h"
#include "tests/fuzz/fuzz_util.h"
#include "weights/checkpoint.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char head[] = "{\"__metadata__\":{\"format_version\":\"1\",\"kind\":\"checkpoint\",\"weights\":\"ema\","
                               "\"config\":\"{\\\"model\\\":{\\\"name\\\":\\\"textcnn-small\\\"},\\\"data\\\":{\\\"charset\\\":\\\"01\\\"}}\","
                               "\"charset\":\"01\",\"positions\":\"2\",\"choices\":\"{}\",\"progress\":\"{\\\"metric_sums\\\":[1],"
                               "\\\"epoch\\\":1,\\\"batch\\\":0,\\\"step\\\":3,\\\"samples\\\":8,\\\"seconds\\\":1.5,\\\"step_seconds\\\":1,"
                               "\\\"finished\\\":false,\\\"stopped_early\\\":false,\\\"bad_in_a_row\\\":0,\\\"journal_bytes\\\":9,"
                               "\\\"best\\\":{\\\"metric_sums\\\":[1],\\\"epoch\\\":1,\\\"step\\\":3},\\\"stale\\\":0}\"},"
                               "\"model.x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    static uint8_t base[8 + sizeof head - 1 + 8];
    memcpy(base + 8, head, sizeof head - 1);
    base[0] = (uint8_t)(sizeof head - 1);
    base[1] = (uint8_t)((sizeof head - 1) >> 8);
    return fuzz_mutate_safetensors(data, size, max, seed, base, sizeof base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ct_model_file m;
    ct_progress p;
    ct_choices *choices = NULL;
    if (ct_model_file_open(fuzz_file(data, size), &m) != CT_OK) {
        if (ct_error_message()[0] == '\0' || m.st || m.cfg) abort();
        return 0;
    }
    if (!m.cfg || !m.task || !m.facts) abort();
    const char *progress = ct_safetensors_meta(m.st, "progress"), *text = ct_safetensors_meta(m.st, "choices");
    if (progress && ct_progress_from_json(progress, "fuzz", &p) == CT_OK) {
        char *again = NULL;
        if (ct_progress_to_json(&p, &again) != CT_OK) abort();
        ct_free(again);
    }
    if (text && ct_choices_parse(text, "fuzz", &choices) == CT_OK) ct_choices_free(choices);
    ct_model_file_close(&m);
    return 0;
}
