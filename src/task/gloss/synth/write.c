/* Clips as files. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/workers.h"
#include "task/gloss/synth/internal.h"

enum { PARTS = 3, QUALITY = 95, MOST_CLIPS = 10000000 };
static const char *const part_name[PARTS] = { "train", "dev", "test" };
static const ct_gesture_cast part_cast[PARTS] = { CT_GESTURE_SEEN, CT_GESTURE_SEEN, CT_GESTURE_ALL };

typedef struct write_job {
    const ct_gesture_gen *g;
    const char *dir;
    bool force;
    int part;
    ct_gesture_pen **pen;                /* [threads] */
    double *draw_s, *total_s;            /* [threads] */
    int64_t *frames;                     /* [threads] of the part */
} write_job;

/* Clips of a part have numbers of their own, so that those of a larger set begin with those of a smaller one. */
static int64_t index_of(int part, int64_t i)
{
    return (int64_t)part << 48 | i;
}

static void share_out(int64_t count, int64_t n[PARTS])
{
    n[1] = count * 8 / 100;
    n[2] = count * 12 / 100;
    for (int p = 1; p < PARTS; p++)
        if (n[p] < 1) n[p] = 1;
    n[0] = count - n[1] - n[2];
}

/* Processor time of this thread, seconds. */
static double thread_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char letter_of(const ct_gesture_plan *p)
{
    return (char)('A' + p->signer);
}

/* The number of a frame's file, 0 for other names. */
static long frame_number(const char *name)
{
    char *end;
    if (name[0] < '0' || name[0] > '9') return 0;
    const long v = strtol(name, &end, 10);
    return strcmp(end, ".jpg") == 0 ? v : 0;
}

/* Removes frames behind the last one: an earlier clip of the folder was longer. */
static ct_status remove_rest(const char *dir, int frames)
{
    ct_status st = CT_OK;
    DIR *d = opendir(dir);
    if (!d) return ct_fail(CT_EIO, "%s: cannot open the folder: %s", dir, strerror(errno));
    for (struct dirent *e; st == CT_OK && (e = readdir(d));)
        if (frame_number(e->d_name) > frames && unlinkat(dirfd(d), e->d_name, 0) != 0 && errno != ENOENT)
            st = ct_fail(CT_EIO, "%s/%s: cannot be removed: %s", dir, e->d_name, strerror(errno));
    closedir(d);
    return st;
}

static ct_status write_frame(write_job *j, int worker, const char *dir, int64_t index, int frame)
{
    ct_status st = CT_OK;
    ct_image im;
    uint8_t *data = NULL;
    size_t size;
    const double start = thread_time();
    CT_TRY(ct_gesture_pen_frame(j->pen[worker], index, part_cast[j->part], frame, &im));
    j->draw_s[worker] += thread_time() - start;
    char *path = ct_asprintf("%s/%05d.jpg", dir, frame + 1);
    if (!path) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, ct_image_encode_jpeg(&im, QUALITY, &data, &size));
    st = ct_file_write_light(path, data, size);
fail:
    ct_free(data);
    ct_free(path);
    ct_image_free(&im);
    return st;
}

static ct_status write_clip(void *user, int worker, int64_t i)
{
    write_job *j = user;
    ct_status st = CT_OK;
    ct_gesture_plan p;
    const int64_t index = index_of(j->part, i);
    const double start = thread_time();
    if (!j->pen[worker]) CT_TRY(ct_gesture_pen_open(j->g, &j->pen[worker]));
    CT_TRY(ct_gesture_gen_plan(j->g, index, part_cast[j->part], &p));
    const char *part = part_name[j->part];
    char *dir = ct_asprintf("%s/%s/%c/%s-%05" PRId64, j->dir, part, letter_of(&p), part, i + 1);
    if (!dir) return CT_ENOMEM;
    CT_GOTO(st, ct_mkdir_p(dir));
    for (int f = 0; f < p.frames; f++) CT_GOTO(st, write_frame(j, worker, dir, index, f));
    if (j->force) CT_GOTO(st, remove_rest(dir, p.frames));
    j->frames[worker] += p.frames;
fail:
    j->total_s[worker] += thread_time() - start;
    ct_free(dir);
    return st;
}

/* ---- tables ---- */

static ct_status put(ct_atomic_file *f, const char *text)
{
    return ct_atomic_write(f, text, strlen(text));
}

/* A name as words: "LIFT-CHIN-FIST" is "lift chin fist". */
static void words_of(const char *name, char out[32])
{
    size_t i = 0;
    for (; name[i] && i < 31; i++)
        out[i] = name[i] == '-' ? ' ' : name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    out[i] = '\0';
}

