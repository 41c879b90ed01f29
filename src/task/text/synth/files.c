/* Drawn texts as files. */
#include "config.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/workers.h"
#include "task/text/synth/internal.h"

typedef struct write_job {
    const ct_text_gen *g;
    ct_text_pen **pen; /* [threads] */
    const char *dir;
    int digits;
} write_job;

static ct_status write_item(void *user, int worker, int64_t i)
{
    write_job *j = user;
    ct_status st = CT_OK;
    ct_image im = { 0 };
    char label[CT_TEXT_BYTES], *path = NULL;
    uint8_t *data = NULL;
    size_t size;

    if (!j->pen[worker]) CT_TRY(ct_text_pen_open(j->g, &j->pen[worker]));
    CT_GOTO(st, ct_text_pen_draw(j->pen[worker], i, &im, label));
    CT_GOTO(st, ct_image_encode_png(&im, &data, &size));
    path = ct_asprintf("%s/%s_%0*" PRId64 ".png", j->dir, label, j->digits, i);
    if (!path) {
        st = CT_ENOMEM;
        goto fail;
    }
    CT_GOTO(st, ct_file_write_light(path, data, size));
fail:
    ct_image_free(&im);
    ct_free(data);
    ct_free(path);
    return st;
}

/* Texts become file names and are cut at '_' when they are read. */
static ct_status check_names(const ct_text_gen *g)
{
    for (int i = 0; i < g->letters; i++) {
        switch (g->cp[i]) {
        case '/': return ct_fail(CT_ECONFIG, "the alphabet holds '/', which no file name can");
        case '_':
            return ct_fail(CT_ECONFIG,
                           "the alphabet holds '_', which stands between label and number in the file names");
        case '.': return ct_fail(CT_ECONFIG, "the alphabet holds '.', which may hide the file");
        default: break;
        }
    }
    return CT_OK;
}

ct_status ct_synth_text_write(const ct_text_params *p, uint64_t seed, int64_t count, const char *dir, bool overwrite,
                              int threads)
{
    ct_status st = CT_OK;
    ct_text_gen *g = NULL;
    write_job j = { .dir = dir, .digits = 6 };

    if (count < 1) return ct_fail(CT_EINVAL, "no pictures are asked for (count %" PRId64 ")", count);
    if (threads < 1) threads = 1;
    CT_GOTO(st, ct_text_gen_open(p, seed, &g));
    CT_GOTO(st, check_names(g));
    CT_GOTO(st, ct_mkdir_fresh(dir, overwrite));
    for (int64_t v = count - 1; v >= 1000000; v /= 10) j.digits++;
    j.g = g;
    j.pen = ct_calloc((size_t)threads, sizeof *j.pen, "text generator");
    if (!j.pen) {
        st = CT_ENOMEM;
        goto fail;
    }
    ct_pace pace = ct_pace_begin("drawing pictures", count);
    st = ct_parallel_for(count, threads, write_item, &j, &pace);
fail:
    for (int i = 0; j.pen && i < threads; i++) ct_text_pen_close(j.pen[i]);
    ct_free(j.pen);
    ct_text_gen_close(g);
    return st;
}
