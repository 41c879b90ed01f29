#include "config.h"

#include "formats/tfevents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "formats/tfevents.pb-c.h"
#include "formats/tfevents_tags.h"

#define MAX_RECORD ((uint64_t)64 << 20) /* bytes; scalars take about 60, pictures what their PNG does */

struct ct_tfevents {
    FILE *f;
    char *path;
    bool begun; /* it tells that the run begins */
};

/* ---- CRC-32C ---- */

uint32_t ct_crc32c(const void *data, size_t bytes)
{
    const uint8_t *p = data;
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82F63B78u & (0u - (crc & 1u)));
    }
    return ~crc;
}

/* TFRecord stores CRCs rotated and offset, because a CRC of data that contains its own CRC is a poor check. */
static uint32_t masked(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

static void put_le(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_le(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | p[i];
    return v;
}

/* ---- protobuf-c through base/alloc.h ---- */

static void *pb_alloc(void *user, size_t n)
{
    void *p = ct_malloc(n, "TensorBoard event");
    if (!p) *(bool *)user = true;
    return p;
}

static void pb_free(void *user, void *p)
{
    (void)user;
    ct_free(p);
}

/* An event from n bytes, NULL where they are none; forget() it. CT_ENOMEM. */
static ct_status event_of(const uint8_t *data, size_t n, Captrain__Event **out)
{
    bool short_of_memory = false;
    ProtobufCAllocator allocator = { pb_alloc, pb_free, &short_of_memory };
    *out = captrain__event__unpack(&allocator, n, data);
    return *out || !short_of_memory ? CT_OK : CT_ENOMEM;
}

static void forget(Captrain__Event *e)
{
    ProtobufCAllocator allocator = { pb_alloc, pb_free, NULL };
    captrain__event__free_unpacked(e, &allocator);
}

static const Captrain__Summary *summary_of(const Captrain__Event *e)
{
    return e->what_case == CAPTRAIN__EVENT__WHAT_SUMMARY ? e->summary : NULL;
}

static bool has_tag(const Captrain__Event *e, const char *tag)
{
    const Captrain__Summary *s = summary_of(e);
    for (size_t i = 0; s && i < s->n_value; i++)
        if (strcmp(s->value[i]->tag, tag) == 0) return true;
    return false;
}

/* ---- reading ---- */

/* The record at *at of a file in memory: its contents in *data, n bytes, and *at behind it. False at the end
 * (*damaged false) and at a damaged record (*damaged true; *at stays). */
static bool next_record(const ct_mmap *m, size_t *at, const uint8_t **data, size_t *n, bool *damaged)
{
    size_t left = m->size - *at;
    *damaged = left > 0;
    if (left < 16) return false;
    const uint8_t *p = m->data + *at;
    uint64_t len = get_le(p, 8);
    if (masked(ct_crc32c(p, 8)) != (uint32_t)get_le(p + 8, 4) || len > MAX_RECORD || len > left - 16) return false;
    if (masked(ct_crc32c(p + 12, (size_t)len)) != (uint32_t)get_le(p + 12 + len, 4)) return false;
    *data = p + 12;
    *n = (size_t)len;
    *at += (size_t)len + 16;
    *damaged = false;
    return true;
}

ct_status ct_tfevents_read(const char *path, ct_tfevents_visit *visit, void *user)
{
    ct_mmap m;
    ct_status st = CT_OK;
    const uint8_t *data;
    size_t at = 0, n;
    bool damaged;
    CT_TRY(ct_mmap_open(path, &m));
    while (st == CT_OK && next_record(&m, &at, &data, &n, &damaged)) {
        Captrain__Event *e;
        if ((st = event_of(data, n, &e)) != CT_OK) break;
        if (!e) {
            st = ct_fail(CT_EFORMAT, "%s: byte %zu: not a TensorBoard event", path, (size_t)(data - m.data));
            break;
        }
        const Captrain__Summary *s = summary_of(e);
        for (size_t i = 0; s && st == CT_OK && i < s->n_value; i++)
            if (s->value[i]->value_case == CAPTRAIN__SUMMARY_VALUE__VALUE_SIMPLE_VALUE)
                st = visit(user, e->step, s->value[i]->tag, (double)s->value[i]->simple_value);
        forget(e);
    }
    if (st == CT_OK && damaged) st = ct_fail(CT_EFORMAT, "%s: byte %zu: damaged record", path, at);
    ct_mmap_close(&m);
    return st;
}

/* How many bytes of an existing file stay when a run is resumed at keep_step: what was told behind its end goes, too,
 * and the end itself, which it comes to anew. *begun: whether they tell that it begins. */
static ct_status kept_bytes(const char *path, int64_t keep_step, size_t *bytes, bool *begun)
{
    ct_mmap m;
    const uint8_t *data;
    size_t at = 0, n;
    bool damaged = false;
    ct_status st = CT_OK;
    *bytes = 0;
    *begun = false;
    CT_TRY(ct_mmap_open(path, &m));
    while (next_record(&m, &at, &data, &n, &damaged)) {
        Captrain__Event *e;
        if ((st = event_of(data, n, &e)) != CT_OK || !e) break;
        const bool stays = e->step <= keep_step && !has_tag(e, CT_TFEVENTS_END);
        if (stays) *begun |= has_tag(e, CT_TFEVENTS_START);
        forget(e);
        if (!stays) break;
        *bytes = at;
    }
    /* A killed machine may leave the beginning of the first record, or zeros where data never arrived. */
    static const uint8_t zeros[12] = { 0 };
    if (st == CT_OK && *bytes == 0 && m.size >= 12 && memcmp(m.data, zeros, 12) != 0 &&
        masked(ct_crc32c(m.data, 8)) != (uint32_t)get_le(m.data + 8, 4))
        st = ct_fail(CT_EFORMAT, "%s: not a TensorBoard event file", path);
    ct_mmap_close(&m);
    return st;
}

/* ---- writing ---- */

static ct_status write_event(ct_tfevents *w, Captrain__Event *e)
{
    struct timespec now;
    uint8_t crc[4], head[12], *buf;
    ct_status st = CT_OK;
    clock_gettime(CLOCK_REALTIME, &now);
    e->wall_time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    size_t n = captrain__event__get_packed_size(e);
    if (!(buf = ct_malloc(n, "TensorBoard event"))) return CT_ENOMEM;
    captrain__event__pack(e, buf);
    put_le(head, n, 8);
    put_le(head + 8, masked(ct_crc32c(head, 8)), 4);
    put_le(crc, masked(ct_crc32c(buf, n)), 4);
    if (fwrite(head, 1, 12, w->f) != 12 || fwrite(buf, 1, n, w->f) != n || fwrite(crc, 1, 4, w->f) != 4)
        st = ct_fail(CT_EIO, "%s: cannot write: %s", w->path, strerror(errno));
    ct_free(buf);
    return st;
}

ct_status ct_tfevents_open(const char *path, int64_t keep_step, ct_tfevents **out)
{
    size_t kept = 0;
    bool begun = false;
    ct_status st = CT_OK;
    ct_tfevents *w;
    *out = NULL;
    if (keep_step >= 0 && ct_path_exists(path)) CT_TRY(kept_bytes(path, keep_step, &kept, &begun));
    if (!(w = ct_calloc(1, sizeof *w, "TensorBoard writer"))) return CT_ENOMEM;
    w->begun = begun;
    if (!(w->path = ct_strdup(path, "TensorBoard writer"))) {
        st = CT_ENOMEM;
        goto fail;
    }
    if (kept > 0 && truncate(path, (off_t)kept) != 0) {
        st = ct_fail(CT_EIO, "%s: cannot be cut to %zu bytes: %s", path, kept, strerror(errno));
        goto fail;
    }
    int fd;
    CT_GOTO(st, ct_file_open_log(path, O_WRONLY | (kept > 0 ? 0 : O_TRUNC), &fd));
    if (!(w->f = fdopen(fd, "ab"))) {
        st = ct_fail(CT_EIO, "%s: cannot open: %s", path, strerror(errno));
        close(fd);
        goto fail;
    }
    if (kept == 0) {
        Captrain__Event e = CAPTRAIN__EVENT__INIT;
        static char version[] = "brain.Event:2";
        e.what_case = CAPTRAIN__EVENT__WHAT_FILE_VERSION;
        e.file_version = version;
        CT_GOTO(st, write_event(w, &e));
    }
    *out = w;
    return CT_OK;
fail:
    if (w->f) fclose(w->f);
    ct_free(w->path);
    ct_free(w);
    return st;
}

static ct_status write_value(ct_tfevents *w, int64_t step, const char *tag, Captrain__SummaryValue *v)
{
    Captrain__Event e = CAPTRAIN__EVENT__INIT;
    Captrain__Summary s = CAPTRAIN__SUMMARY__INIT;
    v->tag = (char *)(uintptr_t)tag;
    s.n_value = 1;
    s.value = &v;
    e.step = step;
    e.what_case = CAPTRAIN__EVENT__WHAT_SUMMARY;
    e.summary = &s;
    return write_event(w, &e);
}

ct_status ct_tfevents_scalar(ct_tfevents *w, int64_t step, const char *tag, double value)
{
    Captrain__SummaryValue v = CAPTRAIN__SUMMARY_VALUE__INIT;
    v.value_case = CAPTRAIN__SUMMARY_VALUE__VALUE_SIMPLE_VALUE;
    v.simple_value = (float)value;
    return write_value(w, step, tag, &v);
}

ct_status ct_tfevents_picture(ct_tfevents *w, int64_t step, const char *tag, const ct_event_picture *picture)
{
    Captrain__SummaryValue v = CAPTRAIN__SUMMARY_VALUE__INIT;
    Captrain__Picture p = CAPTRAIN__PICTURE__INIT;
    p.height = picture->height;
    p.width = picture->width;
    p.colorspace = picture->channels;
    p.encoded_image_string = (ProtobufCBinaryData){ picture->bytes, (uint8_t *)(uintptr_t)picture->png };
    v.value_case = CAPTRAIN__SUMMARY_VALUE__VALUE_IMAGE;
    v.image = &p;
    return write_value(w, step, tag, &v);
}

ct_status ct_tfevents_plugin(ct_tfevents *w, int64_t step, const char *tag, const char *plugin, const void *content,
                             size_t bytes)
{
    Captrain__SummaryValue v = CAPTRAIN__SUMMARY_VALUE__INIT;
    Captrain__SummaryMetadata m = CAPTRAIN__SUMMARY_METADATA__INIT;
    Captrain__PluginData d = CAPTRAIN__PLUGIN_DATA__INIT;
    d.plugin_name = (char *)(uintptr_t)plugin;
    d.content = (ProtobufCBinaryData){ bytes, (uint8_t *)(uintptr_t)content };
    m.plugin_data = &d;
    v.metadata = &m;
    return write_value(w, step, tag, &v);
}

bool ct_tfevents_begun(const ct_tfevents *w) { return w->begun; }

ct_status ct_tfevents_flush(ct_tfevents *w)
{
    if (fflush(w->f) != 0) return ct_fail(CT_EIO, "%s: cannot write: %s", w->path, strerror(errno));
    return CT_OK;
}

ct_status ct_tfevents_close(ct_tfevents *w)
{
    if (!w) return CT_OK;
    ct_status st = CT_OK;
    if (fclose(w->f) != 0) st = ct_fail(CT_EIO, "%s: cannot write: %s", w->path, strerror(errno));
    ct_free(w->path);
    ct_free(w);
    return st;
}
