/* libFuzzer target: any bytes as a pickle of torch.save, by the rules that its files are read with. */
#include "config.h"

#include <stdlib.h>

#include "pickle/torch_values.h"
#include "tests/fuzz/fuzz_util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ct_torch_values t = { .source = "fuzz", .quoted = "fuzz" };
    const ct_pickle_rules rules = ct_torch_rules(&t);
    ct_pickle *p;
    size_t used = 0;
    if (ct_pickle_run(data, size, "fuzz", &rules, &used, &p) == CT_OK) {
        if (used > size || used == 0) abort();
        const ct_torch_view *v = ct_torch_view_of(&t, p, ct_pickle_root(p));
        if (v && v->storage >= t.storages) abort();
        ct_pickle_get(p, ct_pickle_root(p), "state_dict");
    }
    ct_pickle_free(p);
    ct_torch_values_free(&t);
    return 0;
}
