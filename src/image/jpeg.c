#include "config.h"

#include <stdio.h> /* jpeglib.h needs FILE and size_t */
#include <stdbool.h>

#include <jpeglib.h>
#include <jerror.h>
#include <setjmp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/image_internal.h"

/* A progressive file may name the same pixels in as many scans as it has bytes for; real ones have a dozen. */
#define MAX_SCANS 200

/* What libjpeg's callbacks see. Everything that must survive a longjmp lives here, not in local variables. */
typedef struct jpeg_job {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr err;
    struct jpeg_progress_mgr progress;
    const char *name;
    uint8_t *px;
    uint8_t *row;       /* one CMYK row */
    int orientation;    /* 1..8 */
    ct_status st;
    bool no_memory, recorded;
    char message[JMSG_LENGTH_MAX];
    jmp_buf jump;
} jpeg_job;

static void on_error(j_common_ptr c)
{
    jpeg_job *job = c->client_data;
    c->err->format_message(c, job->message);
    job->no_memory = c->err->msg_code == JERR_OUT_OF_MEMORY;
    longjmp(job->jump, 1);
}

/* Level -1 is a warning. Those about the file's manners do not matter; every other one means that data is missing or
 * damaged and that libjpeg would make pixels up. */
static void on_message(j_common_ptr c, int level)
{
    if (level >= 0) return;
    int code = c->err->msg_code;
    if (code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM || code == JWRN_BOGUS_PROGRESSION) return;
    on_error(c);
}

static void on_output(j_common_ptr c)
{
    (void)c;
}

static void on_progress(j_common_ptr c)
{
    jpeg_job *job = c->client_data;
    if (job->d.input_scan_number > MAX_SCANS) {
        snprintf(job->message, sizeof job->message, "more than %d scans", MAX_SCANS);
        longjmp(job->jump, 1);
    }
}

static unsigned get16(const uint8_t *p, bool big)
{
    return big ? (unsigned)p[0] << 8 | p[1] : (unsigned)p[1] << 8 | p[0];
}

static uint32_t get32(const uint8_t *p, bool big)
{
    unsigned first = get16(p, big), second = get16(p + 2, big);
    return big ? (uint32_t)first << 16 | second : (uint32_t)second << 16 | first;
}

int ct_exif_orientation(const uint8_t *seg, size_t size)
{
    if (size < 14 || memcmp(seg, "Exif\0\0", 6) != 0) return 1;
    const uint8_t *t = seg + 6; /* the TIFF structure; its offsets count from here */
    size_t n = size - 6;
    bool big = t[0] == 'M';
    if (memcmp(t, big ? "MM" : "II", 2) != 0 || get16(t + 2, big) != 42) return 1;
    size_t ifd = get32(t + 4, big);
    if (ifd > n || n - ifd < 2) return 1;
    unsigned count = get16(t + ifd, big);
    for (unsigned i = 0; i < count; i++) {
        size_t at = ifd + 2 + 12 * (size_t)i;
        if (at > n || n - at < 12) return 1;
        if (get16(t + at, big) != 0x0112) continue; /* Orientation: one SHORT */
        if (get16(t + at + 2, big) != 3 || get32(t + at + 4, big) != 1) return 1;
        unsigned v = get16(t + at + 8, big);
        return v >= 1 && v <= 8 ? (int)v : 1;
    }
    return 1;
}

/* Orientation o: the stored picture's row 0 and column 0 are the visual (1) top, left; (2) top, right; (3) bottom,
 * right; (4) bottom, left; (5) left, top; (6) right, top; (7) right, bottom; (8) left, bottom. From 5 on sides are
 * swapped. */
static void orient_copy(const ct_raw *in, int o, uint8_t *out)
{
    int w = o >= 5 ? in->h : in->w, h = o >= 5 ? in->w : in->h, c = in->c;
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            int sx = o >= 5 ? y : x, sy = o >= 5 ? x : y;
            if (o == 2 || o == 3 || o == 7 || o == 8) sx = in->w - 1 - sx;
            if (o == 3 || o == 4 || o == 6 || o == 7) sy = in->h - 1 - sy;
            memcpy(out + ((size_t)y * (size_t)w + (size_t)x) * (size_t)c,
                   in->px + ((size_t)sy * (size_t)in->w + (size_t)sx) * (size_t)c, (size_t)c);
        }
    }
}

