#include "config.h"

#include "task/slider/label.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void ct_slider_label_init(ct_slider_label *l)
{
    *l = (ct_slider_label){ .angle = NAN, .scale = 1, .pic = -1 };
}

/* ---- writing ---- */

static json_t *pair(const double v[2]) { return json_pack("[f,f]", v[0], v[1]); }

static ct_status put_labels(const ct_slider_label *l, json_t *into)
{
    json_t *pose;
    CT_TRY(ct_json_set(into, "comp_piece_center", pair(l->piece)));
    CT_TRY(ct_json_set(into, "bg_gap_center", pair(l->gap)));
    if (!isnan(l->angle)) {
        CT_TRY(ct_json_set(into, "gap_pose", pose = json_object()));
        CT_TRY(ct_json_set(pose, "delta_theta_deg", ct_json_number(l->angle)));
        CT_TRY(ct_json_set(pose, "scale", ct_json_number(l->scale)));
    }
    return l->side > 0 ? ct_json_set(into, "puzzle_size", ct_json_number(l->side)) : CT_OK;
}

static ct_status put_fakes(const ct_slider_label *l, json_t *entry)
{
    json_t *more, *list;
    if (l->fakes == 0) return CT_OK;
    CT_TRY(ct_json_set(entry, "augmented_labels", more = json_object()));
    CT_TRY(ct_json_set(more, "fake_gaps", list = json_array()));
    for (int k = 0; k < l->fakes; k++) {
        json_t *fake = json_object();
        if (json_array_append_new(list, fake) != 0) return ct_fail(CT_ENOMEM, "out of memory writing a label");
        CT_TRY(ct_json_set(fake, "center", pair(l->fake[k])));
        CT_TRY(ct_json_set(fake, "delta_theta_deg", ct_json_number(l->fake_angle[k])));
        CT_TRY(ct_json_set(fake, "scale", ct_json_number(l->fake_scale[k])));
    }
    return CT_OK;
}

static ct_status put_word(json_t *entry, const char *key, const char *word)
{
    return *word ? ct_json_set(entry, key, json_string(word)) : CT_OK;
}

static ct_status put_all(const ct_slider_label *l, json_t *entry)
{
    json_t *part;
    if (l->pic >= 0) CT_TRY(ct_json_set(entry, "pic_id", json_integer(l->pic)));
    CT_TRY(ct_json_set(entry, "labels", part = json_object()));
    CT_TRY(put_labels(l, part));
    CT_TRY(put_fakes(l, entry));
    if (l->width > 0)
        CT_TRY(ct_json_set(entry, "image_size", json_pack("{s:i,s:i}", "width", l->width, "height", l->height)));
    CT_TRY(put_word(entry, "style", l->style));
    CT_TRY(put_word(entry, "confusion", l->confusion));
    return put_word(entry, "shape", l->shape);
}

json_t *ct_slider_label_json(const ct_slider_label *l)
{
    json_t *entry = json_object();
    if (entry && put_all(l, entry) == CT_OK) return entry;
    json_decref(entry);
    return NULL;
}

char *ct_slider_label_text(const ct_slider_label *l)
{
    json_t *entry = ct_slider_label_json(l);
    char *text = NULL;
    if (entry) text = ct_json_text(entry, 0);
    else ct_fail(CT_ENOMEM, "out of memory writing a label");
    json_decref(entry);
    return text;
}

/* ---- reading ---- */

/* The first of `words` (a blank behind each) that object o has; NULL: none. */
static const char *has_any(const json_t *o, const char *words, char buf[CT_SLIDER_WORD])
{
    for (const char *p = words; *p;) {
        const size_t n = strcspn(p, " ");
        snprintf(buf, CT_SLIDER_WORD, "%.*s", (int)n, p);
        if (json_object_get(o, buf)) return buf;
        p += n + 1;
    }
    return NULL;
}