/* Nothing in a row needs quotes: names are letters and '-', sentences have no comma. */
static ct_status put_row(ct_atomic_file *f, const write_job *j, int64_t i)
{
    ct_gesture_plan p;
    char text[64], words[32];
    CT_TRY(ct_gesture_gen_plan(j->g, index_of(j->part, i), part_cast[j->part], &p));
    snprintf(text, sizeof text, "%s-%05" PRId64 ",%c,", part_name[j->part], i + 1, letter_of(&p));
    CT_TRY(put(f, text));
    for (int k = 0; k < p.glosses; k++) {
        words_of(ct_gesture_gen_gloss(j->g, p.gloss[k]), words);
        CT_TRY(put(f, k ? "; " : ""));
        CT_TRY(put(f, words));
    }
    for (int k = 0; k < p.glosses; k++) {
        CT_TRY(put(f, k ? "/" : ".,"));
        CT_TRY(put(f, ct_gesture_gen_gloss(j->g, p.gloss[k])));
    }
    return put(f, ",\n");
}

static ct_status write_table(const write_job *j, const char *path, int64_t n)
{
    ct_status st = CT_OK;
    ct_atomic_file *f;
    CT_TRY(ct_atomic_open(path, &f));
    CT_GOTO(st, put(f, "Number,Translator,Chinese Sentences,Gloss,Note\n"));
    for (int64_t i = 0; i < n; i++) CT_GOTO(st, put_row(f, j, i));
    return ct_atomic_commit(f);
fail:
    ct_atomic_abort(f);
    return st;
}

static char *table_path(const char *dir, int part)
{
    return ct_asprintf("%s/%s.csv", dir, part_name[part]);
}

/* No table may name clips that are being overwritten. */
static ct_status remove_tables(const char *dir)
{
    for (int p = 0; p < PARTS; p++) {
        char *path = table_path(dir, p);
        if (!path) return CT_ENOMEM;
        ct_status st = CT_OK;
        if (unlink(path) != 0 && errno != ENOENT)
            st = ct_fail(CT_EIO, "%s: cannot be removed: %s", path, strerror(errno));
        ct_free(path);
        CT_TRY(st);
    }
    return CT_OK;
}

static ct_status write_part(write_job *j, int part, int64_t n, int threads, ct_gesture_written *stats)
{
    j->part = part;
    for (int t = 0; t < threads; t++) j->frames[t] = 0;
    ct_pace pace = ct_pace_begin("drawing clips", n);
    CT_TRY(ct_parallel_for(n, threads, write_clip, j, &pace));
    char *path = table_path(j->dir, part);
    if (!path) return CT_ENOMEM;
    ct_status st = write_table(j, path, n);
    ct_free(path);
    stats->clips[part] = n;
    for (int t = 0; t < threads; t++) stats->frames[part] += j->frames[t];
    return st;
}

static ct_status write_parts(write_job *j, int64_t count, int threads, ct_gesture_written *stats)
{
    int64_t n[PARTS];
    j->pen = ct_calloc((size_t)threads, sizeof *j->pen, "generator of gestures");
    j->draw_s = ct_calloc((size_t)threads, sizeof *j->draw_s, "generator of gestures");
    j->total_s = ct_calloc((size_t)threads, sizeof *j->total_s, "generator of gestures");
    j->frames = ct_calloc((size_t)threads, sizeof *j->frames, "generator of gestures");
    if (!j->pen || !j->draw_s || !j->total_s || !j->frames) return CT_ENOMEM;
    CT_TRY(ct_mkdir_fresh(j->dir, j->force));
    CT_TRY(remove_tables(j->dir));
    share_out(count, n);
    for (int p = 0; p < PARTS; p++) CT_TRY(write_part(j, p, n[p], threads, stats));
    for (int t = 0; t < threads; t++) {
        stats->draw_s += j->draw_s[t];
        stats->total_s += j->total_s[t];
    }
    return CT_OK;
}

ct_status ct_gesture_write(const ct_gesture_params *p, uint64_t seed, const char *dir, int64_t count, int threads,
                           bool force, ct_gesture_written *stats)
{
    ct_gesture_gen *g;
    *stats = (ct_gesture_written){ 0 };
    if (count < PARTS || count > MOST_CLIPS)
        return ct_fail(CT_EINVAL, "gestures: %" PRId64 " clips; there can be %d (train, dev and test) to %d", count,
                       PARTS, MOST_CLIPS);
    if (threads < 1) threads = 1;
    CT_TRY(ct_gesture_gen_open(p, seed, &g));
    write_job j = { .g = g, .dir = dir, .force = force };
    ct_status st = write_parts(&j, count, threads, stats);
    for (int t = 0; j.pen && t < threads; t++) ct_gesture_pen_close(j.pen[t]);
    ct_free(j.pen);
    ct_free(j.draw_s);
    ct_free(j.total_s);
    ct_free(j.frames);
    ct_gesture_gen_close(g);
    return st;
}
