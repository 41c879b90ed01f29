#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "exec/exec.h"
#include "exec/plugin.h"

/* Every name there is, in the order `auto` prefers them. */
static struct entry {
    const char *name;
    const ct_backend *built_in; /* NULL: plug-in captrain-<name>.so */
    const ct_backend *loaded;   /* after the first success */
    const char *sign;           /* a file where the driver of such devices is; NULL: there is none to have */
} entries[] = {
    { "cuda", NULL, NULL, "/proc/driver/nvidia" },
    { "cpu", &ct_backend_cpu, NULL, NULL },
};

/* Over `loaded`: models may be opened from several threads at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define NENTRIES (sizeof entries / sizeof entries[0])

size_t ct_backend_count(void)
{
    return NENTRIES;
}

const char *ct_backend_name(size_t i)
{
    return i < NENTRIES ? entries[i].name : NULL;
}

/* ISO C has no cast from dlsym's result to a function, hence the union (POSIX lets it become one). */
static const void *ask(void *symbol, const ct_services *services, uint32_t *abi, uint32_t *size)
{
    union {
        void *object;
        ct_backend_entry_fn function;
    } entry = { symbol };
    const ct_backend *table = entry.function(services);
    if (table) {
        *abi = table->abi;
        *size = table->size;
    }
    return table;
}

static const ct_plugin_kind backends = { "backend", "ct_backend_entry", "", ask, CT_BACKEND_ABI, sizeof(ct_backend) };

static ct_status unknown_backend(const char *name)
{
    char known[256] = "auto";
    for (size_t i = 0, n = strlen(known); i < NENTRIES && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, ", %s", entries[i].name);
    return ct_fail(CT_EBACKEND, "there is no backend '%s'; the names are %s", name, known);
}

/* Lock held. */
static ct_status load(struct entry *e)
{
    const ct_backend *b = e->built_in;
    if (e->loaded) return CT_OK;
    if (!b) {
        const void *table;
        CT_TRY(ct_plugin_load(&backends, e->name, &table));
        b = table;
    }
    CT_TRY(ct_backend_validate(b));
    if (strcmp(b->name, e->name) != 0)
        return ct_fail(CT_EBACKEND, "backend %s: the plug-in calls itself '%s'", e->name, b->name);
    ct_fail(CT_EBACKEND, "it names none, and no reason");
    if (b->device_count() <= 0) return ct_fail_context(CT_EBACKEND, "backend %s: no device", e->name);
    e->loaded = b;
    return CT_OK;
}

ct_status ct_backend_load(const char *name, const ct_backend **out)
{
    *out = NULL;
    struct entry *e = NULL;
    for (size_t i = 0; i < NENTRIES; i++)
        if (strcmp(entries[i].name, name) == 0) e = &entries[i];
    if (!e) return unknown_backend(name);
    pthread_mutex_lock(&lock);
    const ct_status st = load(e);
    if (st == CT_OK) *out = e->loaded;
    pthread_mutex_unlock(&lock);
    return st;
}

bool ct_backend_is_news(size_t i)
{
    const struct entry *e = &entries[i];
    return !e->sign || ct_path_exists(e->sign) || ct_plugin_there(e->name);
}

ct_status ct_backend_choose(const char *name, const ct_backend **out, char *why, size_t why_size)
{
    if (why && why_size) why[0] = '\0';
    if (name && *name && strcmp(name, "auto") != 0) {
        CT_TRY(ct_backend_load(name, out));
        if (why) snprintf(why, why_size, "%s: asked for", name);
        return CT_OK;
    }
    char refused[1536] = "";
    size_t n = 0;
    for (size_t i = 0; i < NENTRIES; i++) {
        ct_status st = ct_backend_load(entries[i].name, out);
        if (st == CT_OK) {
            if (why)
                snprintf(why, why_size, "%s: taken by auto%s%s", entries[i].name, n ? "; " : "", refused);
            return CT_OK;
        }
        if (st == CT_ENOMEM) return st;
        if (n < sizeof refused && ct_backend_is_news(i))
            n += (size_t)snprintf(refused + n, sizeof refused - n, "%s%s", n ? "; " : "", ct_error_message());
    }
    return ct_fail(CT_EBACKEND, "no backend works here: %s", refused);
}