static ct_status read_point(const char *name, const json_t *v, const char *what, double out[2])
{
    if (json_array_size(v) != 2 || !json_is_number(json_array_get(v, 0)) || !json_is_number(json_array_get(v, 1)))
        return ct_fail(CT_EDATA, "%s: %s is not [x, y] in pixels", name, what);
    for (int k = 0; k < 2; k++) out[k] = json_number_value(json_array_get(v, (size_t)k));
    return CT_OK;
}

/* delta_theta_deg and scale of a gap; both may be absent. */
static ct_status read_pose(const char *name, const json_t *pose, const char *what, double *angle, double *scale)
{
    static const char other_units[] = "angle rotation rotation_angle theta delta_theta delta_theta_rad angle_rad ";
    const json_t *deg = json_object_get(pose, "delta_theta_deg"), *s = json_object_get(pose, "scale");
    char word[CT_SLIDER_WORD];
    if (!deg && has_any(pose, other_units, word))
        return ct_fail(CT_EDATA, "%s: %s has '%s', whose unit is not said; delta_theta_deg (degrees) is read", name,
                       what, word);
    if ((deg && !json_is_number(deg)) || (s && !json_is_number(s)))
        return ct_fail(CT_EDATA, "%s: delta_theta_deg and scale of %s are not numbers", name, what);
    if (deg) *angle = json_number_value(deg);
    if (s) *scale = json_number_value(s);
    if (deg && !(fabs(*angle) <= 180))
        return ct_fail(CT_EDATA, "%s: delta_theta_deg of %s is %g, not within -180..180 degrees", name, what, *angle);
    return CT_OK;
}

static ct_status read_fakes(const char *name, const json_t *entry, ct_slider_label *l)
{
    const json_t *list = json_object_get(json_object_get(entry, "augmented_labels"), "fake_gaps");
    if (!list || json_is_null(list)) return CT_OK;
    if (!json_is_array(list)) return ct_fail(CT_EDATA, "%s: augmented_labels.fake_gaps is not a list", name);
    if (json_array_size(list) > CT_SLIDER_MAX_FAKES)
        return ct_fail(CT_EDATA, "%s: %zu fake gaps, at most %d are read", name, json_array_size(list),
                       CT_SLIDER_MAX_FAKES);
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *fake = json_array_get(list, k);
        CT_TRY(read_point(name, json_object_get(fake, "center"), "center of a fake gap", l->fake[k]));
        l->fake_angle[k] = 0;
        l->fake_scale[k] = 1;
        CT_TRY(read_pose(name, fake, "a fake gap", &l->fake_angle[k], &l->fake_scale[k]));
        l->fakes++;
    }
    return CT_OK;
}

static ct_status read_word(const char *name, const json_t *entry, const char *key, char out[CT_SLIDER_WORD])
{
    const json_t *v = json_object_get(entry, key);
    const char *s = json_string_value(v);
    if (!v || json_is_null(v)) return CT_OK;
    if (!s || strlen(s) >= CT_SLIDER_WORD)
        return ct_fail(CT_EDATA, "%s: %s is not a word of at most %d bytes", name, key, CT_SLIDER_WORD - 1);
    memcpy(out, s, strlen(s) + 1);
    return CT_OK;
}

static bool is_side(const json_t *v) { return json_is_integer(v) && json_integer_value(v) > 0; }

static ct_status read_size(const char *name, const json_t *entry, ct_slider_label *l)
{
    const json_t *size = json_object_get(entry, "image_size");
    const json_t *w = json_object_get(size, "width"), *h = json_object_get(size, "height");
    if (!size || json_is_null(size)) return CT_OK;
    if (!is_side(w) || !is_side(h) || json_integer_value(w) > 32767 || json_integer_value(h) > 32767)
        return ct_fail(CT_EDATA, "%s: image_size is not {width, height} in pixels", name);
    l->width = (int)json_integer_value(w);
    l->height = (int)json_integer_value(h);
    return CT_OK;
}

