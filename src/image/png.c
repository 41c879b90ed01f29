#include "config.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "image/image_internal.h"

/* What libpng's callbacks see. Everything that must survive a longjmp lives here, not in local variables. */
typedef struct png_job {
    const char *name;
    const uint8_t *data; /* reading: the file */
    size_t size, pos;
    uint8_t *buf;        /* writing: the result */
    size_t len, cap;
    png_structp png;
    png_infop info;
    png_bytep *rows;     /* [h] */
    uint8_t *px;
    const uint8_t *from; /* writing: the pixels, [h,w,c] */
    int w, h, c;
    bool fast;
    ct_status st;
    bool no_memory;
    char message[200];
    jmp_buf jump;
} png_job;

static void on_error(png_structp png, png_const_charp msg)
{
    png_job *job = png_get_error_ptr(png);
    snprintf(job->message, sizeof job->message, "%s", msg);
    longjmp(job->jump, 1);
}

/* libpng warns where it repaired something. About colour profiles or texts that does not matter; about the pixels or
 * what gives them their colour it means a damaged file. */
static void on_warning(png_structp png, png_const_charp msg)
{
    static const char *const matter[] = { "IDAT", "PLTE", "tRNS", "IHDR", "palette", "image data", "compressed data" };
    for (size_t i = 0; i < sizeof matter / sizeof *matter; i++) {
        if (strstr(msg, matter[i])) on_error(png, msg);
    }
}

static png_voidp on_malloc(png_structp png, png_alloc_size_t bytes)
{
    png_job *job = png_get_mem_ptr(png);
    void *p = ct_malloc(bytes, "PNG decoder");
    if (!p) job->no_memory = true;
    return p;
}

static void on_free(png_structp png, png_voidp p)
{
    (void)png;
    ct_free(p);
}

static void on_read(png_structp png, png_bytep out, size_t n)
{
    png_job *job = png_get_io_ptr(png);
    if (n > job->size - job->pos) png_error(png, "the file ends too early");
    memcpy(out, job->data + job->pos, n);
    job->pos += n;
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* libpng takes the memory that a chunk claims before it reads it, so the claims are held against the file first. Counts
 * the bytes of compressed pixels, too. What else may be wrong with a chunk libpng finds out. */
static bool check_chunks(png_job *job, uint64_t *packed)
{
    *packed = 0;
    for (size_t at = 8; at < job->size && job->size - at >= 12;) {
        const uint8_t *p = job->data + at;
        const uint32_t bytes = get32(p);
        if (bytes > job->size - at - 12) {
            char type[5] = "";
            for (int i = 0; i < 4; i++) type[i] = p[4 + i] >= 'A' && p[4 + i] <= 'z' ? (char)p[4 + i] : '?';
            snprintf(job->message, sizeof job->message,
                     "the file ends too early: chunk %s claims %u bytes, %zu are left", type, (unsigned)bytes,
                     job->size - at - 12);
            return false;
        }
        if (memcmp(p + 4, "IDAT", 4) == 0) *packed += bytes;
        if (memcmp(p + 4, "IEND", 4) == 0) break;
        at += 12 + (size_t)bytes;
    }
    return true;
}

/* Deflate gives at most 1,032 bytes for each that it reads: a picture that claims more has not got its pixels, and no
 * memory for them is taken. */
static void check_packed(png_job *job, uint64_t packed)
{
    const uint64_t bits = (uint64_t)png_get_bit_depth(job->png, job->info) * png_get_channels(job->png, job->info);
    const uint64_t row = (png_get_image_width(job->png, job->info) * bits + 7) / 8;
    if (row * png_get_image_height(job->png, job->info) > packed * 1032 + 1032)
        png_error(job->png, "Not enough image data");
}

static void read_body(png_job *job, int peek, ct_raw *out)
{
    png_structp png = job->png;
    uint64_t packed;
    if (!check_chunks(job, &packed)) longjmp(job->jump, 1);
    png_set_read_fn(png, job, on_read);
    /* The real limits are checked below, with a message that names them; these keep libpng from refusing first. */
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_chunk_malloc_max(png, 8u << 20);
    png_set_chunk_cache_max(png, 256);
    /* Texts, profiles, times: nothing here reads them, and together they may be unpacked to gigabytes. */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(png, job->info);

    png_uint_32 w, h;
    int depth, color;
    png_get_IHDR(png, job->info, &w, &h, &depth, &color, NULL, NULL, NULL);
    if (ct_image_check_size(job->name, w, h) != CT_OK) {
        job->message[0] = '\0'; /* the message is recorded already */
        longjmp(job->jump, 1);
    }
    out->w = (int)w;
    out->h = (int)h;
    if (peek) return;
    check_packed(job, packed);

    if (depth == 16) png_set_scale_16(png);
    png_set_expand(png); /* palette -> RGB, gray 1/2/4 -> 8, tRNS -> alpha */
    png_set_interlace_handling(png);
    png_read_update_info(png, job->info);
    out->c = png_get_channels(png, job->info);

    size_t row = (size_t)w * (size_t)out->c;
    if (png_get_bit_depth(png, job->info) != 8 || png_get_rowbytes(png, job->info) != row) {
        png_error(png, "unexpected row format");
    }
    job->px = ct_malloc(row * h, "PNG pixels");
    job->rows = job->px ? ct_malloc(h * sizeof *job->rows, "PNG rows") : NULL;
    if (!job->rows) {
        job->no_memory = true;
        longjmp(job->jump, 1);
    }
    for (png_uint_32 y = 0; y < h; y++) job->rows[y] = job->px + row * y;
    png_read_image(png, job->rows);
    png_read_end(png, NULL);
}

ct_status ct_png_decode(const uint8_t *data, size_t size, const char *name, int peek, ct_raw *out)
{
    png_job *job = ct_calloc(1, sizeof *job, "PNG decoder");
    if (!job) return CT_ENOMEM;
    job->name = name;
    job->data = data;
    job->size = size;

    if (setjmp(job->jump) == 0) {
        job->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, job, on_error, on_warning, job, on_malloc, on_free);
        if (job->png) job->info = png_create_info_struct(job->png);
        if (job->info) read_body(job, peek, out);
        else job->no_memory = true;
        if (job->no_memory) job->st = CT_ENOMEM;
    } else if (job->no_memory) {
        job->st = CT_ENOMEM;
    } else if (job->message[0]) {
        job->st = ct_fail(CT_EFORMAT, "%s: damaged PNG: %s", name, job->message);
    } else {
        job->st = CT_EFORMAT; /* recorded where it was noticed */
    }
    if (job->png) png_destroy_read_struct(&job->png, &job->info, NULL);
    ct_status st = job->st;
    if (st == CT_OK) {
        out->px = job->px;
    } else {
        ct_free(job->px);
        *out = (ct_raw){ 0 };
    }
    ct_free(job->rows);
    ct_free(job);
    return st;
}

