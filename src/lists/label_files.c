/* Which files of a folder are label files, by their names. */
#include "config.h"

#include "lists/label_files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"

static const struct { const char *pattern; char kind; } known[] = {
    { "labels.txt", 't' },   { "labels.csv", 'c' },     { "labels.tsv", 'v' },       { "gt.txt", 'g' },
    { "metadata.csv", 'h' }, { "metadata.jsonl", 'j' }, { "rec_gt*.txt", 'p' },      { "annotation.txt", 'm' },
    { "annotation_train.txt", 'm' }, { "annotation_val.txt", 'm' }, { "annotation_test.txt", 'm' },
    { "imlist.txt", 'm' },
};

char ct_label_kind(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fnmatch(known[i].pattern, name, 0) == 0) return known[i].kind;
    return 0;
}

/* MJSynth has names that others have, too, so the first line decides. */
static bool is_mjsynth(const char *path)
{
    char line[4096];
    FILE *f = fopen(path, "re");
    const bool is = f && fgets(line, sizeof line, f) && ct_label_lines_mjsynth(line);
    if (f) fclose(f);
    return is;
}

char ct_label_kind_given(const char *path)
{
    static const struct { const char *ext; char kind; } by[] = { { "csv", 'c' }, { "tsv", 'v' }, { "jsonl", 'j' } };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    const char kind = ct_label_kind(name);
    if (kind && kind != 'm') return kind;
    for (size_t i = 0; dot && i < sizeof by / sizeof *by; i++)
        if (strcasecmp(dot + 1, by[i].ext) == 0) return by[i].kind;
    return is_mjsynth(path) ? 'm' : 'g';
}

ct_status ct_label_file_there(const char *dir, const char *name, bool *there)
{
    struct stat info;
    ct_status st = CT_OK;
    char *path = ct_path_join(dir, name);
    *there = false;
    if (!path) return CT_ENOMEM;
    if (lstat(path, &info) == 0) {
        *there = true;
        if (stat(path, &info) != 0) st = ct_fail(CT_EIO, "%s: cannot be read: %s", path, strerror(errno));
        else if (!S_ISREG(info.st_mode))
            st = ct_fail(CT_EIO, "%s: is a label file by its name, but not a regular file", path);
    }
    ct_free(path);
    return st;
}

/* Takes `name` for the folder's label file, if it is one. */
static ct_status consider(const char *dir, const char *name, char **path, char *kind)
{
    bool there;
    const char k = ct_label_kind(name);
    if (!k) return CT_OK;
    CT_TRY(ct_label_file_there(dir, name, &there));
    char *own = ct_path_join(dir, name);
    if (!own) return CT_ENOMEM;
    if (!there || (k == 'm' && !is_mjsynth(own))) {
        ct_free(own);
        return CT_OK;
    }
    if (*path) {
        /* named in one order, whatever the order of the folder */
        const bool behind = strcmp(*path, own) < 0;
        ct_status st = ct_fail(CT_EFORMAT, "%s: there is %s, too; only one label file may be there unless data.labels "
                               "says which is meant", behind ? *path : own, strrchr(behind ? own : *path, '/') + 1);
        ct_free(own);
        return st;
    }
    *path = own;
    *kind = k;
    return CT_OK;
}

ct_status ct_label_file_find(const char *dir, char **path, char *kind)
{
    ct_status st = CT_OK;
    *path = NULL;
    *kind = 0;
    DIR *d = opendir(dir);
    if (!d) return CT_OK; /* whoever looks for pictures there says so */
    for (struct dirent *e; st == CT_OK && (e = readdir(d));) st = consider(dir, e->d_name, path, kind);
    closedir(d);
    if (st != CT_OK) {
        ct_free(*path);
        *path = NULL;
    }
    return st;
}
