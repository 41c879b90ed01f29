/* What `captrain init` writes for pictures of text. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "task/text/text.h"

enum {
    LOW = 32, HIGH = 64, HIGHEST = 128, /* pixels of height */
    WIDEST = 4096,
    MANY = 1000, /* pictures, of which a model without a memory learns as well as one with an LSTM, and sooner */
    PLENTY = 10000 /* of which it reads better if it sees some as they are: changed ones are blurred */
};

typedef struct frame {
    int height, width; /* pixels; width: of the widest picture where they differ */
    double least, most; /* width / height, of all pictures */
} frame;

static double shape_of(const ct_seen_size *s) { return (double)s->width / s->height; }

/* How high: as they are, where the small models do well; their widths follow. */
static frame frame_of(const ct_seen *seen)
{
    const ct_seen_size *usual = &seen->size[0];
    frame f = { .height = usual->height < LOW ? LOW : usual->height > HIGH ? HIGH : usual->height };
    f.least = f.most = shape_of(usual);
    for (size_t i = 1; i < seen->sizes; i++) {
        f.least = fmin(f.least, shape_of(&seen->size[i]));
        f.most = fmax(f.most, shape_of(&seen->size[i]));
    }
    return f;
}

/* Labels of the shortest and the longest length. */
static void lengths_of(const ct_text_survey *v, int *least, int *most)
{
    *least = *most = 0;
    for (int i = 1; i <= CT_LABEL_MAX; i++) {
        if (v->lengths[i] == 0) continue;
        if (*least == 0) *least = i;
        *most = i;
    }
}

static int within(double v, int low, int high) { return v < low ? low : v > high ? high : (int)lround(v); }

/* ---- the sections ---- */

static ct_status propose_model(const ct_seen *seen, int least, int most, const frame *f, ct_propose_put *put,
                               void *user)
{
    const bool few = seen->samples < MANY;
    char why[300], labels[64];
    if (least != most) snprintf(labels, sizeof labels, "labels have %d to %d characters", least, most);
    else if (f->most > 1.1 * f->least) snprintf(labels, sizeof labels, "pictures have different shapes");
    else snprintf(labels, sizeof labels, "labels have %d characters", most);
    if (few)
        snprintf(why, sizeof why, "%s, read from left to right (CTC); of so few pictures this one learns most, of many "
                 "reader. Where validation stays near 0: more pictures, or drawn ones first (gen text, train --init)",
                 labels);
    else
        snprintf(why, sizeof why, "%s, read from left to right (CTC); of many pictures this one learns fastest; "
                 "reader-large (optimizer.lr 0.003) tells more alike letters apart, and takes 1.7 times as long",
                 labels);
    CT_TRY(put(user, "model.name", few ? "crnn-small" : "reader", why));
    if (few) return CT_OK;
    return put(user, "model.init", "dirac", "convolutions begin by letting pictures pass, and have less to unlearn");
}

/* Time steps are a quarter of the width: the height that gives every label what it needs, or the width to which what
 * stays too narrow is stretched; 0: none. */
static int make_room(const ct_text_survey *v, int most, frame *f)
{
    if (v->tightest <= 0) return 0;
    const double need = 4.0 * v->tightest + 1;
    if (need > f->height) f->height = need > HIGHEST ? HIGHEST : (int)ceil(need);
    return need > HIGHEST ? 4 * (2 * most - 1) : 0;
}

static ct_status propose_size(const ct_seen *seen, int least_width, const frame *f, ct_propose_put *put, void *user)
{
    char value[32], why[200];
    const ct_seen_size *s = &seen->size[0];
    if (seen->sizes == 1) snprintf(why, sizeof why, "pixels; all pictures have %dx%d", s->width, s->height);
    else snprintf(why, sizeof why, "pixels; %zu sizes, most often %dx%d", seen->sizes, s->width, s->height);
    snprintf(value, sizeof value, "%d", f->height);
    CT_TRY(put(user, "data.height", value, why));
    snprintf(value, sizeof value, "%d", f->width);
    CT_TRY(put(user, "data.width", value,
               seen->sizes > 1 ? "pixels; of the widest picture at that height" : "in the same proportion"));
    CT_TRY(put(user, "data.size_rule", "fit_height",
               "pictures keep their proportions and are padded at the right; resize would stretch them"));
    if (least_width == 0) return CT_OK;
    snprintf(value, sizeof value, "%d", least_width < f->width ? least_width : f->width);
    return put(user, "data.min_width", value, "narrower pictures are stretched, to give their labels the time steps "
               "they need");
}

