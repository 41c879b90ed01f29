/* Labels of dots, and pictures of dots. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "data/scan.h"
#include "base/workers.h"
#include "toy/toy.h"

/* ---- labels ---- */

enum { FIELD_POINT, FIELD_BRIGHT, FIELDS };

static const ct_field fields[FIELDS] = {
    { .name = "point", .dtype = CT_F32, .kind = CT_FIELD_POINTS, .ndim = 2, .dim = { 1, 2 } },
    { .name = "bright", .dtype = CT_I32, .kind = CT_FIELD_IDS, .ndim = 1, .dim = { 1 } },
};

/* "12.5 8.25 1" */
static bool parse(const char *text, toy_label *out)
{
    char *end;
    *out = (toy_label){ 0 };
    out->x = strtof(text, &end);
    if (end == text || *end != ' ') return false;
    out->y = strtof(text = end + 1, &end);
    if (end == text || *end != ' ') return false;
    out->bright = end[1] - '0';
    return (end[1] == '0' || end[1] == '1') && end[2] == '\0' && isfinite(out->x) && isfinite(out->y);
}

static ct_status read_label(const char *name, const char *text, toy_label *out)
{
    if (parse(text, out)) return CT_OK;
    return ct_fail(CT_EDATA,
                   "%s: the label '%s' is not 'X Y B': two numbers of pixels, and 1 for a bright dot, 0 for a dark one",
                   name, text);
}

static ct_status label_from(const void *user, const char *name, const char *text, char **out)
{
    toy_label label;
    (void)user;
    if (!text) return ct_fail(CT_EDATA, "%s: the place of a dot stands in a labels.csv, not in a name", name);
    CT_TRY(read_label(name, text, &label));
    return (*out = ct_strdup(text, "label")) ? CT_OK : CT_ENOMEM;
}

static ct_status scan(ct_labels *l, const char *path, ct_scan *out)
{
    (void)l;
    return ct_scan_folder(path, label_from, NULL, out);
}

/* The fields are always the same. */
static ct_status learn(ct_labels *l, const char *const *text, int64_t n)
{
    (void)text;
    (void)n;
    l->fields = FIELDS;
    memcpy(l->field, fields, sizeof fields);
    return CT_OK;
}

static ct_status encode(const ct_labels *l, const ct_label_in *in, void *const row[])
{
    toy_label label;
    (void)l;
    CT_TRY(read_label(in->name, in->text, &label));
    const bool sized = in->from_width > 0;
    if (label.x < 0 || label.y < 0 || (sized && (label.x > (float)in->from_width || label.y > (float)in->from_height)))
        return ct_fail(CT_EDATA, "%s: the dot at '%s' is outside of the picture", in->name, in->text);
    float *point = row[FIELD_POINT];
    point[0] = (float)(in->fit.scale[0] * (double)label.x + in->fit.shift[0]); /* a picture takes its dot along */
    point[1] = (float)(in->fit.scale[1] * (double)label.y + in->fit.shift[1]);
    memcpy(row[FIELD_BRIGHT], &label.bright, sizeof label.bright);
    return CT_OK;
}

static void blank(const ct_labels *l, void *const row[])
{
    (void)l;
    memset(row[FIELD_POINT], 0, ct_field_bytes(&fields[FIELD_POINT]));
    memset(row[FIELD_BRIGHT], 0, ct_field_bytes(&fields[FIELD_BRIGHT]));
}

static void close_labels(ct_labels *l) { ct_free(l); }

ct_status toy_labels(const ct_config *cfg, const ct_facts *facts, ct_labels **out)
{
    static const ct_labels_ops ops = { .scan = scan, .learn = learn, .encode = encode, .blank = blank,
                                       .close = close_labels };
    (void)cfg;
    (void)facts;
    if (!(*out = ct_calloc(1, sizeof **out, "label reader"))) return CT_ENOMEM;
    (*out)->ops = &ops;
    return CT_OK;
}

toy_label toy_label_of(const ct_dataset *set, int64_t i)
{
    const float *point = ct_dataset_field(set, FIELD_POINT, i);
    const int32_t *bright = ct_dataset_field(set, FIELD_BRIGHT, i);
    return (toy_label){ point[0], point[1], *bright };
}

/* ---- pictures ---- */

#define BORDER 6.0      /* pixels between a dot's middle and the rim: augmentation moves it by less */
#define RADIUS 1.6      /* standard deviation of the dot's profile, pixels */
#define GROUND 128.0    /* gray of the ground */
#define CONTRAST 90.0   /* of the dot's middle against it */
#define NOISE 6.0       /* standard deviation of the ground */

