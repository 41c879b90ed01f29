/* metrics.jsonl and TensorBoard's file. */
#include "config.h"

#include "run/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "formats/tfevents.h"

#define MAX_JOURNAL ((size_t)1 << 30) /* bytes of metrics.jsonl that are read back */

struct ct_journal {
    char *path;
    int fd;
    int64_t bytes;
    ct_tfevents *tb;
};

static ct_status write_all(ct_journal *j, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t k = write(j->fd, text, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) {
            int e = k < 0 ? errno : ENOSPC;
            /* leave no half line behind */
            if (ftruncate(j->fd, (off_t)j->bytes) != 0)
                return ct_fail(CT_EIO, "%s: %s, and it cannot be cut back", j->path, strerror(e));
            return ct_fail(CT_EIO, "%s: %s", j->path, strerror(e));
        }
        text += k;
        n -= (size_t)k;
    }
    return CT_OK;
}

/* Whether the n bytes at line hold an event; only: of this name. */
static ct_status is_event(const char *line, size_t n, const char *only, bool *yes)
{
    json_t *o;
    json_error_t e;
    *yes = false;
    ct_status st = ct_json_load(line, n, 0, &e, &o);
    if (st != CT_OK) return st == CT_ENOMEM ? st : CT_OK;
    const char *event = json_string_value(json_object_get(o, "event"));
    *yes = event && (!only || strcmp(event, only) == 0);
    json_decref(o);
    return CT_OK;
}

/* What is at `path` cannot be used, for the recorded reason: it is kept under another name, and the run goes on. */
static ct_status put_aside(const char *path)
{
    char *to;
    char *why = ct_strdup(ct_error_message(), "a reason");
    ct_status st = why ? ct_file_aside(path, &to) : CT_ENOMEM;
    if (st == CT_OK) {
        ct_warn("%s: moved to %s; the run goes on with what is whole", why, to);
        ct_free(to);
    }
    ct_free(why);
    return st;
}

static ct_status open_file(ct_journal *j, int flags)
{
    if (j->fd >= 0) close(j->fd);
    return ct_file_open_log(j->path, O_RDWR | flags, &j->fd);
}

/* Adds the lines of data[at..end) that hold an event (only: of this name). Half a line at the end is left out. */
static ct_status add_lines(ct_journal *j, const char *data, size_t at, size_t end, const char *only)
{
    while (at < end) {
        const char *nl = memchr(data + at, '\n', end - at);
        bool wanted;
        if (!nl) break;
        const size_t n = (size_t)(nl - (data + at)) + 1;
        CT_TRY(is_event(data + at, n, only, &wanted));
        if (wanted) {
            CT_TRY(write_all(j, data + at, n));
            j->bytes += (int64_t)n;
        }
        at += n;
    }
    return CT_OK;
}

/* Number of the first line in data[0..end) that holds no event; 0: all do. */
static ct_status damaged_line(const char *data, size_t end, int64_t *number)
{
    int64_t line = 1;
    *number = 0;
    for (size_t at = 0; at < end; line++) {
        const char *nl = memchr(data + at, '\n', end - at);
        const size_t n = nl ? (size_t)(nl - (data + at)) + 1 : end - at;
        bool good;
        CT_TRY(is_event(data + at, n, NULL, &good));
        if (!good || !nl) return *number = line, CT_OK;
        at += n;
    }
    return CT_OK;
}

/* Cuts the file behind the line that holds byte keep-1 and puts the resume events of the tail behind it. A file with
 * damaged lines in what stays is put aside, and one with the others takes its place. */
static ct_status cut(ct_journal *j, int64_t keep)
{
    uint8_t *data = NULL;
    size_t size = 0;
    ct_status st = ct_file_read_plain(j->path, MAX_JOURNAL, &data, &size);
    if (st == CT_ENOMEM) return st;
    if (st != CT_OK) { /* too large, or it cannot be read */
        CT_TRY(put_aside(j->path));
        return open_file(j, O_EXCL);
    }
    const char *text = (const char *)data;
    size_t end = (uint64_t)keep < size ? (size_t)keep : size;
    while (end > 0 && text[end - 1] != '\n') end--;
    int64_t line;
    CT_GOTO(st, damaged_line(text, end, &line));
    if (line > 0) {
        ct_fail(CT_EFORMAT, "%s:%lld: not an event", j->path, (long long)line);
        CT_GOTO(st, put_aside(j->path));
        CT_GOTO(st, open_file(j, O_EXCL));
        CT_GOTO(st, add_lines(j, text, 0, end, NULL));
    } else if (ftruncate(j->fd, (off_t)end) != 0 || lseek(j->fd, 0, SEEK_END) < 0) {
        CT_GOTO(st, ct_fail(CT_EIO, "%s: %s", j->path, strerror(errno)));
    } else {
        j->bytes = (int64_t)end;
    }
    st = add_lines(j, text, end, size, "resume");
fail:
    ct_free(data);
    return st;
}