ct_status ct_slider_label_take(const char *name, const json_t *entry, ct_slider_label *l)
{
    const json_t *labels = json_object_get(entry, "labels"), *pic = json_object_get(entry, "pic_id");
    const json_t *side = json_object_get(labels, "puzzle_size"), *pose = json_object_get(labels, "gap_pose");
    ct_slider_label_init(l);
    if (!json_is_object(labels)) return ct_fail(CT_EDATA, "%s: its label has no 'labels'", name);
    CT_TRY(read_point(name, json_object_get(labels, "bg_gap_center"), "labels.bg_gap_center", l->gap));
    CT_TRY(read_point(name, json_object_get(labels, "comp_piece_center"), "labels.comp_piece_center", l->piece));
    if (pose && !json_is_null(pose)) CT_TRY(read_pose(name, pose, "labels.gap_pose", &l->angle, &l->scale));
    if (json_is_integer(pic) && json_integer_value(pic) >= 0) l->pic = json_integer_value(pic);
    if (json_is_string(pic)) sscanf(json_string_value(pic), "%*[^0-9]%" SCNd64, &l->pic);
    if (side && !json_is_null(side) && !(json_number_value(side) > 0))
        return ct_fail(CT_EDATA, "%s: labels.puzzle_size is not a number of pixels", name);
    l->side = json_number_value(side);
    CT_TRY(read_fakes(name, entry, l));
    CT_TRY(read_size(name, entry, l));
    CT_TRY(read_word(name, entry, "style", l->style));
    CT_TRY(read_word(name, entry, "confusion", l->confusion));
    return read_word(name, entry, "shape", l->shape);
}

ct_status ct_slider_label_parse(const char *name, const char *text, ct_slider_label *out)
{
    json_error_t e;
    json_t *entry = NULL;
    ct_slider_label_init(out);
    ct_status st = ct_json_load(text, strlen(text), JSON_REJECT_DUPLICATES, &e, &entry);
    if (st == CT_EFORMAT) return ct_fail(CT_EDATA, "%s: its label is not JSON: %s", name, e.text);
    CT_TRY(st);
    st = ct_slider_label_take(name, entry, out);
    json_decref(entry);
    return st;
}

/* ---- names ---- */

/* `word`, then a number of pixels; *s steps over both. */
static bool take_number(const char **s, const char *word, double *out)
{
    char *end;
    const size_t n = strlen(word);
    if (strncmp(*s, word, n) != 0 || (*s)[n] < '0' || (*s)[n] > '9') return false;
    *out = strtod(*s + n, &end);
    *s = end;
    return true;
}

bool ct_slider_name_like(const char *name)
{
    const char *slash = strrchr(name, '/');
    double pic;
    if (slash) name = slash + 1;
    return take_number(&name, "Pic", &pic) && strncmp(name, "_Bg", 3) == 0;
}

bool ct_slider_name_parse(const char *name, ct_slider_label *out)
{
    const char *slash = strrchr(name, '/'), *s = slash ? slash + 1 : name;
    double pic;
    ct_slider_label_init(out);
    if (!take_number(&s, "Pic", &pic) || pic > 1e9 || !take_number(&s, "_Bgx", &out->gap[0]) ||
        !take_number(&s, "Bgy", &out->gap[1]) || !take_number(&s, "_Sdx", &out->piece[0]) ||
        !take_number(&s, "Sdy", &out->piece[1]) || *s++ != '_')
        return false;
    out->pic = (int64_t)pic;
    const size_t n = strcspn(s, "./");
    return n > 0 && s[n] == '.';
}

void ct_slider_name(const ct_slider_label *l, const char hash8[9], char *buf, size_t size)
{
    snprintf(buf, size, "Pic%04" PRId64 "_Bgx%ldBgy%ld_Sdx%ldSdy%ld_%s.png", l->pic < 0 ? 0 : l->pic,
             lround(l->gap[0]), lround(l->gap[1]), lround(l->piece[0]), lround(l->piece[1]), hash8);
}