static void on_write(png_structp png, png_bytep data, size_t n)
{
    png_job *job = png_get_io_ptr(png);
    if (n > job->cap - job->len) {
        size_t cap = job->cap * 2 > job->len + n ? job->cap * 2 : job->len + n + 4096;
        uint8_t *p = ct_realloc(job->buf, cap, 1, "PNG file");
        if (!p) {
            job->no_memory = true;
            png_error(png, "out of memory");
        }
        job->buf = p;
        job->cap = cap;
    }
    memcpy(job->buf + job->len, data, n);
    job->len += n;
}

static void on_flush(png_structp png)
{
    (void)png;
}

static void write_body(png_job *job)
{
    static const int kinds[] = { 0, PNG_COLOR_TYPE_GRAY, 0, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA };
    png_structp png = job->png;
    png_set_write_fn(png, job, on_write, on_flush);
    png_set_IHDR(png, job->info, (png_uint_32)job->w, (png_uint_32)job->h, 8, kinds[job->c], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (job->fast) {
        /* one filter, not a choice for each row, and runs only, not the search for what came before: pictures with the
           grain of photographs hardly gain by either */
        png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
        png_set_compression_level(png, 1);
        png_set_compression_strategy(png, Z_RLE);
    }
    png_write_info(png, job->info);
    for (int y = 0; y < job->h; y++) png_write_row(png, job->from + (size_t)y * (size_t)job->w * (size_t)job->c);
    png_write_end(png, NULL);
}

static ct_status encode(png_job *job, uint8_t **data, size_t *size)
{
    if (setjmp(job->jump) == 0) {
        job->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, job, on_error, on_warning, job, on_malloc, on_free);
        if (job->png) job->info = png_create_info_struct(job->png);
        if (job->info) write_body(job);
        else job->st = CT_ENOMEM;
    } else {
        job->st = job->no_memory ? CT_ENOMEM : ct_fail(CT_EINTERNAL, "PNG encoder: %s", job->message);
    }
    if (job->png) png_destroy_write_struct(&job->png, &job->info);
    ct_status st = job->st;
    if (st == CT_OK) {
        *data = job->buf;
        *size = job->len;
    } else {
        ct_free(job->buf);
    }
    ct_free(job);
    return st;
}

static ct_status encode_pixels(const uint8_t *px, int w, int h, int c, bool fast, uint8_t **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    if (!px || (c != 1 && c != 3 && c != 4)) return ct_fail(CT_EINVAL, "no picture to write as PNG");
    png_job *job = ct_calloc(1, sizeof *job, "PNG encoder");
    if (!job) return CT_ENOMEM;
    job->from = px;
    job->w = w;
    job->h = h;
    job->c = c;
    job->fast = fast;
    return encode(job, data, size);
}

ct_status ct_image_encode_png(const ct_image *im, uint8_t **data, size_t *size)
{
    return encode_pixels(im->c == 4 ? NULL : im->px, im->w, im->h, im->c, false, data, size);
}

ct_status ct_image_encode_png_fast(const uint8_t *px, int w, int h, int c, uint8_t **data, size_t *size)
{
    return encode_pixels(px, w, h, c, true, data, size);
}