/* TensorBoard's file of a run that goes on may have become something else. */
static ct_status open_tensorboard(ct_journal *j, const char *run, int64_t keep_step)
{
    ct_status st;
    char *dir = ct_path_join(run, "tensorboard"), *file = dir ? ct_path_join(dir, "captrain.tfevents") : NULL;
    if (!file) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, ct_mkdir_p(dir));
    st = ct_tfevents_open(file, keep_step, &j->tb);
    if (st == CT_EFORMAT && keep_step >= 0) {
        CT_GOTO(st, put_aside(file));
        st = ct_tfevents_open(file, -1, &j->tb);
    }
fail:
    ct_free(dir);
    ct_free(file);
    return st;
}

ct_status ct_journal_open(const char *run, bool tensorboard, int64_t keep_bytes, int64_t keep_step, ct_journal **out)
{
    ct_status st = CT_OK;
    *out = NULL;
    ct_journal *j = ct_calloc(1, sizeof *j, "journal");
    if (!j) return CT_ENOMEM;
    j->fd = -1;
    bool anew = keep_bytes < 0;
    if (!(j->path = ct_path_join(run, "metrics.jsonl"))) CT_GOTO(st, CT_ENOMEM);
    st = open_file(j, anew ? O_TRUNC : 0);
    if (st == CT_EFORMAT && !anew) {
        CT_GOTO(st, put_aside(j->path));
        st = open_file(j, O_EXCL);
    }
    if (st == CT_OK && !anew) st = cut(j, keep_bytes);
    if (st == CT_OK && tensorboard) st = open_tensorboard(j, run, anew ? -1 : keep_step);
fail:
    if (st == CT_OK)
        *out = j;
    else
        ct_journal_close(j);
    return st;
}

void ct_journal_close(ct_journal *j)
{
    if (!j) return;
    ct_tfevents_close(j->tb);
    if (j->fd >= 0) close(j->fd);
    ct_free(j->path);
    ct_free(j);
}

/* The numbers of an object as "GROUP/KEY". */
static ct_status scalars_of(ct_journal *j, int64_t at, const char *group, json_t *o)
{
    const char *key;
    json_t *v;
    json_object_foreach (o, key, v) {
        if (!json_is_number(v) || strcmp(key, "step") == 0 || strcmp(key, "time") == 0) continue;
        char *tag = ct_asprintf("%s/%s", group, key);
        if (!tag) return CT_ENOMEM;
        ct_status st = ct_tfevents_scalar(j->tb, at, tag, json_number_value(v));
        ct_free(tag);
        if (st != CT_OK) return st;
    }
    return CT_OK;
}

/* "train/loss" for the step event's "loss", "train/losses/point" for the "point" of its "losses", "device/power" for
 * the power of its "device", "val/loss" for the eval event's "loss". */
static ct_status scalars(ct_journal *j, const char *event, json_t *line)
{
    bool step = strcmp(event, "step") == 0, eval = strcmp(event, "eval") == 0;
    if (!j->tb) return CT_OK;
    int64_t at = json_integer_value(json_object_get(line, "step"));
    if (strcmp(event, "end") == 0) {
        CT_TRY(ct_tfevents_end(j->tb, at));
        return ct_tfevents_flush(j->tb);
    }
    if (!step && !eval) return CT_OK;
    json_t *device = json_object_get(line, "device"), *losses = json_object_get(line, "losses");
    CT_TRY(scalars_of(j, at, step ? "train" : "val", line));
    if (losses) CT_TRY(scalars_of(j, at, step ? "train/losses" : "val/losses", losses));
    if (device) CT_TRY(scalars_of(j, at, "device", device));
    return ct_tfevents_flush(j->tb);
}

ct_status ct_journal_event(ct_journal *j, const char *name, json_t *fields)
{
    ct_status st = CT_OK;
    char *text = NULL, *line = NULL;
    if (!j) {
        json_decref(fields);
        return CT_OK;
    }
    json_t *o = json_object();
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!o || !fields) {
        st = ct_fail(CT_ENOMEM, "out of memory writing %s", j->path);
        goto fail;
    }
    CT_GOTO(st, ct_json_set(o, "event", json_string(name)));
    CT_GOTO(st, ct_json_set(o, "time", json_real((double)now.tv_sec + 1e-3 * (double)(now.tv_nsec / 1000000))));
    if (json_object_update(o, fields) != 0) {
        st = ct_fail(CT_ENOMEM, "out of memory writing %s", j->path);
        goto fail;
    }
    if (!(text = ct_json_text(o, 0)) || !(line = ct_asprintf("%s\n", text))) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, write_all(j, line, strlen(line)));
    j->bytes += (int64_t)strlen(line);
    CT_GOTO(st, scalars(j, name, o));