/* Picture `index` of `seed`, and its label (ct_free()). */
static ct_status draw(uint64_t seed, int64_t index, ct_image *out, char **label)
{
    ct_rng rng;
    ct_rng_init(&rng, seed, CT_RNG_SYNTH, (uint64_t)index);
    /* a label has three digits; the dot is drawn where the label says */
    const double x = round(1e3 * ct_rng_uniform(&rng, BORDER, TOY_SIZE - BORDER)) / 1e3;
    const double y = round(1e3 * ct_rng_uniform(&rng, BORDER, TOY_SIZE - BORDER)) / 1e3;
    const bool bright = ct_rng_below(&rng, 2);
    CT_TRY(ct_image_make(TOY_SIZE, TOY_SIZE, 1, 0, out));
    for (int i = 0; i < TOY_SIZE * TOY_SIZE; i++) {
        const double dx = i % TOY_SIZE + 0.5 - x, dy = i / TOY_SIZE + 0.5 - y;
        const double dot = CONTRAST * exp(-(dx * dx + dy * dy) / (2 * RADIUS * RADIUS));
        const double v = GROUND + NOISE * ct_rng_normal(&rng) + (bright ? dot : -dot);
        out->px[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : lround(v));
    }
    if ((*label = ct_asprintf("%.3f %.3f %d", x, y, bright))) return CT_OK;
    ct_image_free(out);
    return CT_ENOMEM;
}

static ct_status open_source(const void *user, void **state)
{
    *state = (void *)(uintptr_t)user; /* it is only read */
    return CT_OK;
}

static ct_status render(void *state, int64_t index, ct_image *out, char **label)
{
    const uint64_t *seed = state;
    *label = NULL;
    return draw(*seed, index, out, label);
}

static void close_source(void *state) { (void)state; }
static void release(const void *user) { ct_free((void *)(uintptr_t)user); }

static ct_status open_generator(const ct_config *cfg, const ct_facts *facts, ct_source *source, ct_labels **labels)
{
    static const char version[] = "dot 1"; /* another one: other pictures */
    char all[sizeof version + 32];
    CT_TRY(toy_labels(cfg, facts, labels));
    uint64_t *seed = ct_malloc(sizeof *seed, "generator");
    if (!seed) {
        ct_labels_close(*labels);
        *labels = NULL;
        return CT_ENOMEM;
    }
    *seed = (uint64_t)cfg->data.synth.seed;
    *source = (ct_source){ .name = toy_generator.name, .width = TOY_SIZE, .height = TOY_SIZE,
                           .user = seed, .open = open_source,
                           .render = render, .close = close_source, .release = release };
    snprintf(all, sizeof all, "%s %" PRIu64, version, *seed);
    ct_hash_hex(all, strlen(all), source->key);
    return CT_OK;
}

const ct_generator toy_generator = {
    .name = "synth:dot",
    .doc = "a dot on a noisy ground, bright or dark",
    .open = open_generator,
};

/* ---- as files: dot_000000.png, ..., labels.csv ---- */

typedef struct job {
    const char *dir;
    uint64_t seed;
    char **label; /* [count] */
} job;

static ct_status write_item(void *user, int worker, int64_t i)
{
    job *j = user;
    ct_image im;
    (void)worker;
    CT_TRY(draw(j->seed, i, &im, &j->label[i]));
    char *path = ct_asprintf("%s/dot_%06" PRId64 ".png", j->dir, i);
    ct_status st = path ? ct_image_write_png(path, &im) : CT_ENOMEM;
    ct_image_free(&im);
    ct_free(path);
    return st;
}

static ct_status write_labels(const job *j, int64_t count)
{
    char line[64];
    ct_atomic_file *f;
    char *path = ct_path_join(j->dir, "labels.csv");
    if (!path) return CT_ENOMEM;
    ct_status st = ct_atomic_open(path, &f);
    ct_free(path);
    if (st != CT_OK) return st;
    snprintf(line, sizeof line, "file,label\n");
    CT_GOTO(st, ct_atomic_write(f, line, strlen(line)));
    for (int64_t i = 0; i < count; i++) {
        snprintf(line, sizeof line, "dot_%06" PRId64 ".png,%s\n", i, j->label[i]);
        CT_GOTO(st, ct_atomic_write(f, line, strlen(line)));
    }
    return ct_atomic_commit(f);
fail:
    ct_atomic_abort(f);
    return st;
}

ct_status toy_generate(const ct_option *option, size_t options, const char *dir, int64_t count, uint64_t seed,
                       int threads, bool force,
                       FILE *to)
{
    (void)option; /* there are none */
    (void)options;
    (void)to;
    if (!dir || count < 1) return ct_fail(CT_EINVAL, "gen: needs a folder and a count of at least 1");
    if (ct_path_exists(dir) && !force) return ct_fail(CT_EIO, "%s: is there already (--force writes into it)", dir);
    job j = { .dir = dir, .seed = seed };
    ct_status st;
    CT_TRY(ct_mkdir_p(dir));
    if (!(j.label = ct_calloc((size_t)count, sizeof *j.label, "labels"))) return CT_ENOMEM;
    CT_GOTO(st, ct_parallel_for(count, threads, write_item, &j, NULL));
    st = write_labels(&j, count);
fail:
    for (int64_t i = 0; i < count; i++) ct_free(j.label[i]);
    ct_free(j.label);
    return st;
}
