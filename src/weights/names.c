#include "config.h"

#include "weights/names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

/* ---- presets ---- */

/* meijieru/crnn.pytorch: an nn.Sequential whose modules have names, pools and activations counted by themselves. */
static const char *const crnn_pytorch[] = {
    "cnn.conv0=cnn.0",       "cnn.conv1=cnn.3",        "cnn.conv2=cnn.6",        "cnn.batchnorm2=cnn.7",
    "cnn.conv3=cnn.9",       "cnn.conv4=cnn.12",       "cnn.batchnorm4=cnn.13",  "cnn.conv5=cnn.15",
    "cnn.conv6=cnn.18",      "cnn.batchnorm6=cnn.19",  "rnn.0.rnn=rnn1",         "rnn.0.embedding=emb",
    "rnn.1.rnn=rnn2",        "rnn.1.embedding=fc",     NULL,
};
/* The names are the same. */
static const char *const none[] = { NULL };

#define RESNETS "resnet18 resnet34 resnet50 resnet101 resnet152"
#define IMAGENET .mean = "[0.485, 0.456, 0.406]", .std = "[0.229, 0.224, 0.225]", .channels = 3

static const ct_name_preset presets[] = {
    { .name = "crnn.pytorch", .models = "crnn", .rules = crnn_pytorch, .mean = "[0.5]", .std = "[0.5]", .channels = 1 },
    { .name = "torchvision.resnet", .models = RESNETS, .rules = none, IMAGENET },
    { .name = "timm.resnet", .models = RESNETS, .rules = none, IMAGENET },
};

static bool has_word(const char *words, const char *word)
{
    const size_t len = strlen(word);
    for (const char *w = words; w; w = strchr(w, ' ')) {
        w += *w == ' ';
        if (strncmp(w, word, len) == 0 && (w[len] == ' ' || w[len] == '\0')) return true;
    }
    return false;
}

ct_status ct_name_preset_find(const char *name, const char *model, const ct_name_preset **out)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (strcmp(presets[i].name, name) != 0) continue;
        if (!has_word(presets[i].models, model))
            return ct_fail(CT_ECONFIG, "--map-preset %s: is for %s, not for %s", name, presets[i].models, model);
        *out = &presets[i];
        return CT_OK;
    }
    return ct_fail(CT_ECONFIG, "--map-preset %s: there are crnn.pytorch, torchvision.resnet and timm.resnet", name);
}

/* ---- names ---- */

bool ct_name_is_counter(const ct_state_tensor *t)
{
    static const char *const tails[] = { "num_batches_tracked", "n_averaged" };
    const size_t n = strlen(t->name);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const size_t k = strlen(tails[i]);
        if (n >= k && strcmp(t->name + n - k, tails[i]) == 0 && (n == k || t->name[n - k - 1] == '.') && !t->odd &&
            !ct_dtype_is_float(t->desc.dtype))
            return true;
    }
    return false;
}

/* Do all tensors but counters begin with `front`, and none of the model's weights? */
static bool wrapped(const ct_state_file *s, char *const *name, const ct_graph *model, const char *front)
{
    const size_t k = strlen(front);
    size_t n = 0;
    for (size_t i = 0; i < ct_state_count(s); i++) {
        const ct_state_tensor t = ct_state_at(s, i);
        if (strncmp(name[i], front, k) == 0) n++;
        else if (!ct_name_is_counter(&t) && !ct_name_left_out(name[i])) return false;
    }
    for (size_t i = 0; i < model->nvalues; i++)
        if (ct_graph_is_weight(model, (ct_val)i) && strncmp(model->values[i].name, front, k) == 0) return false;
    return n > 0;
}

static void unwrap(const ct_state_file *s, char **name, const ct_graph *model)
{
    static const char *const fronts[] = { "module.", "_orig_mod.", "model." };
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
        const size_t k = strlen(fronts[i]);
        if (!wrapped(s, name, model, fronts[i])) continue;
        for (size_t j = 0; j < ct_state_count(s); j++)
            if (strncmp(name[j], fronts[i], k) == 0) memmove(name[j], name[j] + k, strlen(name[j]) - k + 1);
        ct_info("all names begin with '%s', which is taken away", fronts[i]);
        i = (size_t)-1; /* wrappers in wrappers, in any order */
    }
}

/* Renames those that no rule has renamed yet. */
static ct_status apply(const ct_name_map *map, size_t n, bool *done, char **name)
{
    for (size_t i = 0; i < n; i++) {
        if (done[i]) continue;
        char *to = ct_name_map_apply(map, name[i]);
        if (!to) return CT_ENOMEM;
        done[i] = strcmp(to, name[i]) != 0;
        ct_free(name[i]);
        name[i] = to;
    }
    return CT_OK;
}

ct_status ct_names_make(const ct_state_file *s, const ct_name_map *map, const ct_name_preset *preset,
                        const ct_graph *model, char ***out)
{
    const size_t n = ct_state_count(s);
    ct_name_map more = { NULL, NULL, 0, 0, 0 };
    ct_status st = CT_ENOMEM;
    *out = NULL;
    char **name = ct_calloc(n + 1, sizeof *name, "tensors to import");
    bool *done = ct_calloc(n + 1, sizeof *done, "tensors to import");
    if (!name || !done) goto fail;
    for (size_t i = 0; i < n; i++)
        if (!(name[i] = ct_strdup(ct_state_at(s, i).name, "tensor name"))) goto fail;
    CT_GOTO(st, apply(map, n, done, name));
    unwrap(s, name, model);
    CT_GOTO(st, apply(map, n, done, name));
    for (size_t i = 0; preset && preset->rules[i]; i++)
        CT_GOTO(st, ct_name_map_add(&more, preset->rules[i], preset->name));
    if (preset) CT_GOTO(st, apply(&more, n, done, name));
    *out = name;
    name = NULL;
fail:
    ct_name_map_free(&more);
    ct_names_free(name, n);
    ct_free(done);
    return st;
}

void ct_names_free(char **name, size_t n)
{
    for (size_t i = 0; name && i < n; i++) ct_free(name[i]);
    ct_free(name);
}
