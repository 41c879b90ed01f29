/* Folders, data sets and their cache. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/lock.h"
#include "base/log.h"
#include "data/pack.h"
#include "tests/ct_check.h"
#include "tests/data/data_util.h"
#include "tests/task/text/text_folder.h"

/* ---- folders ---- */

START_TEST(scan_names)
{
    ct_label_rule rule = CT_LABEL_RULE_DEFAULT;
    ct_scan s;
    ct_util_picture(dir, "B_2.png", 8, 8, 1);
    ct_util_picture(dir, "A_1.PNG", 8, 8, 2);
    ct_util_picture(dir, "\xc3\xa9\xe6\xbc\xa2_9.png", 8, 8, 3);
    ct_util_picture(dir, "C_without_extension", 8, 8, 3); /* found by its contents */
    ct_util_text(dir, "README.txt", "hello");
    ct_util_text(dir, ".hidden.png", "x");
    ct_util_text(dir, "Z_1.gif", "GIF89a");               /* a picture that is not read: never passed over silently */
    mkdir(ct_util_path(dir, "sub.png"), 0777);
    mkfifo(ct_util_path(dir, "P_1.png"), 0777);           /* must not be opened */
    ck_assert_int_eq(scan_text(dir, &rule, &s), CT_OK);
    ck_assert_uint_eq(s.n, 6);
    static const char *const want[][2] = { { "A_1.PNG", "A" }, { "B_2.png", "B" }, { "C_without_extension", "C" },
                                           { "P_1.png", "P" }, { "Z_1.gif", "Z" },
                                           { "\xc3\xa9\xe6\xbc\xa2_9.png", "\xc3\xa9\xe6\xbc\xa2" } };
    for (size_t i = 0; i < 6; i++) {
        ck_assert_str_eq(s.s[i].name, want[i][0]);
        ck_assert_str_eq(s.s[i].text, want[i][1]);
        ck_assert_int_eq(s.s[i].bad != NULL, i == 3);
    }
    ck_assert_int_eq(s.ignored, 1);
    ck_assert_int_eq(s.folders, 1);
    ct_scan_free(&s);
}
END_TEST

START_TEST(scan_table)
{
    ct_label_rule rule = { "_", CT_LABEL_BEFORE_FIRST, CT_CASE_UPPER, false };
    ct_scan s;
    mkdir(ct_util_path(dir, "images"), 0777);
    const char *images = ct_util_path(dir, "images");
    ct_util_picture(images, "1.png", 8, 8, 1);
    ct_util_picture(images, "2.png", 8, 8, 2);
    ct_util_picture(images, "3.png", 8, 8, 3);
    ct_util_picture(images, "unlisted.png", 8, 8, 3);
    ct_util_text(dir, "labels.csv",
                 "file,label\n2.png,ab\n./images/1.png,cd\ngone.png,x\n../e.png,y\n3.png\n2.png,zz\n");
    ck_assert_msg(scan_text(dir, &rule, &s) == CT_OK, "%s", ct_error_message());
    static const char *const want[][3] = {
        { "../e.png", NULL, "the name leads out of the folder (data.root says where pictures are)" }, { "1.png", "CD", NULL }, { "2.png", "AB", NULL },
        { "2.png", "ZZ", "listed again in line 7 (first in line 2)" }, { "3.png", NULL, "line 6 of the label file has no label" },
        { "gone.png", "X", "named in line 4 of the label file, but there is no such file" },
        { "unlisted.png", NULL, "not in the label file" },
    };
    ck_assert_uint_eq(s.n, 7);
    for (size_t i = 0; i < 7; i++) {
        ck_assert_str_eq(s.s[i].name, want[i][0]);
        if (want[i][1]) ck_assert_str_eq(s.s[i].text, want[i][1]);
        if (want[i][2]) ck_assert_str_eq(s.s[i].bad, want[i][2]);
        else ck_assert_ptr_null(s.s[i].bad);
    }
    ct_scan_free(&s);
    ct_util_text(dir, "labels.txt", "x y\n");
    ck_assert_int_eq(scan_text(dir, &rule, &s), CT_EFORMAT);
    ck_message("only one label file");
}
END_TEST

