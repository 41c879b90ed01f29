/* Labels that are not read: lists of other trainers whose names nobody knows, or that lie where they are not looked
 * for, in the folder of the pictures or the one above it, and files such as a.txt beside a.png. A folder that has them
 * would be trained on the names of its files. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "data/scan.h"

enum { LOOK_BYTES = 1 << 16, WORD_BYTES = 256, LOOK_SAMPLES = 16 };

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

/* Does the word name a sample, by itself or behind folders? `above`: NULL, or the name of the samples' folder for a
 * list that lies above it; the word is then behind that folder's name, or alone where the folder is called images. */
static bool is_sample(const ct_scan *s, const char *above, char *word)
{
    char *slash = strrchr(word, '/');
    if (!bsearch(slash ? slash + 1 : word, s->s, s->n, sizeof *s->s, by_name)) return false;
    if (!above) return true;
    if (!slash) return strcmp(above, "images") == 0;
    *slash = '\0';
    const char *folder = strrchr(word, '/');
    return strcmp(folder ? folder + 1 : word, above) == 0;
}

/* Does a word of the line name a sample? Words end at blanks, commas, quotes and the like, so that "dir/a.png": in JSON
 * is one. A name that has such characters itself is not found. */
static bool names_sample(const ct_scan *s, const char *above, const char *line, size_t n)
{
    static const char ends[] = " \t\r,;:|\"'<>{}[]()=";
    for (size_t at = 0; at < n;) {
        char word[WORD_BYTES];
        size_t len = 0;
        while (at + len < n && !memchr(ends, line[at + len], sizeof ends - 1)) len++;
        if (len > 0 && len < sizeof word) {
            memcpy(word, line + at, len);
            word[len] = '\0';
            if (is_sample(s, above, word)) return true;
        }
        at += len + 1;
    }
    return false;
}

/* The first bytes of a regular file, at most LOOK_BYTES; -1: there is none. */
static ssize_t look(int dir, const char *name, char *buf)
{
    struct stat info;
    const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return -1;
    const ssize_t size = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? read(fd, buf, LOOK_BYTES) : -1;
    close(fd);
    return size;
}

/* Is at least every second line about a picture of the folder? Notes that mention one are no list. */
static bool is_list(const ct_scan *s, const char *above, int dir, const char *name, char *buf)
{
    const ssize_t size = look(dir, name, buf);
    size_t lines = 0, about = 0, n = size > 0 ? (size_t)size : 0;
    for (size_t at = 0; at < n;) {
        const char *nl = memchr(buf + at, '\n', n - at);
        const size_t len = nl ? (size_t)(nl - (buf + at)) : n - at;
        lines += len > 2; /* not empty, no bracket alone */
        about += names_sample(s, above, buf + at, len);
        at += len + 1;
    }
    return about > 0 && 2 * about >= lines;
}

/* A database whose name is not the one that is looked for. */
static bool is_database(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".mdb") == 0 || strcasecmp(dot, ".lmdb") == 0) && strcmp(name, "lock.mdb") != 0;
}

/* Lists in folder `dir`, which is closed. */
static ct_status look_for_lists(const ct_scan *s, const char *above, const char *path, int dir, char *buf)
{
    ct_status st = CT_OK;
    DIR *d = dir < 0 ? NULL : fdopendir(dir);
    if (!d && dir >= 0) close(dir);
    for (struct dirent *e; d && st == CT_OK && (e = readdir(d));) {
        if (!above && e->d_name[0] != '.' && is_database(e->d_name))
            st = ct_fail(CT_EFORMAT,
                         "%s/%s: a database beside pictures that is not read: labels would come from the files' "
                         "names; as data.mdb in a folder of its own it can be data.train, or move it away", path,
                         e->d_name);
        if (st != CT_OK || e->d_name[0] == '.' || !text_extension(e->d_name)) continue;
        if (!is_list(s, above, dirfd(d), e->d_name, buf)) continue;
        st = ct_fail(CT_EFORMAT,
                     "%s/%s: a list of pictures that is not read: labels would come from the files' names; "
                     "name it with data.labels (check and init: --labels), or move it away if the names are the labels",
                     path, e->d_name);
    }
    if (d) closedir(d);
    return st;
}

/* Does a.txt beside a.png say something else than the picture's name? */
static bool says_more(const ct_sample *sample, int dir, char *buf, char name[WORD_BYTES])
{
    const char *dot = strrchr(sample->name, '.');
    const size_t stem = dot ? (size_t)(dot - sample->name) : strlen(sample->name);
    if (stem + sizeof ".txt" > WORD_BYTES) return false;
    memcpy(name, sample->name, stem);
    memcpy(name + stem, ".txt", sizeof ".txt");
    ssize_t n = look(dir, name, buf);
    while (n > 0 && strchr(" \t\r\n", buf[n - 1])) n--;
    return n > 0 && n < LOOK_BYTES &&
           !(sample->text && strlen(sample->text) == (size_t)n && memcmp(sample->text, buf, (size_t)n) == 0);
}

/* A file for each picture: some of them are looked at. */
static ct_status look_beside(const ct_scan *s, int dir, char *buf)
{
    const size_t looks = s->n < LOOK_SAMPLES ? s->n : LOOK_SAMPLES;
    char name[WORD_BYTES], first[WORD_BYTES] = "";
    size_t found = 0;
    for (size_t k = 0; k < looks; k++)
        if (says_more(&s->s[k * s->n / looks], dir, buf, name) && found++ == 0) memcpy(first, name, sizeof first);
    if (2 * found < looks) return CT_OK;
    return ct_fail(CT_EFORMAT,
                   "%s/%s: a text beside its picture that is not read, as of other pictures, too: labels would come "
                   "from the files' names; write `name,label` lines to labels.csv, or move the texts away if the "
                   "names are the labels", s->dir, first);
}

ct_status ct_scan_other_lists(const ct_scan *s)
{
    char whole[PATH_MAX], up[PATH_MAX];
    if (s->n == 0) return CT_OK;
    char *buf = ct_malloc(LOOK_BYTES, "a list beside pictures");
    const char *own = realpath(s->dir, whole) ? strrchr(whole, '/') + 1 : "";
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC, dir = open(s->dir, flags);
    ct_status st = buf ? CT_OK : CT_ENOMEM;
    if (st == CT_OK) st = look_beside(s, dir, buf);
    if (st == CT_OK && *own && snprintf(up, sizeof up, "%s/..", s->dir) < (int)sizeof up)
        st = look_for_lists(s, own, up, openat(dir, "..", flags), buf);
    if (st == CT_OK) st = look_for_lists(s, NULL, s->dir, openat(dir, ".", flags), buf);
    if (dir >= 0) close(dir);
    ct_free(buf);
    return st;
}
