/* Lists of labels that are not read: ICDAR's gt.txt, metadata.csv and metadata.jsonl, the lists of other trainers. A
 * folder that has one would be trained on the names of its files. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "data/scan.h"

enum { LOOK_BYTES = 1 << 16, WORD_BYTES = 256 };

static bool text_extension(const char *name)
{
    static const char *const ext[] = { "txt", "csv", "tsv", "json", "jsonl", "lst", "list", "tab", "xml" };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof ext / sizeof *ext; i++)
        if (strcasecmp(dot + 1, ext[i]) == 0) return true;
    return false;
}

static int by_name(const void *key, const void *member)
{
    return strcmp(key, ((const ct_sample *)member)->name);
}

/* Does a word of the line name a sample, by itself or behind folders? Words end at blanks, commas, quotes and the
 * like, so that "dir/a.png": in JSON is one. A name that has such characters itself is not found. */
static bool names_sample(const ct_scan *s, const char *line, size_t n)
{
    static const char ends[] = " \t\r,;:|\"'<>{}[]()=";
    for (size_t at = 0; at < n;) {
        char word[WORD_BYTES];
        size_t len = 0;
        while (at + len < n && !memchr(ends, line[at + len], sizeof ends - 1)) len++;
        if (len > 0 && len < sizeof word) {
            memcpy(word, line + at, len);
            word[len] = '\0';
            const char *slash = strrchr(word, '/');
            if (bsearch(slash ? slash + 1 : word, s->s, s->n, sizeof *s->s, by_name)) return true;
        }
        at += len + 1;
    }
    return false;
}

/* Is at least every second line about a picture of the folder? Notes that mention one are no list. */
static bool is_list(const ct_scan *s, int dir, const char *name, char *buf)
{
    struct stat info;
    const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const ssize_t size = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? read(fd, buf, LOOK_BYTES) : -1;
    close(fd);
    size_t lines = 0, about = 0, n = size > 0 ? (size_t)size : 0;
    for (size_t at = 0; at < n;) {
        const char *nl = memchr(buf + at, '\n', n - at);
        const size_t len = nl ? (size_t)(nl - (buf + at)) : n - at;
        lines += len > 2; /* not empty, no bracket alone */
        about += names_sample(s, buf + at, len);
        at += len + 1;
    }
    return about > 0 && 2 * about >= lines;
}

ct_status ct_scan_other_lists(const ct_scan *s)
{
    ct_status st = CT_OK;
    if (s->n == 0) return CT_OK;
    char *buf = ct_malloc(LOOK_BYTES, "a list beside pictures");
    DIR *d = buf ? opendir(s->dir) : NULL;
    for (struct dirent *e; d && st == CT_OK && (e = readdir(d));) {
        if (e->d_name[0] == '.' || !text_extension(e->d_name) || !is_list(s, dirfd(d), e->d_name, buf)) continue;
        st = ct_fail(CT_EFORMAT,
                     "%s/%s: a list of pictures that is not read: labels would come from the files' names; write "
                     "`name,label` lines to labels.csv, or move the list away if the names are the labels", s->dir,
                     e->d_name);
    }
    if (d) closedir(d);
    ct_free(buf);
    return buf ? st : CT_ENOMEM;
}