fail:
    json_decref(o);
    json_decref(fields);
    ct_free(text);
    ct_free(line);
    return st;
}

/* ---- what TensorBoard alone gets ---- */

bool ct_journal_shows(const ct_journal *j) { return j && j->tb; }
bool ct_journal_begun(const ct_journal *j) { return j && j->tb && ct_tfevents_begun(j->tb); }

ct_status ct_journal_begin(ct_journal *j, int64_t step, const ct_config *cfg)
{
    if (!ct_journal_shows(j)) return CT_OK;
    const ct_config_row *row;
    const size_t most = ct_config_row_count();
    ct_hparam *key = ct_calloc(most, sizeof *key, "keys for TensorBoard");
    char **text = ct_calloc(most, sizeof *text, "keys for TensorBoard");
    size_t n = 0;
    ct_status st;
    if (!key || !text) CT_GOTO(st, CT_ENOMEM);
    for (size_t i = 0; (row = ct_config_row_at(i)); i++) {
        if (row->cls != CT_CLASS_KEY) continue;
        ct_hparam *k = &key[n];
        k->name = row->name;
        k->type = !ct_config_number(cfg, row->name, &k->number) ? CT_HPARAM_TEXT
                  : row->type == CT_KEY_BOOL                    ? CT_HPARAM_BOOL
                                                                : CT_HPARAM_NUMBER;
        if (k->type == CT_HPARAM_TEXT && !(k->text = text[n] = ct_config_value(cfg, row->name)))
            CT_GOTO(st, CT_ENOMEM);
        n++;
    }
    CT_GOTO(st, ct_tfevents_begin(j->tb, step, key, n));
    st = ct_tfevents_flush(j->tb);
fail:
    for (size_t i = 0; text && i < most; i++) ct_free(text[i]);
    ct_free(text);
    ct_free(key);
    return st;
}

ct_status ct_journal_picture(ct_journal *j, int64_t step, const char *tag, const ct_image *im)
{
    if (!ct_journal_shows(j)) return CT_OK;
    ct_image smaller = { .px = NULL };
    uint8_t *png = NULL;
    size_t bytes = 0;
    ct_status st;
    const int side = im->w > im->h ? im->w : im->h;
    if (side > CT_JOURNAL_SIDE) {
        const double scale = (double)CT_JOURNAL_SIDE / side;
        const int w = (int)lround(scale * im->w), h = (int)lround(scale * im->h);
        CT_TRY(ct_image_resize_scale(im, scale, w > 0 ? w : 1, h > 0 ? h : 1, &smaller));
        im = &smaller;
    }
    CT_GOTO(st, ct_image_encode_png(im, &png, &bytes));
    const ct_event_picture p = { .png = png, .bytes = bytes, .width = im->w, .height = im->h, .channels = im->c };
    CT_GOTO(st, ct_tfevents_picture(j->tb, step, tag, &p));
    st = ct_tfevents_flush(j->tb);
fail:
    ct_free(png);
    ct_image_free(&smaller);
    return st;
}

ct_status ct_journal_sync(ct_journal *j)
{
    return !j || fsync(j->fd) == 0 ? CT_OK : ct_fail(CT_EIO, "%s: %s", j->path, strerror(errno));
}

int64_t ct_journal_bytes(const ct_journal *j) { return j ? j->bytes : 0; }

ct_status ct_journal_read(const char *run, ct_journal_visit *visit, void *user)
{
    ct_status st = CT_OK;
    uint8_t *data = NULL;
    size_t size = 0;
    char *path = ct_path_join(run, "metrics.jsonl");
    if (!path) return CT_ENOMEM;
    if (ct_path_exists(path)) CT_GOTO(st, ct_file_read_plain(path, MAX_JOURNAL, &data, &size));
    int64_t number = 1, damaged = 0, first = 0;
    for (size_t at = 0; at < size; number++) {
        const uint8_t *nl = memchr(data + at, '\n', size - at);
        if (!nl) break; /* a killed run may leave half a line at the end */
        size_t n = (size_t)(nl - (data + at)) + 1;
        json_error_t error;
        json_t *o;
        if (ct_json_load((const char *)data + at, n, 0, &error, &o) == CT_ENOMEM) CT_GOTO(st, CT_ENOMEM);
        const char *event = json_string_value(json_object_get(o, "event"));
        if (event)
            st = visit(user, event, o);
        else if (damaged++ == 0)
            first = number;
        json_decref(o);
        if (st != CT_OK) goto fail;
        at += n;
    }
    if (damaged > 0)
        ct_warn("%s:%lld: not an event; %lld such lines are passed over", path, (long long)first, (long long)damaged);
fail:
    ct_free(data);
    ct_free(path);
    return st;
}