static void cmyk_row(const uint8_t *in, uint8_t *out, size_t w, bool inverted)
{
    unsigned flip = inverted ? 0 : 255; /* to "255 = no ink" */
    for (size_t x = 0; x < w; x++) {
        unsigned k = in[4 * x + 3] ^ flip;
        for (int i = 0; i < 3; i++) out[3 * x + i] = (uint8_t)(((in[4 * x + i] ^ flip) * k + 127u) / 255u);
    }
}

static void decode_body(jpeg_job *job, const uint8_t *data, size_t size, int peek, ct_raw *out)
{
    struct jpeg_decompress_struct *d = &job->d;
    jpeg_create_decompress(d);
    d->client_data = job;
    d->err = &job->err;
    jpeg_mem_src(d, data, size);
    jpeg_save_markers(d, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(d, TRUE);
    if (ct_image_check_size(job->name, d->image_width, d->image_height) != CT_OK) {
        job->recorded = true;
        longjmp(job->jump, 1);
    }
    for (jpeg_saved_marker_ptr m = d->marker_list; m; m = m->next) {
        if (m->marker == JPEG_APP0 + 1 && m->data_length >= 6 && memcmp(m->data, "Exif\0\0", 6) == 0) {
            job->orientation = ct_exif_orientation(m->data, m->data_length);
            break;
        }
    }
    out->w = (int)d->image_width;
    out->h = (int)d->image_height;
    if (peek) return;

    bool cmyk = d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK;
    bool inverted = d->saw_Adobe_marker;
    d->out_color_space = cmyk ? JCS_CMYK : d->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    d->dct_method = JDCT_ISLOW; /* the exact one: the same bits on every machine */
    d->progress = &job->progress;
    job->progress.progress_monitor = on_progress;
    out->c = d->out_color_space == JCS_GRAYSCALE ? 1 : 3;

    size_t w = (size_t)out->w, row = w * (size_t)out->c;
    job->px = ct_malloc(row * (size_t)out->h, "JPEG pixels");
    if (job->px && cmyk) job->row = ct_malloc(4 * w, "JPEG row");
    if (!job->px || (cmyk && !job->row)) {
        job->no_memory = job->recorded = true;
        longjmp(job->jump, 1);
    }
    jpeg_start_decompress(d);
    while (d->output_scanline < d->output_height) {
        uint8_t *dst = job->px + row * d->output_scanline;
        JSAMPROW p = cmyk ? job->row : dst;
        if (jpeg_read_scanlines(d, &p, 1) == 1 && cmyk) cmyk_row(job->row, dst, w, inverted);
    }
    jpeg_finish_decompress(d);
}

/* Applies the orientation to decoded pixels and to the sides. */
static ct_status orient(int orientation, ct_raw *raw)
{
    if (orientation <= 1) return CT_OK;
    if (raw->px) {
        uint8_t *turned = ct_malloc((size_t)raw->w * (size_t)raw->h * (size_t)raw->c, "JPEG pixels");
        if (!turned) return CT_ENOMEM;
        orient_copy(raw, orientation, turned);
        ct_free(raw->px);
        raw->px = turned;
    }
    if (orientation >= 5) {
        int w = raw->w;
        raw->w = raw->h;
        raw->h = w;
    }
    return CT_OK;
}

ct_status ct_jpeg_decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out)
{
    jpeg_job *job = ct_calloc(1, sizeof *job, "JPEG decoder");
    if (!job) return CT_ENOMEM;
    job->name = name;
    job->orientation = 1;
    job->d.err = jpeg_std_error(&job->err);
    job->d.client_data = job;
    job->err.error_exit = on_error;
    job->err.emit_message = on_message;
    job->err.output_message = on_output;

    if (setjmp(job->jump) == 0) {
        decode_body(job, data, size, peek, out);
    } else if (job->no_memory) {
        job->st = job->recorded ? CT_ENOMEM : ct_fail(CT_ENOMEM, "%s: out of memory in the JPEG decoder", name);
    } else {
        job->st = job->recorded ? CT_EFORMAT : ct_fail(CT_EFORMAT, "%s: damaged JPEG: %s", name, job->message);
    }
    jpeg_destroy_decompress(&job->d);
    out->px = job->px;
    ct_status st = job->st;
    if (st == CT_OK) st = orient(job->orientation, out);
    if (st != CT_OK) {
        ct_free(out->px);
        *out = (ct_raw){ 0 };
    }
    ct_free(job->row);
    ct_free(job);
    return st;
}

