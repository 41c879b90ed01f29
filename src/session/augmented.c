/* Pictures as they come out of a training's preprocessing. */
#include "config.h"

#include "session/augmented.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "program/spec.h"

/* What the program of pictures reads. */
typedef struct input {
    uint8_t *px;     /* [n,H,W,C] */
    int32_t *index;  /* [n,columns], each row of its own picture */
    float *windows;  /* [n,4]; NULL: the batch has none */
} input;

static void input_free(input *in)
{
    ct_free(in->px);
    ct_free(in->index);
    ct_free(in->windows);
}

/* One picture of each sample of a batch, of a clip the frame in its middle. */
static ct_status take(const ct_batch *b, bool clips, input *in)
{
    const size_t n = (size_t)b->n, columns = clips ? CT_INDEX_OF_CLIPS : CT_INDEX_OF_PICTURES;
    const size_t bytes =
        (size_t)ct_dataset_height(b->data) * (size_t)b->width * (size_t)ct_dataset_channels(b->data);
    in->px = ct_calloc(n, bytes, "pictures to look at");
    in->index = ct_calloc(n * columns, sizeof *in->index, "pictures to look at");
    if (b->windows) in->windows = ct_calloc(4 * n, sizeof *in->windows, "pictures to look at");
    if (!in->px || !in->index || (b->windows && !in->windows)) return CT_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const int32_t *row = b->index + columns * (clips ? i * (size_t)b->frames + (size_t)b->frames / 2 : i);
        memcpy(in->px + i * bytes, b->px + (size_t)row[0] * bytes, bytes);
        memcpy(in->index + i * columns, row, columns * sizeof *row);
        in->index[i * columns] = (int32_t)i;
    }
    if (b->windows) memcpy(in->windows, b->windows, 4 * n * sizeof *in->windows);
    return CT_OK;
}

/* Through preprocessing: x [n,H,W,C] of values 0..1, *shape says of how many; ct_free(). */
static ct_status preprocess(const ct_session *s, const ct_batch *b, const input *in, ct_desc *shape, float **x)
{
    ct_program_spec spec = s->spec;
    ct_device_opts opts = { .threads = s->device_opts.threads };
    const ct_arenas_needs needs = { .train = false };
    const ct_backend *cpu;
    ct_program p = { .graph = NULL };
    ct_arenas *store = NULL;
    ct_plan *plan = NULL;
    ct_layout layout;
    ct_status st;
    spec.src_h = ct_dataset_height(b->data);
    spec.src_w = b->width;
    if (ct_model_elastic(&spec.model) && !ct_model_clip(&spec.model)) ct_model_set_length(&spec.model, b->width);
    if (spec.small.steps > 0) ct_program_shrink(&spec); /* these are pictures of the first steps */
    CT_TRY(ct_backend_load("cpu", &cpu));
    CT_GOTO(st, ct_program_pictures(&spec, b->n, &p));
    CT_GOTO(st, ct_layout_make(p.graph, &layout));
    CT_GOTO(st, ct_arenas_create(cpu, &opts, &layout, &needs, false, &store));
    CT_GOTO(st, ct_plan_create(store, p.graph, false, &plan));
    const ct_val window = ct_program_role(&p, CT_PORT_WINDOW), seen = ct_program_port(&p, "x");
    CT_GOTO(st, ct_plan_upload(plan, ct_program_role(&p, CT_PORT_PIXELS), in->px));
    CT_GOTO(st, ct_plan_upload(plan, ct_program_role(&p, CT_PORT_INDEX), in->index));
    if (window != CT_NOVAL) CT_GOTO(st, ct_plan_upload(plan, window, in->windows));
    *shape = *ct_graph_desc(p.graph, seen);
    if (!(*x = ct_malloc(ct_desc_bytes(shape), "pictures to look at"))) CT_GOTO(st, CT_ENOMEM);
    CT_GOTO(st, ct_plan_run(plan));
    st = ct_plan_download(plan, seen, *x);
fail:
    ct_plan_free(plan);
    ct_arenas_free(store);
    ct_program_free(&p);
    return st;
}

/* What the source of a stream says of a picture, which has no label before it is drawn. */
static ct_status drawn_label(const ct_source *src, int64_t picture, char **label)
{
    void *state;
    ct_image im;
    if (src->clip) return src->clip->label(src->user, picture, label);
    CT_TRY(src->open(src->user, &state));
    const ct_status st = src->render(state, picture, &im, label);
    if (src->close) src->close(state);
    if (st == CT_OK) ct_image_free(&im);
    return st;
}

/* Row i of x [n,H,W,stored], of which the first channels are pixels, as a picture. */
static ct_status finish(const ct_batch *b, int64_t i, const ct_desc *shape, const float *x, ct_augmented *out)
{
    const ct_source *src = ct_dataset_stream(b->data);
    const int64_t h = shape->dim[1], w = shape->dim[2], stored = shape->dim[3];
    const int c = ct_dataset_channels(b->data);
    out->sample = b->sample[i];
    CT_TRY(ct_image_make((int)w, (int)h, c, 0, &out->image));
    for (int64_t k = 0; k < h * w; k++)
        for (int64_t ch = 0; ch < c; ch++)
            out->image.px[k * c + ch] = (uint8_t)lrintf(255 * x[(i * h * w + k) * stored + ch]);
    if (src) return drawn_label(src, src->first + out->sample, &out->label);
    out->label = ct_strdup(ct_dataset_label_text(b->data, out->sample), "pictures to look at");
    return out->label ? CT_OK : CT_ENOMEM;
}

void ct_augmented_free(ct_augmented *a, int n)
{
    for (int i = 0; a && i < n; i++) {
        ct_free(a[i].label);
        ct_image_free(&a[i].image);
    }
    ct_free(a);
}

ct_status ct_augmented_draw(const ct_session *s, const ct_config *cfg, const ct_view *view, int most,
                            ct_augmented **out, int *n)
{
    const bool clips = ct_model_clip(&s->spec.model) != NULL;
    ct_loader_spec spec;
    ct_loader *loader = NULL;
    const ct_batch *b;
    input in = { .px = NULL };
    ct_desc shape;
    float *x = NULL;
    ct_status st;
    *out = NULL;
    *n = 0;
    ct_spec_loader(cfg, view, &spec);
    if (most > CT_AUGMENTED_MOST) most = CT_AUGMENTED_MOST;
    /* clips are loaded whole: not more of them than training has in memory anyway */
    if (!clips || spec.batch > most) spec.batch = most;
    spec.drop_last = false;
    spec.workers = 0;
    spec.depth = 1;
    spec.epochs = 1;
    CT_TRY(ct_loader_open(&spec, &loader));
    CT_GOTO(st, ct_loader_next(loader, &b));
    CT_GOTO(st, take(b, clips, &in));
    CT_GOTO(st, preprocess(s, b, &in, &shape, &x));
    if (!(*out = ct_calloc((size_t)b->n, sizeof **out, "pictures to look at"))) CT_GOTO(st, CT_ENOMEM);
    *n = b->n;
    for (int i = 0; i < *n; i++) CT_GOTO(st, finish(b, i, &shape, x, &(*out)[i]));
fail:
    if (st != CT_OK) {
        ct_augmented_free(*out, *n);
        *out = NULL;
        *n = 0;
    }
    input_free(&in);
    ct_free(x);
    ct_loader_close(loader);
    return st;
}