START_TEST(scan_errors)
{
    ct_label_rule rule = CT_LABEL_RULE_DEFAULT;
    ct_scan s;
    ck_assert_int_eq(scan_text(ct_util_path(dir, "none"), &rule, &s), CT_EIO);
    ck_message("none: cannot open the folder: No such file");
    ct_util_text(dir, "file", "x");
    ck_assert_int_eq(scan_text(ct_util_path(dir, "file"), &rule, &s), CT_EFORMAT);
    ck_message("file:1: there is no picture 'x' in ");
    mkdir(ct_util_path(dir, "sub"), 0777);
    ck_assert_int_eq(scan_text(dir, &rule, &s), CT_EDATA);
    ck_message("no PNG, JPEG, BMP or WebP pictures in this folder (1 other files, 1 sub-folders");
    ck_assert_int_eq(scan_text("", &rule, &s), CT_EINVAL);
}
END_TEST

START_TEST(scan_pictures)
{
    char **path;
    size_t n;
    ct_util_text(dir, "notes.md", "x");
    mkdir(ct_util_path(dir, "sub"), 0777);
    ck_assert_int_eq(ct_scan_pictures(dir, &path, &n), CT_EDATA);
    ck_message("1 sub-folders; sub-folders are not searched: a label stands in a picture's name");
    ck_assert_ptr_null(path);
    ct_util_text(dir, "b.png", "x"); /* what cannot be read is found out by who reads it */
    ct_util_text(dir, "a_1.JPG", "x");
    ck_assert_msg(ct_scan_pictures(dir, &path, &n) == CT_OK, "%s", ct_error_message());
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(path[0], ct_util_path(dir, "a_1.JPG"));
    ck_assert_str_eq(path[1], ct_util_path(dir, "b.png"));
    for (size_t i = 0; i < n; i++) ct_free(path[i]);
    ct_free(path);
    ck_assert_int_eq(ct_scan_pictures(ct_util_path(dir, "none"), &path, &n), CT_EIO);
}
END_TEST

/* Root reads everything, so the child gives its rights up first. Status 0: as it should be, or not possible here (no
 * right to change the user, a temporary folder that only root can reach). */
