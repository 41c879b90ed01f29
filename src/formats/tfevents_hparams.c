/* TensorBoard's plugin "hparams": the keys of a run, and whether it has ended. What would list keys and metrics for all
 * runs at once, its "experiment", is left out: TensorBoard takes the first it meets for all runs, and without one looks
 * for itself which keys differ. */
#include "config.h"

#include <time.h>

#include "base/alloc.h"
#include "formats/tfevents.h"
#include "formats/tfevents.pb-c.h"
#include "formats/tfevents_tags.h"

#define PLUGIN "hparams" /* tensorboard/plugins/hparams/metadata.py, as the tags */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *lent(const char *text) { return (char *)(uintptr_t)text; }

static ct_status write_data(ct_tfevents *w, int64_t step, const char *tag, const Captrain__HParamsPluginData *d)
{
    const size_t n = captrain__hparams_plugin_data__get_packed_size(d);
    uint8_t *buf = ct_malloc(n, "TensorBoard event");
    if (!buf) return CT_ENOMEM;
    captrain__hparams_plugin_data__pack(d, buf);
    const ct_status st = ct_tfevents_plugin(w, step, tag, PLUGIN, buf, n);
    ct_free(buf);
    return st;
}

static void put_value(const ct_hparam *key, Captrain__Value *v)
{
    switch (key->type) {
    case CT_HPARAM_NUMBER:
        v->kind_case = CAPTRAIN__VALUE__KIND_NUMBER_VALUE;
        v->number_value = key->number;
        break;
    case CT_HPARAM_BOOL:
        v->kind_case = CAPTRAIN__VALUE__KIND_BOOL_VALUE;
        v->bool_value = key->number != 0;
        break;
    case CT_HPARAM_TEXT:
        v->kind_case = CAPTRAIN__VALUE__KIND_STRING_VALUE;
        v->string_value = lent(key->text);
        break;
    }
}

/* A key with its value, as protobuf-c wants them. */
typedef struct pair {
    Captrain__KeyValue both;
    Captrain__Value value;
} pair;

ct_status ct_tfevents_begin(ct_tfevents *w, int64_t step, const ct_hparam *key, size_t keys)
{
    Captrain__HParamsPluginData d = CAPTRAIN__HPARAMS_PLUGIN_DATA__INIT;
    Captrain__SessionStartInfo s = CAPTRAIN__SESSION_START_INFO__INIT;
    pair *pairs = ct_calloc(keys + 1, sizeof *pairs, "TensorBoard event");
    Captrain__KeyValue **at = ct_calloc(keys + 1, sizeof(Captrain__KeyValue *), "TensorBoard event");
    ct_status st = CT_ENOMEM;
    if (!pairs || !at) goto fail;
    for (size_t i = 0; i < keys; i++) {
        captrain__key_value__init(at[i] = &pairs[i].both);
        captrain__value__init(at[i]->value = &pairs[i].value);
        at[i]->key = lent(key[i].name);
        put_value(&key[i], at[i]->value);
    }
    s.n_hparams = keys;
    s.hparams = at;
    s.start_time_secs = now();
    d.data_case = CAPTRAIN__HPARAMS_PLUGIN_DATA__DATA_SESSION_START_INFO;
    d.session_start_info = &s;
    st = write_data(w, step, CT_TFEVENTS_START, &d);
fail:
    ct_free(pairs);
    ct_free(at);
    return st;
}

ct_status ct_tfevents_end(ct_tfevents *w, int64_t step)
{
    Captrain__HParamsPluginData d = CAPTRAIN__HPARAMS_PLUGIN_DATA__INIT;
    Captrain__SessionEndInfo e = CAPTRAIN__SESSION_END_INFO__INIT;
    e.status = 1;
    e.end_time_secs = now();
    d.data_case = CAPTRAIN__HPARAMS_PLUGIN_DATA__DATA_SESSION_END_INFO;
    d.session_end_info = &e;
    return write_data(w, step, CT_TFEVENTS_END, &d);
}