/* ---- encoding ---- */

typedef struct jpeg_out {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr err;
    struct jpeg_destination_mgr to;
    uint8_t *buf;       /* the file so far, in buf[0..cap) */
    size_t cap;
    ct_status st;
    bool no_memory, recorded;
    char message[JMSG_LENGTH_MAX];
    jmp_buf jump;
} jpeg_out;

enum { FIRST_BYTES = 16384 };

static void on_encode_error(j_common_ptr c)
{
    jpeg_out *job = c->client_data;
    c->err->format_message(c, job->message);
    job->no_memory = c->err->msg_code == JERR_OUT_OF_MEMORY;
    longjmp(job->jump, 1);
}

/* Room for twice as many bytes, of which `used` are written. */
static void more_room(jpeg_out *job, size_t used)
{
    const size_t cap = job->cap ? 2 * job->cap : FIRST_BYTES;
    uint8_t *p = ct_realloc(job->buf, cap, 1, "JPEG file");
    if (!p) {
        job->no_memory = job->recorded = true;
        longjmp(job->jump, 1);
    }
    job->buf = p;
    job->cap = cap;
    job->to.next_output_byte = p + used;
    job->to.free_in_buffer = cap - used;
}

static void on_start(j_compress_ptr c)
{
    more_room(c->client_data, 0);
}

/* libjpeg calls this when all of the buffer is written, whatever free_in_buffer says. */
static boolean on_full(j_compress_ptr c)
{
    jpeg_out *job = c->client_data;
    more_room(job, job->cap);
    return TRUE;
}

static void on_end(j_compress_ptr c)
{
    (void)c;
}

static void encode_body(jpeg_out *job, const ct_image *im, int quality)
{
    j_compress_ptr c = &job->c;
    jpeg_create_compress(c);
    c->dest = &job->to;
    c->image_width = (JDIMENSION)im->w;
    c->image_height = (JDIMENSION)im->h;
    c->input_components = im->c;
    c->in_color_space = im->c == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, quality, TRUE);
    c->dct_method = JDCT_ISLOW;
    for (int k = 0; k < c->num_components; k++) /* colours as sharp as brightness: pictures here are small */
        c->comp_info[k].h_samp_factor = c->comp_info[k].v_samp_factor = 1;
    jpeg_start_compress(c, TRUE);
    while (c->next_scanline < c->image_height) {
        JSAMPROW row = im->px + (size_t)c->next_scanline * (size_t)im->w * (size_t)im->c;
        jpeg_write_scanlines(c, &row, 1);
    }
    jpeg_finish_compress(c);
}

ct_status ct_image_encode_jpeg(const ct_image *im, int quality, uint8_t **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    if (!im->px || (im->c != 1 && im->c != 3)) return ct_fail(CT_EINVAL, "no picture to write as JPEG");
    if (quality < 1 || quality > 100) return ct_fail(CT_EINVAL, "JPEG encoder: quality %d is not 1 to 100", quality);
    jpeg_out *job = ct_calloc(1, sizeof *job, "JPEG encoder");
    if (!job) return CT_ENOMEM;
    job->c.err = jpeg_std_error(&job->err);
    job->c.client_data = job;
    job->err.error_exit = on_encode_error;
    job->err.output_message = on_output;
    job->to.init_destination = on_start;
    job->to.empty_output_buffer = on_full;
    job->to.term_destination = on_end;
    if (setjmp(job->jump) == 0) encode_body(job, im, quality);
    else if (!job->no_memory) job->st = ct_fail(CT_EINTERNAL, "JPEG encoder: %s", job->message);
    else job->st = job->recorded ? CT_ENOMEM : ct_fail(CT_ENOMEM, "out of memory in the JPEG encoder");
    const ct_status st = job->st;
    if (st == CT_OK) {
        *size = job->cap - job->to.free_in_buffer;
        *data = job->buf;
    } else {
        ct_free(job->buf);
    }
    jpeg_destroy_compress(&job->c);
    ct_free(job);
    return st;
}

ct_status ct_image_write_jpeg(const char *path, const ct_image *im, int quality)
{
    uint8_t *data;
    size_t size;
    CT_TRY(ct_image_encode_jpeg(im, quality, &data, &size));
    ct_status st = ct_file_write_atomic(path, data, size);
    ct_free(data);
    return st;
}