static int as_nobody(void (*what)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
        if (access(dir, X_OK) != 0) _exit(77);
        what();
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        fprintf(stderr, "not tested here: what another user may not read\n");
        return 0;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static void open_locked(void)
{
    ct_dataset_spec spec;
    ct_dataset *ds;
    ct_dataset_spec_init(&spec);
    spec.cache = false;
    spec.path = ct_util_path(dir, "locked");
    if (open_text(&spec, &rules, 1, &ds) != CT_EIO) _exit(1);
    if (!strstr(ct_error_message(), "locked: cannot open the folder: Permission denied")) _exit(4);
    spec.path = ct_util_path(dir, "half");
    if (open_text(&spec, &rules, 1, &ds) != CT_EDATA || !strstr(ct_error_message(), "A_1.png: ") ||
        !strstr(ct_error_message(), "Permission denied")) _exit(2);
    spec.max_bad = 1;
    if (open_text(&spec, &rules, 1, &ds) != CT_OK || ct_dataset_size(ds) != 1) _exit(3);
    ct_dataset_close(ds);
}

START_TEST(no_permission)
{
    const char *half = ct_util_path(dir, "half");
    mkdir(ct_util_path(dir, "locked"), 0700);
    ct_util_picture(ct_util_path(dir, "locked"), "A_1.png", 8, 8, 1);
    chmod(ct_util_path(dir, "locked"), 0);
    mkdir(half, 0755);
    ct_util_picture(half, "A_1.png", 8, 8, 1);
    ct_util_picture(half, "B_1.png", 8, 8, 2);
    chmod(ct_util_path(half, "A_1.png"), 0);
    chmod(dir, 0755);
    ck_assert_int_eq(as_nobody(open_locked), 0);
    chmod(ct_util_path(dir, "locked"), 0700);
}
END_TEST

/* ---- data sets ---- */

static ct_dataset_spec spec_for(const char *path)
{
    ct_dataset_spec s;
    ct_dataset_spec_init(&s);
    s.path = path;
    return s;
}

START_TEST(open_and_cache)
{
    for (unsigned i = 0; i < 20; i++) {
        char name[32];
        sprintf(name, "%c%c_%02u.png", "ABCDE"[i % 5], "XYZ"[i % 3], i);
        ct_util_picture(dir, name, i % 4 ? 20 : 30, 10, i);
    }
    ct_dataset_spec s = spec_for(dir);
    s.height = 10;
    s.width = 20;
    ct_dataset *a = must_open(&s, 1), *b = must_open(&s, 4);
    ck_assert(!ct_dataset_was_cached(a) && ct_dataset_was_cached(b));
    ck_assert_int_eq(ct_dataset_size(a), 20);
    ck_assert_int_eq(ct_text_columns(a), 2);
    ck_assert_str_eq(ct_text_charset(a)->utf8, "ABCDEXYZ");
    ck_assert(ct_dataset_contiguous(a));
    ck_assert_str_eq(ct_dataset_key(a), ct_dataset_key(b));
    s.cache = false;
    ct_dataset *c = must_open(&s, 3);
    ck_assert(!ct_dataset_was_cached(c));
    for (int64_t i = 0; i < 20; i++) {
        ct_image im, fit;
        ct_image_opts o = { .channels = 1, .background = { 255, 255, 255 } };
        ck_assert_int_eq(ct_image_read_file(ct_util_path(dir, ct_dataset_name(a, i)), &o, &im), CT_OK);
        ck_assert_int_eq(ct_image_resize_bilinear(&im, 20, 10, &fit), CT_OK);
        ck_assert_mem_eq(ct_dataset_pixels(a, i), fit.px, 200);
        ck_assert_mem_eq(ct_dataset_pixels(b, i), fit.px, 200);
        ck_assert_mem_eq(ct_dataset_pixels(c, i), fit.px, 200);
        char text[8];
        ck_assert_str_eq(ct_charset_decode(ct_text_charset(b), ct_text_ids(b, i), 2, text, 8),
                         ct_dataset_label_text(b, i));
        ck_assert_int_eq(strncmp(ct_dataset_name(b, i), text, 2), 0);
        ct_image_free(&im);
        ct_image_free(&fit);
    }
    ct_dataset_close(a);
    ct_dataset_close(b);
    ct_dataset_close(c);
    /* Another geometry or rule is another cache. */
    s.cache = true;
    s.channels = 3;
    a = must_open(&s, 1);
    ck_assert(!ct_dataset_was_cached(a) && ct_dataset_channels(a) == 3);
    ct_dataset_close(a);
    /* A changed file is never served from the old cache, even with its old size and time. */
    s.channels = 1;
    static const char *const tails[] = { "a", "b", "a" }; /* behind the picture's end, where it is no damage */
    for (int i = 0; i < 3; i++) {
        struct timespec times[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
        ct_util_picture(dir, "AX_00.png", 30, 10, 0);
        FILE *f = fopen(ct_util_path(dir, "AX_00.png"), "ab");
        fputs(tails[i], f);
        fclose(f);
        utimensat(AT_FDCWD, ct_util_path(dir, "AX_00.png"), times, 0);
        a = must_open(&s, 1);
        ck_assert_int_eq(ct_dataset_was_cached(a), i == 2);
        ct_dataset_close(a);
    }
}
END_TEST

/* Files instead of pixels: the same pixels, decoded when they are asked for; a cache of its own. */
START_TEST(packed_files)
{
    for (unsigned i = 0; i < 20; i++) {
        char name[32];
        sprintf(name, "%c%c_%02u.png", "ABCDE"[i % 5], "XYZ"[i % 3], i);
        ct_util_picture(dir, name, i % 4 ? 20 : 30, 10, i);
    }
    ct_dataset_spec s = spec_for(dir);
    s.height = 10;
    s.width = 20;
    s.keep = CT_KEEP_FILES;
    ct_dataset *a = must_open(&s, 4), *b = must_open(&s, 1);
    s.keep = CT_KEEP_AUTO; /* few: pixels */
    ct_dataset *c = must_open(&s, 1);
    ck_assert(!ct_dataset_was_cached(a) && ct_dataset_was_cached(b) && !ct_dataset_was_cached(c));
    ck_assert(ct_dataset_packs_files(a) && ct_dataset_packs_files(b) && !ct_dataset_packs_files(c));
    ck_assert_str_eq(ct_dataset_key(a), ct_dataset_key(c));
    ck_assert(!ct_dataset_contiguous(a) && !ct_dataset_pixels(a, 0));
    for (int64_t i = 0; i < 20; i++) {
        uint8_t px[2][200];
        ct_image im;
        char digest[2][33];
        ck_assert_int_eq(ct_dataset_read(a, i, 0, px[0]), CT_OK);
        ck_assert_int_eq(ct_dataset_read(b, i, 0, px[1]), CT_OK);
        ck_assert_mem_eq(px[0], ct_dataset_pixels(c, i), 200);
        ck_assert_mem_eq(px[1], ct_dataset_pixels(c, i), 200);
        ck_assert_int_eq(ct_dataset_picture(a, i, &im), CT_OK);
        ck_assert_mem_eq(im.px, ct_dataset_pixels(c, i), 200);
        ct_image_free(&im);
        ct_dataset_digest(a, i, digest[0]);
        ct_dataset_digest(b, i, digest[1]);
        ck_assert_str_eq(digest[0], digest[1]);
    }
    ct_dataset_close(a);
    ct_dataset_close(b);
    ct_dataset_close(c);
}
END_TEST

/* The one file of the cache; "" if there is none. */
static const char *cache_file(void)
{
    static char path[8192];
    path[0] = '\0';
    DIR *d = opendir(ct_util_path(cache, "data"));
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] != '.') snprintf(path, sizeof path, "%s/data/%s", cache, e->d_name);
    }
    if (d) closedir(d);
    return path;
}

