/* Paths are bytes, a configuration is text: a path that is no UTF-8, or has control characters, is written as "bytes:"
 * and its bytes, of which those that cannot stand there as they are, and '%', are %XX. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "config/internal.h"

static const char mark[] = "bytes:";

static bool is_marked(const char *path) { return strncmp(path, mark, sizeof mark - 1) == 0; }

static bool is_text(const char *path)
{
    for (const char *s = path; *s;) {
        const int32_t cp = ct_utf8_next(&s);
        if (cp < 0 || ct_utf8_control((uint32_t)cp)) return false;
    }
    return true;
}

char *ct_config_path_text(const char *path)
{
    if (is_text(path) && !is_marked(path)) return ct_strdup(path, "a path");
    char *text = ct_malloc(sizeof mark + 3 * strlen(path), "a path");
    if (!text) return NULL;
    size_t n = sizeof mark - 1;
    memcpy(text, mark, sizeof mark);
    for (; *path; path++) {
        const unsigned char c = (unsigned char)*path;
        if (c > 0x20 && c < 0x7f && c != '%') text[n++] = (char)c;
        else n += (size_t)sprintf(text + n, "%%%02X", c);
    }
    text[n] = '\0';
    return text;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

ct_status ct_config_path_bytes(const char *text, char **path, char *err, size_t err_size)
{
    char *to = *path = ct_strdup(text, "a path");
    if (!to) return CT_ENOMEM;
    if (!is_marked(text)) return CT_OK;
    for (const char *s = text + sizeof mark - 1; *s; s++) {
        if (*s != '%') {
            *to++ = *s;
            continue;
        }
        const int hi = digit(s[1]), lo = hi < 0 ? -1 : digit(s[2]);
        if (lo < 0 || hi * 16 + lo == 0) {
            snprintf(err, err_size,
                     "'%%' in a path that begins with 'bytes:' stands before two hexadecimal digits, not 00");
            ct_free(*path);
            *path = NULL;
            return CT_ECONFIG;
        }
        *to++ = (char)(hi * 16 + lo);
        s += 2;
    }
    *to = '\0';
    return CT_OK;
}
