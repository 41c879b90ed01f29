#include "config.h"

#include "api/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"
#include "image/image.h"

enum {
    PIECE = 1 << 16,    /* bytes that are read at a time */
    LINE_MAX_BYTES = 1 << 16,
    HEAD = 16           /* bytes that tell a picture from names */
};

/* ---- standard input ---- */

/* Reads on, at least one byte unless it ends. */
static ct_status read_on(ct_inputs *in)
{
    if (in->from > 0) memmove(in->line, in->line + in->from, in->bytes);
    in->from = 0;
    if (in->cap - in->bytes < PIECE) {
        const size_t cap = in->cap > 0 ? 2 * in->cap : 2 * (size_t)PIECE;
        char *line = ct_realloc(in->line, cap, 1, "standard input");
        if (!line) return CT_ENOMEM;
        in->line = line;
        in->cap = cap;
    }
    ssize_t got;
    do got = read(STDIN_FILENO, in->line + in->bytes, PIECE);
    while (got < 0 && errno == EINTR);
    if (got < 0) return ct_fail(CT_EIO, "standard input cannot be read: %s", strerror(errno));
    in->ended = got == 0;
    in->bytes += (size_t)got;
    return CT_OK;
}

/* Would reading not wait? */
static bool is_ready(void)
{
    struct pollfd p = { STDIN_FILENO, POLLIN, 0 };
    return poll(&p, 1, 0) > 0;
}

/* Pictures begin with bytes that are in no list of names: a zero, or what is no letter of any. */
static bool is_picture(const ct_inputs *in)
{
    const uint8_t *b = (const uint8_t *)in->line;
    const size_t n = in->bytes < HEAD ? in->bytes : HEAD;
    const char *format;
    if (n == 0) return false;
    const bool picture = ct_image_sniff(b, in->bytes, &format);
    return (picture || format) && (b[0] >= 0x80 || memchr(b, 0, n));
}

static ct_status take_picture(ct_inputs *in, char **path)
{
    while (!in->ended && in->bytes <= CT_IMAGE_MAX_FILE) CT_TRY(read_on(in));
    if (in->bytes > CT_IMAGE_MAX_FILE)
        return ct_fail(CT_EFORMAT, "the picture on standard input has more than %" PRId64 " bytes",
                       (int64_t)CT_IMAGE_MAX_FILE);
    if (!(*path = ct_strdup("-", "file to read"))) return CT_ENOMEM;
    in->picture = (uint8_t *)in->line;
    in->picture_bytes = in->bytes;
    in->line = NULL;
    in->bytes = in->cap = 0;
    return CT_OK;
}

static ct_status copy_name(ct_inputs *in, const char *name, size_t n, char **path)
{
    if (memchr(name, 0, n))
        return ct_fail(CT_EINVAL, "standard input:%" PRId64 ": has a zero byte: names of pictures are read, one a line "
                       "(find -print, not -print0)", in->lines);
    if (!(*path = ct_malloc(n + 1, "file to read"))) return CT_ENOMEM;
    memcpy(*path, name, n);
    (*path)[n] = '\0';
    return CT_OK;
}

/* The next line that is not empty: *path NULL where none is to be had now (wait: at all). */
static ct_status take_line(ct_inputs *in, bool wait, char **path)
{
    for (;;) {
        const char *line = in->bytes > 0 ? in->line + in->from : NULL;
        const char *end = line ? memchr(line, '\n', in->bytes) : NULL;
        if (!end && !in->ended) {
            if (in->bytes > LINE_MAX_BYTES)
                return ct_fail(CT_EINVAL, "standard input:%" PRId64 ": more than %d bytes without an end of line: one "
                               "name of a picture a line is read", in->lines + 1, LINE_MAX_BYTES);
            if (!wait && !is_ready()) return CT_OK;
            CT_TRY(read_on(in));
            continue;
        }
        if (!line) return CT_OK;
        const size_t n = end ? (size_t)(end - line) : in->bytes;
        in->from += end ? n + 1 : n;
        in->bytes -= end ? n + 1 : n;
        in->lines++;
        if (n > 0) return copy_name(in, line, n, path);
    }
}

/* ---- everything ---- */

static void drop_names(ct_inputs *in)
{
    while (in->next < in->names) ct_free(in->name[in->next++]);
    ct_free(in->name);
    in->name = NULL;
    in->names = in->next = 0;
}

/* The next one that can be had. wait: also if it has to be waited for. *path NULL: none; *alone: nothing may stand
 * beside it. */
static ct_status take(ct_inputs *in, bool wait, char **path, bool *alone)
{
    *path = NULL;
    for (;;) {
        if (in->next < in->names) {
            *path = in->name[in->next++];
            return CT_OK;
        }
        drop_names(in);
        if (in->listing) {
            CT_TRY(take_line(in, wait, path));
            if (*path || !in->ended || in->bytes > 0) return CT_OK;
            in->listing = false;
        }
        if (in->at == in->files) return CT_OK;
        const char *file = in->file[in->at];
        if (strcmp(file, "-") == 0) {
            if (!wait) return CT_OK; /* a picture comes alone, a list may have to be waited for */
            in->at++;
            while (!in->ended && in->bytes < HEAD && !(in->bytes > 0 && memchr(in->line, '\n', in->bytes)))
                CT_TRY(read_on(in));
            if (is_picture(in)) return *alone = true, take_picture(in, path);
            in->listing = true;
            continue;
        }
        in->at++;
        if (in->clips || !ct_path_is_dir(file))
            return (*path = ct_strdup(file, "file to read")) ? CT_OK : CT_ENOMEM;
        CT_TRY(ct_scan_pictures(file, &in->name, &in->names));
    }
}

ct_status ct_inputs_take(ct_inputs *in, size_t most, char **path, size_t *n)
{
    bool alone = false;
    ct_free(in->picture);
    in->picture = NULL;
    for (*n = 0; *n < most && !alone;) {
        char *next;
        CT_TRY(take(in, *n == 0, &next, &alone));
        if (!next) break;
        path[(*n)++] = next;
    }
    return CT_OK;
}

void ct_inputs_free(ct_inputs *in)
{
    drop_names(in);
    ct_free(in->line);
    ct_free(in->picture);
    in->line = NULL;
    in->picture = NULL;
}