static int warnings;

static void count_warning(void *user)
{
    (void)user;
    warnings++;
}

START_TEST(cache_damage)
{
    for (unsigned i = 0; i < 6; i++) {
        char name[32];
        sprintf(name, "A_%u.png", i);
        ct_util_picture(dir, name, 16, 8, i);
    }
    ct_dataset_spec s = spec_for(dir);
    ct_dataset *ds = must_open(&s, 1);
    uint8_t good[6 * 128];
    memcpy(good, ct_dataset_pixels(ds, 0), sizeof good);
    ct_dataset_close(ds);
    char path[8192];
    strcpy(path, cache_file());
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    ct_log_set_level(CT_LOG_WARN);
    ct_log_set_hooks(count_warning, NULL, NULL);
    for (int i = 0; i < 9; i++) {
        off_t at[] = { 0, 10, 40, 100, 190, 4096, 4096 + 6 * 128 - 1, info.st_size - 1 };
        if (i == 8) {
            ck_assert_int_eq(truncate(path, info.st_size - 3), 0);
        } else {
            FILE *f = fopen(path, "r+b");
            fseek(f, at[i], SEEK_SET);
            int c = fgetc(f);
            fseek(f, at[i], SEEK_SET);
            fputc(c ^ 0x55, f);
            fclose(f);
        }
        warnings = 0;
        ds = must_open(&s, 2);
        ck_assert_msg(!ct_dataset_was_cached(ds), "damage %d was not noticed", i);
        ck_assert_int_eq(warnings, 1);
        ck_assert_mem_eq(ct_dataset_pixels(ds, 0), good, sizeof good);
        ct_dataset_close(ds);
        ds = must_open(&s, 2); /* and the file is whole again */
        ck_assert(ct_dataset_was_cached(ds));
        ct_dataset_close(ds);
    }
    ct_log_set_hooks(NULL, NULL, NULL);
}
END_TEST

static void open_read_only(void)
{
    ct_dataset_spec s = spec_for(dir);
    ct_dataset *ds;
    if (open_text(&s, &rules, 1, &ds) != CT_OK) _exit(1);
    if (ct_dataset_was_cached(ds) || ct_dataset_size(ds) != 2) _exit(2);
    ct_dataset_close(ds);
    ds = NULL;
}

static void open_full_disk(void)
{
    struct rlimit limit = { 1000, 1000 };
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(77);
    open_read_only();
}

