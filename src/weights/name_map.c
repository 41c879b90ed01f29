#include "config.h"

#include "weights/name_map.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

enum { MAX_MAP_FILE = 16 << 20 }; /* bytes */

static ct_status add(ct_name_map *m, const char *rule, size_t len, const char *where)
{
    const char *eq = memchr(rule, '=', len);
    if (!eq || len == 1) return ct_fail(CT_ECONFIG, "%s: '%.*s' is not of the form OLD=NEW", where, (int)len, rule);
    CT_TRY(ct_grow(&m->from, m->n, &m->cap_from, sizeof *m->from, "name map"));
    CT_TRY(ct_grow(&m->to, m->n, &m->cap_to, sizeof *m->to, "name map"));
    char *from = ct_asprintf("%.*s", (int)(eq - rule), rule);
    char *to = ct_asprintf("%.*s", (int)(rule + len - eq - 1), eq + 1);
    if (!from || !to) {
        ct_free(from);
        ct_free(to);
        return CT_ENOMEM;
    }
    m->from[m->n] = from;
    m->to[m->n++] = to;
    return CT_OK;
}

ct_status ct_name_map_add(ct_name_map *m, const char *rule, const char *where)
{
    return add(m, rule, strlen(rule), where);
}

ct_status ct_name_map_read(ct_name_map *m, const char *path)
{
    uint8_t *data;
    size_t size, at = 0;
    ct_status st = CT_OK;
    CT_TRY(ct_file_read(path, MAX_MAP_FILE, &data, &size));
    for (int line = 1; at < size && st == CT_OK; line++) {
        const char *text = (const char *)data + at;
        const char *end = memchr(text, '\n', size - at);
        size_t len = end ? (size_t)(end - text) : size - at;
        at += len + 1;
        while (len > 0 && strchr(" \t\r", text[len - 1])) len--;
        while (len > 0 && strchr(" \t", *text)) text++, len--;
        if (len == 0 || *text == '#') continue;
        char *where = ct_asprintf("%s:%d", path, line);
        st = where ? add(m, text, len, where) : CT_ENOMEM;
        ct_free(where);
    }
    ct_free(data);
    return st;
}

static bool fits(const char *from, const char *name)
{
    size_t len = strlen(from);
    if (strncmp(from, name, len) != 0) return false;
    return len == 0 || from[len - 1] == '.' || name[len] == '\0' || name[len] == '.';
}

char *ct_name_map_apply(const ct_name_map *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (fits(m->from[i], name)) return ct_asprintf("%s%s", m->to[i], name + strlen(m->from[i]));
    return ct_strdup(name, "tensor name");
}

void ct_name_map_free(ct_name_map *m)
{
    for (size_t i = 0; i < m->n; i++) {
        ct_free(m->from[i]);
        ct_free(m->to[i]);
    }
    ct_free(m->from);
    ct_free(m->to);
    *m = (ct_name_map){ NULL, NULL, 0, 0, 0 };
}