static ct_status propose_labels(const ct_seen *seen, ct_propose_put *put, void *user)
{
    char why[200];
    const ct_charset *cs = ct_text_reader_charset(seen->reader);
    const ct_text_survey *v = (const ct_text_survey *)seen->survey;
    double all = 0; /* characters of all labels */
    CT_TRY(put(user, "data.channels", seen->coloured ? "3" : "1",
               seen->coloured ? "some pictures are coloured; 1 would make all gray" : "all pictures are gray"));
    for (int i = 1; i <= CT_LABEL_MAX; i++) all += (double)i * (double)v->lengths[i];
    snprintf(why, sizeof why, "the %d characters of the labels, each about %.0f times, in their order as classes; one "
             "that is missing here can never be read", cs->n, all / cs->n);
    CT_TRY(put(user, "data.charset", cs->utf8, why));
    return seen->labels ? put(user, "data.labels", seen->labels, "the label file that was named") : CT_OK;
}

/* Training sees each picture a little changed, so that it cannot learn them by heart. */
static ct_status propose_augment(const ct_seen *seen, const frame *f, ct_propose_put *put, void *user)
{
    char shift[32];
    if (seen->samples >= PLENTY)
        CT_TRY(put(user, "augment.probability", "0.5", "of every second picture nothing is changed: there are many, "
                   "and those to be read are as they are, too"));
    snprintf(shift, sizeof shift, "%d", within(f->height / 16.0, 1, 8));
    CT_TRY(put(user, "augment.shift", shift, "pixels that a picture is moved, at most, anew in every epoch: there are "
               "then more of them to learn from"));
    CT_TRY(put(user, "augment.scale", "0.08", "so much larger or smaller"));
    CT_TRY(put(user, "augment.rotate", "4", "degrees turned"));
    CT_TRY(put(user, "augment.shear", "0.1", "slanted"));
    CT_TRY(put(user, "augment.noise", "0.03", "noise, as a share of the range from black to white"));
    CT_TRY(put(user, "augment.brightness", "0.08", "brighter or darker"));
    return put(user, "augment.contrast", "0.15", "more or less contrast");
}

static ct_status propose_learning(const ct_seen *seen, ct_propose_put *put, void *user)
{
    if (seen->samples >= MANY) {
        CT_TRY(put(user, "loss.label_smoothing", "0.05", "asks for a little less than certainty, which makes a better "
                   "reader; confidences are put right at the end"));
        CT_TRY(put(user, "optimizer.name", "muon", "learns from fewer pictures than adamw, with such models"));
        CT_TRY(put(user, "optimizer.lr", "0.008", "what such models learned best with"));
    } else CT_TRY(put(user, "optimizer.lr", "0.002", "the learning rate of the shipped examples for such models"));
    CT_TRY(put(user, "optimizer.weight_decay", "0.05", "holds weights small, against learning by heart"));
    CT_TRY(put(user, "optimizer.clip_grad_norm", "1", "one odd batch cannot throw the weights off"));
    return put(user, "optimizer.ema_decay", "0.99", "scored and kept is an average over the last steps");
}

ct_status ct_text_propose(const ct_seen *seen, ct_propose_put *put, void *user)
{
    const ct_text_survey *v = (const ct_text_survey *)seen->survey;
    int least, most, least_width;
    frame f = frame_of(seen);
    lengths_of(v, &least, &most);
    if (most == 0) return ct_fail(CT_EDATA, "all labels are empty");
    least_width = make_room(v, most, &f);
    f.width = within(f.height * f.most, f.height / 2 < 8 ? 8 : f.height / 2, WIDEST);
    CT_TRY(propose_model(seen, least, most, &f, put, user));
    CT_TRY(propose_size(seen, least_width, &f, put, user));
    CT_TRY(propose_labels(seen, put, user));
    CT_TRY(propose_augment(seen, &f, put, user));
    CT_TRY(propose_learning(seen, put, user));
    CT_TRY(put(user, "schedule.warmup_epochs", "1", "the learning rate rises so long, then falls to 0"));
    return ct_propose_length(seen, seen->samples >= 4 * MANY ? 64 : seen->samples >= MANY ? 32 : 16, 3000, 5, 200, put,
                             user);
}