START_TEST(cache_not_writable)
{
    ct_util_picture(dir, "A_1.png", 16, 8, 1);
    ct_util_picture(dir, "B_1.png", 16, 8, 2);
    chmod(dir, 0755);
    chmod(cache, 0555);
    ck_assert_int_eq(as_nobody(open_read_only), 0);
    chmod(cache, 0777);
    ck_assert_int_eq(as_nobody(open_full_disk), 0);
    /* Nothing half-written may stay. */
    ck_assert_str_eq(cache_file(), "");
    unsetenv("CAPTRAIN_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    ck_assert_int_eq(as_nobody(open_read_only), 0);
    setenv("HOME", cache, 1);
    ct_dataset_spec s = spec_for(dir);
    ct_dataset_close(must_open(&s, 1));
    ck_assert_int_eq(access(ct_util_path(cache, ".cache/captrain/data"), F_OK), 0);
    setenv("XDG_CACHE_HOME", ct_util_path(cache, "xdg"), 1);
    ct_dataset_close(must_open(&s, 1));
    ck_assert_int_eq(access(ct_util_path(cache, "xdg/captrain/data"), F_OK), 0);
}
END_TEST

/* A pack that was not used for a day makes room for a new one; reading it is using it. */
START_TEST(cache_is_bounded)
{
    enum { LONG = 30 * 60 * 60 };
    char first[8192];
    setenv("CAPTRAIN_CACHE_GB", "1e-9", 1);
    ct_util_picture(dir, "A_1.png", 16, 8, 1);
    ct_dataset_spec s = spec_for(dir);
    ct_dataset_close(must_open(&s, 1));
    strcpy(first, cache_file());
    ct_check_age(cache_file(), LONG);
    ct_dataset *ds = must_open(&s, 1);
    ck_assert(ct_dataset_was_cached(ds));
    ct_util_picture(dir, "B_1.png", 16, 8, 2);
    ct_dataset_close(must_open(&s, 1)); /* another set; the first was read just now */
    ck_assert_int_eq(access(first, F_OK), 0);
    ct_dataset_close(ds);
    ck_assert_int_eq(unlink(first), 0);
    strcpy(first, cache_file());
    ct_check_age(cache_file(), LONG);
    ct_util_picture(dir, "C_1.png", 16, 8, 3);
    ct_dataset_close(must_open(&s, 1));
    ck_assert_int_ne(access(first, F_OK), 0);
    ck_assert_str_ne(cache_file(), "");
    setenv("CAPTRAIN_CACHE_GB", "little", 1); /* before anything is decoded */
    ct_util_picture(dir, "D_1.png", 16, 8, 4);
    ck_assert_int_eq(open_text(&s, &rules, 1, &ds), CT_ECONFIG);
    ck_message("CAPTRAIN_CACHE_GB: wants gigabytes");
    unsetenv("CAPTRAIN_CACHE_GB");
}
END_TEST

START_TEST(bad_samples)
{
    ct_charset cs;
    ct_dataset *ds;
    ck_assert_int_eq(ct_charset_parse("ABCD", &cs), CT_OK);
    ct_util_picture(dir, "AB_1.png", 16, 8, 1);
    ct_util_picture(dir, "CD_2.png", 16, 8, 2);
    ct_util_picture(dir, "AX_3.png", 16, 8, 3);
    ct_util_picture(dir, "ABC_4.png", 16, 8, 4);
    ct_util_picture(dir, "DA_5.png", 17, 8, 5);
    ct_util_text(dir, "BB_6.png", "");
    ct_util_text(dir, "BC_7.jpg", "\xff\xd8\xff\xe0 broken");
    ct_dataset_spec s = spec_for(dir);
    rules.charset = &cs;
    rules.length = 2;
    s.size_rule = CT_SIZE_REFUSE;
    ck_assert_int_eq(open_text(&s, &rules, 2, &ds), CT_EDATA);
    ck_message("5 of 7 samples cannot be used (0 are tolerated");
    ck_message("AX_3.png: label \"AX\": character 'X' (U+0058) is not in the charset \"ABCD\"");
    ck_message("ABC_4.png: label \"ABC\" has 3 characters, 2 are expected");
    ck_message("DA_5.png: the picture is 17x8, 16x8 is expected");
    ck_message("BB_6.png: empty file");
    ck_message("BC_7.jpg: damaged JPEG");
    s.max_bad = 4;
    ck_assert_int_eq(open_text(&s, &rules, 2, &ds), CT_EDATA);
    s.max_bad = 5;
    for (int pass = 0; pass < 2; pass++) { /* the second one from the cache: the same verdicts */
        ct_log_set_level(CT_LOG_WARN);
        ct_log_set_hooks(count_warning, NULL, NULL);
        warnings = 0;
        ds = must_open(&s, 2);
        ck_assert_int_eq(warnings, 1);
        ck_assert_int_eq(ct_dataset_size(ds), 2);
        ck_assert_int_eq(ct_dataset_bad_count(ds), 5);
        ck_assert(!ct_dataset_contiguous(ds));
        ck_assert_str_eq(ct_dataset_name(ds, 1), "CD_2.png");
        ck_assert_str_eq(ct_dataset_bad(ds, 0).name, "ABC_4.png");
        ck_assert_str_eq(ct_dataset_bad(ds, 2).reason, "empty file");
        ct_dataset_close(ds);
    }
    s.max_bad = 100;
    rules.length = 7;
    ck_assert_int_eq(open_text(&s, &rules, 2, &ds), CT_EDATA);
    ck_message("none of the 7 samples can be used");
    ct_charset_free(&cs);
}
END_TEST

START_TEST(many_bad_samples)
{
    for (int i = 0; i < 100; i++) {
        char name[64];
        sprintf(name, "A_a_rather_long_name_of_a_file_that_is_empty_%03d.png", i);
        ct_util_text(dir, name, "");
    }
    ct_dataset *ds;
    ct_dataset_spec s = spec_for(dir);
    ck_assert_int_eq(open_text(&s, &rules, 2, &ds), CT_EDATA);
    ck_message("100 of 100 samples");
    ck_message("empty_019.png");
    ck_message("and 80 more");
    ck_assert_ptr_null(strstr(ct_error_message(), "empty_020.png"));
}
END_TEST

START_TEST(spec_errors)
{
    ct_dataset *ds;
    ct_util_picture(dir, "AB_1.png", 16, 8, 1);
    ct_dataset_spec s = spec_for(dir);
    s.channels = 2;
    ck_assert_int_eq(open_text(&s, &rules, 1, &ds), CT_EINVAL);
    s = spec_for(dir);
    s.height = 5;
    ck_assert_int_eq(open_text(&s, &rules, 1, &ds), CT_EINVAL);
    s = spec_for(dir);
    rules.length = 65;
    ck_assert_int_eq(open_text(&s, &rules, 1, &ds), CT_EINVAL);
    rules.length = 0;
    s = spec_for(ct_util_path(dir, "no"));
    ck_assert_int_eq(open_text(&s, &rules, 1, &ds), CT_EIO);
    ck_assert_ptr_null(ds);
}
END_TEST

static void open_and_compare(void)
{
    ct_dataset_spec s = spec_for(dir);
    ct_dataset *ds;
    if (open_text(&s, &rules, 2, &ds) != CT_OK) _exit(1);
    if (ct_dataset_size(ds) != 40) _exit(2);
    ct_dataset_close(ds);
    _exit(0);
}

START_TEST(concurrent_processes)
{
    for (unsigned i = 0; i < 40; i++) {
        char name[32];
        sprintf(name, "A_%u.png", i);
        ct_util_picture(dir, name, 64, 32, i);
    }
    pid_t pid[6];
    for (int i = 0; i < 6; i++) {
        if ((pid[i] = fork()) == 0) open_and_compare();
    }
    for (int i = 0; i < 6; i++) {
        int status;
        waitpid(pid[i], &status, 0);
        ck_assert_int_eq(status, 0);
    }
    ct_dataset_spec s = spec_for(dir);
    ct_dataset *ds = must_open(&s, 1);
    ck_assert(ct_dataset_was_cached(ds));
    ct_dataset_close(ds);
}
END_TEST

/* While one process makes a cache the others wait for it, and take what it made. The one here is this test. */
START_TEST(one_makes_the_cache)
{
    char path[8200], aside[8300], lock[8300];
    bool waited;
    int status;
    ct_util_picture(dir, "A_1.png", 16, 8, 1);
    ct_dataset_spec s = spec_for(dir);
    ct_dataset_close(must_open(&s, 1));
    snprintf(path, sizeof path, "%s", cache_file());
    snprintf(aside, sizeof aside, "%s.aside", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    ck_assert_int_eq(access(lock, F_OK), -1); /* none stays */
    ck_assert_int_eq(rename(path, aside), 0);
    const int held = ct_lock_enter(lock, &waited);
    ck_assert(held >= 0 && !waited);
    const pid_t pid = fork();
    if (pid == 0) {
        ct_dataset *ds = must_open(&s, 1);
        _exit(ct_dataset_was_cached(ds) ? 0 : 3);
    }
    usleep(300000);
    ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
    ck_assert_int_eq(rename(aside, path), 0);
    ct_lock_leave(held, lock);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(access(lock, F_OK), -1);
}
END_TEST

/* Who dies over it keeps nobody waiting. */
START_TEST(maker_of_the_cache_dies)
{
    char lock[8300];
    bool waited;
    snprintf(lock, sizeof lock, "%s/made.lock", cache);
    const pid_t pid = fork();
    if (pid == 0) {
        ct_lock_enter(lock, &waited);
        raise(SIGKILL);
    }
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(access(lock, F_OK), 0);
    const int held = ct_lock_enter(lock, &waited);
    ck_assert(held >= 0 && !waited);
    ct_lock_leave(held, lock);
    ck_assert_int_eq(ct_lock_enter("/nonexistent/lock", &waited), -1);
}
END_TEST

START_TEST(split)
{
    ct_subset a, b, c, d;
    ck_assert_int_eq(ct_split(1000, 0.1, 7, &a, &b), CT_OK);
    ck_assert_int_eq(a.n, 900);
    ck_assert_int_eq(b.n, 100);
    char seen[1000] = { 0 };
    for (int64_t i = 0; i < a.n; i++) seen[a.index[i]]++;
    for (int64_t i = 0; i < b.n; i++) seen[b.index[i]]++;
    for (int i = 0; i < 1000; i++) ck_assert_int_eq(seen[i], 1);
    for (int64_t i = 1; i < b.n; i++) ck_assert_int_lt(b.index[i - 1], b.index[i]);
    ck_assert_int_eq(ct_split(1000, 0.1, 7, &c, &d), CT_OK);
    ck_assert_mem_eq(b.index, d.index, 100 * sizeof *b.index);
    ct_subset_free(&c);
    ct_subset_free(&d);
    ck_assert_int_eq(ct_split(1000, 0.1, 8, &c, &d), CT_OK);
    ck_assert_mem_ne(b.index, d.index, 100 * sizeof *b.index);
    ct_subset_free(&a);
    ct_subset_free(&b);
    ct_subset_free(&c);
    ct_subset_free(&d);
    ck_assert_int_eq(ct_split(3, 0.01, 1, &a, &b), CT_OK);
    ck_assert(a.n == 2 && b.n == 1);
    ct_subset_free(&a);
    ct_subset_free(&b);
    ck_assert_int_eq(ct_split(5, 0.0, 1, &a, &b), CT_OK);
    ck_assert(a.n == 5 && b.n == 0);
    ct_subset_free(&a);
    ct_subset_free(&b);
    ck_assert_int_eq(ct_split(1, 0.5, 1, &a, &b), CT_EINVAL);
    ck_assert_int_eq(ct_split(10, 1.0, 1, &a, &b), CT_EINVAL);
}
END_TEST

/* Every allocation in turn fails. The cache is empty in the first half and filled in the second. */
START_TEST(out_of_memory)
{
    mkdir(ct_util_path(dir, "images"), 0777);
    ct_util_picture(ct_util_path(dir, "images"), "1.png", 6, 5, 1);
    ct_util_picture(ct_util_path(dir, "images"), "2.png", 7, 5, 2);
    ct_util_text(ct_util_path(dir, "images"), "3.png", "");
    ct_util_text(dir, "labels.txt", "1.png AB\n2.png CD\n3.png EF\n4.png GH\n");
    ct_dataset_spec s = spec_for(dir);
    s.max_bad = 9;
    every_allocation_may_fail(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("data");
    TCase *t = tcase_create("data");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, scan_names);
    tcase_add_test(t, scan_table);
    tcase_add_test(t, scan_errors);
    tcase_add_test(t, scan_pictures);
    tcase_add_test(t, no_permission);
    tcase_add_test(t, open_and_cache);
    tcase_add_test(t, packed_files);
    tcase_add_test(t, cache_damage);
    tcase_add_test(t, cache_not_writable);
    tcase_add_test(t, cache_is_bounded);
    tcase_add_test(t, bad_samples);
    tcase_add_test(t, many_bad_samples);
    tcase_add_test(t, spec_errors);
    tcase_add_test(t, concurrent_processes);
    tcase_add_test(t, one_makes_the_cache);
    tcase_add_test(t, maker_of_the_cache_dies);
    tcase_add_test(t, split);
    tcase_add_test(t, out_of_memory);
    suite_add_tcase(s, t);
    return ct_check_main(s);
}
