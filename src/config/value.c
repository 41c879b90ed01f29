/* Values of configuration keys: from text to a typed field and back. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/paths.h"
#include "base/text.h"
#include "config/config.h"
#include "config/internal.h"

void ct_value_clear(ct_value *v)
{
    ct_free(v->text);
    for (size_t i = 0; i < v->n; i++) ct_free(v->item[i].text);
    ct_free(v->item);
    *v = (ct_value){ 0 };
}

char *ct_config_quote(const char *text, char buf[CT_CONFIG_QUOTE + 4])
{
    const size_t keep = ct_utf8_cut(text, CT_CONFIG_QUOTE);
    const bool whole = text[keep] == '\0';
    for (size_t i = 0; i < keep; i++) {
        unsigned char c = (unsigned char)text[i];
        buf[i] = c < 0x20 || c == 0x7F ? '?' : (char)c;
    }
    memcpy(buf + keep, whole ? "" : "...", whole ? 1 : 4);
    return buf;
}

char *ct_format_double(double v, char buf[32])
{
    char text[32];
    if (v == floor(v) && fabs(v) < 1e16) {
        snprintf(text, sizeof text, "%s%" PRIu64, signbit(v) ? "-" : "", (uint64_t)fabs(v));
        return memcpy(buf, text, sizeof text);
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        char *comma = strpbrk(text, ",");
        if (comma) *comma = '.';
        if (digits == 17 || ct_number_read(text) == v) break;
    }
    return memcpy(buf, text, sizeof text);
}

const char *ct_config_range_text(const ct_config_row *row, char buf[128])
{
    char lo[32], hi[32];
    ct_format_double(row->min, lo);
    ct_format_double(row->max, hi);
    if (row->max >= HUGE_VAL)
        snprintf(buf, 128, "%s %s", row->min_open ? "above" : "at least", lo);
    else if (row->min_open && row->max_open)
        snprintf(buf, 128, "above %s and below %s", lo, hi);
    else if (row->min_open)
        snprintf(buf, 128, "above %s and at most %s", lo, hi);
    else if (row->max_open)
        snprintf(buf, 128, "at least %s and below %s", lo, hi);
    else
        snprintf(buf, 128, "between %s and %s", lo, hi);
    return buf;
}

static bool in_range(const ct_config_row *row, double v)
{
    return v >= row->min && v <= row->max && !(row->min_open && v == row->min) && !(row->max_open && v == row->max);
}

static ct_status bad_value(char *err, size_t n, const char *what, const char *text)
{
    char q[CT_CONFIG_QUOTE + 4];
    snprintf(err, n, "must be %s (got '%s')", what, ct_config_quote(text, q));
    return CT_ECONFIG;
}

static ct_status parse_double(const ct_config_row *row, const ct_value *v, double *out, char *err, size_t n)
{
    char buf[64], range[128], what[160];
    bool integer;
    if (v->quoted) return bad_value(err, n, "a number without quotes", v->text);
    if (!ct_number_text(v->text, buf, &integer)) return bad_value(err, n, "a number", v->text);
    double d = ct_number_read(buf);
    if (!in_range(row, d)) {
        snprintf(what, sizeof what, "%s", ct_config_range_text(row, range));
        return bad_value(err, n, what, v->text);
    }
    *out = d == 0 ? 0 : d; /* no negative zero */
    return CT_OK;
}

static ct_status parse_int(const ct_config_row *row, const ct_value *v, int64_t *out, char *err, size_t n)
{
    char buf[64], range[128], what[200];
    bool integer;
    if (v->quoted) return bad_value(err, n, "an integer without quotes", v->text);
    if (!ct_number_text(v->text, buf, &integer)) return bad_value(err, n, "an integer", v->text);
    const char *digits = buf + (*buf == '+' || *buf == '-');
    if (integer && digits[0] == '0' && digits[1] != '\0')
        return bad_value(err, n, "an integer without leading zeros (octal in YAML 1.1)", v->text);
    double d = ct_number_read(buf); /* exact for every value in a row's range: these end at 2^53 */
    if (!integer && d != floor(d)) return bad_value(err, n, "an integer", v->text);
    if (!in_range(row, d)) {
        snprintf(what, sizeof what, "an integer %s", ct_config_range_text(row, range));
        return bad_value(err, n, what, v->text);
    }
    *out = (int64_t)d;
    return CT_OK;
}

static ct_status parse_int_or_word(const ct_config_row *row, const ct_value *v, int64_t *out, char *err, size_t n)
{
    if (!row->word) return parse_int(row, v, out, err, n);
    if (strcasecmp(v->text, row->word) == 0) return *out = (int64_t)row->min - 1, CT_OK;
    if (parse_int(row, v, out, err, n) == CT_OK) return CT_OK;
    size_t used = strlen(err);
    snprintf(err + used, n > used ? n - used : 0, "; %s is possible, too", row->word);
    return CT_ECONFIG;
}

static ct_status parse_bool(const ct_value *v, bool *out, char *err, size_t n)
{
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on" };
    if (!v->quoted)
        for (int i = 0; i < 6; i++)
            if (strcasecmp(v->text, words[i]) == 0) {
                *out = i & 1;
                return CT_OK;
            }
    return bad_value(err, n, "true or false", v->text);
}

/* Values of choices beside those of the table. */
enum { ADDED_MAX = 8 };
static struct {
    const ct_config_row *row;
    const char *value;
} added[ADDED_MAX];
static int nadded;

static void put_word(const char *word, size_t n, char *buf, size_t size)
{
    if (n >= size) n = size - 1;
    memcpy(buf, word, n);
    buf[n] = '\0';
}

bool ct_config_value_name(const ct_config_row *row, int i, char *buf, size_t size)
{
    const char *p = row->values ? row->values : "";
    for (; *p; i--) {
        size_t word = strcspn(p, " ");
        if (i == 0) {
            put_word(p, strcspn(p, " ="), buf, size);
            return true;
        }
        p += word;
        p += strspn(p, " ");
    }
    for (int k = 0; k < nadded; k++) {
        if (added[k].row != row || i-- > 0) continue;
        put_word(added[k].value, strlen(added[k].value), buf, size);
        return true;
    }
    return false;
}

/* Index of `text` among the values of a row, synonyms included; -1 if it is none. */
static int find_value(const ct_config_row *row, const char *text)
{
    const char *p = row->values;
    size_t len = strlen(text);
    int i = 0;
    for (; *p; p += *p == ' ') {
        size_t n = strcspn(p, " =");
        if (n == len && len > 0 && strncasecmp(p, text, n) == 0) return i;
        p += n;
        if (*p == '=') p++;
        else i++;
    }
    for (int k = 0; k < nadded; k++) {
        if (added[k].row != row) continue;
        if (strcasecmp(added[k].value, text) == 0) return i;
        i++;
    }
    return -1;
}

ct_status ct_config_add_value(const char *key, const char *value)
{
    const ct_config_row *row = ct_config_find_row(key);
    if (!row || !row->values || row->type == CT_KEY_ENUM)
        return ct_fail(CT_EINVAL, "%s: not a key with a choice of names", key);
    if (find_value(row, value) >= 0) return ct_fail(CT_EINVAL, "%s: there is a '%s' already", key, value);
    if (nadded == ADDED_MAX)
        return ct_fail(CT_EINVAL, "%s: '%s': no more than %d values can be added", key, value, ADDED_MAX);
    added[nadded].row = row;
    added[nadded++].value = value;
    return CT_OK;
}

/* Adds s to the text in buf, or as much of it as there is room for. */
static void append(char *buf, size_t size, const char *s)
{
    const size_t used = strlen(buf), n = strnlen(s, size - 1 - used);
    memcpy(buf + used, s, n);
    buf[used + n] = '\0';
}

static ct_status parse_enum(const ct_config_row *row, const ct_value *v, int *out, char *err, size_t n)
{
    int i = find_value(row, v->text);
    if (i < 0) {
        char list[256] = "one of ", name[48];
        for (int k = 0; ct_config_value_name(row, k, name, sizeof name); k++) {
            if (k) append(list, sizeof list, ", ");
            append(list, sizeof list, name);
        }
        return bad_value(err, n, list, v->text);
    }
    *out = i;
    return CT_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static ct_status parse_color(const ct_value *v, uint8_t rgb[3], char *err, size_t n, const ct_value **bad)
{
    static const char what[] = "a colour: white, black, a gray value 0..255, [r, g, b] or \"#rrggbb\" in quotes";
    static const ct_config_row level = { .min = 0, .max = 255 };
    int64_t part[3];
    if (v->is_list) {
        for (size_t i = 0; i < v->n && i < 3; i++)
            if (parse_int(&level, &v->item[i], &part[i], err, n) != CT_OK) {
                *bad = &v->item[i];
                return CT_ECONFIG;
            }
        if (v->n != 3 || v->nested) return bad_value(err, n, what, "a list");
    } else if (strcasecmp(v->text, "white") == 0 || strcasecmp(v->text, "black") == 0) {
        part[0] = part[1] = part[2] = strcasecmp(v->text, "white") == 0 ? 255 : 0;
    } else if (v->text[0] == '#') {
        if (strlen(v->text) != 7) return bad_value(err, n, what, v->text);
        for (int i = 0; i < 3; i++) {
            int hi = hex_digit(v->text[1 + 2 * i]), lo = hex_digit(v->text[2 + 2 * i]);
            if (hi < 0 || lo < 0) return bad_value(err, n, what, v->text);
            part[i] = hi * 16 + lo;
        }
    } else {
        if (parse_int(&level, v, &part[0], err, n) != CT_OK) return bad_value(err, n, what, v->text);
        part[1] = part[2] = part[0];
    }
    for (int i = 0; i < 3; i++) rgb[i] = (uint8_t)part[i];
    return CT_OK;
}

/* Texts are UTF-8: they are written into files that are. */
static ct_status store_string(const ct_value *v, char **field, char *err, size_t n)
{
    if (ct_utf8_len(v->text) < 0) {
        snprintf(err, n, "is not valid UTF-8");
        return CT_ECONFIG;
    }
    char *s = ct_strdup(v->text, "configuration value");
    if (!s) return CT_ENOMEM;
    ct_free(*field);
    *field = s;
    return CT_OK;
}

static ct_status store_path(const ct_value *v, char **field, char *err, size_t n)
{
    char *path;
    CT_TRY(ct_config_path_bytes(v->text, &path, err, n));
    ct_free(*field);
    *field = path;
    return CT_OK;
}

/* Several paths as one text. */
static ct_status store_paths(const ct_config_row *row, const ct_value *v, char **field, char *err, size_t n,
                             const ct_value **bad)
{
    char *all = NULL;
    if (v->nested || v->n < 1 || v->n > (size_t)row->list_max) {
        snprintf(err, n, "must be a path, or a list of 1 to %d (got a list %s)", row->list_max,
                 v->nested ? "with lists or maps inside" : v->n == 0 ? "of none" : "of more");
        return CT_ECONFIG;
    }
    for (size_t i = 0; i < v->n; i++) {
        char *one = NULL, *more;
        *bad = &v->item[i];
        ct_status st = store_path(&v->item[i], &one, err, n);
        const char *why = NULL;
        if (st == CT_OK && ct_paths_several(one)) why = "is no path";
        else if (st == CT_OK && v->n > 1 && !*one) why = "has an empty path in a list";
        else if (st == CT_OK && v->n > 1 && strncmp(one, "synth:", 6) == 0)
            why = "a generator stands alone, not in a list";
        if (why) {
            snprintf(err, n, "%s", why);
            st = CT_ECONFIG;
        }
        more = st == CT_OK ? ct_asprintf("%s%s%s", all ? all : "", all ? CT_PATHS_BETWEEN : "", one) : NULL;
        ct_free(all);
        ct_free(one);
        all = more;
        if (!all) return st == CT_OK ? CT_ENOMEM : st;
    }
    ct_free(*field);
    *field = all;
    return CT_OK;
}

static ct_status store_list(const ct_config_row *row, const ct_value *v, void *field, char *err, size_t n,
                            const ct_value **bad)
{
    ct_status st = CT_OK;
    size_t size = row->type == CT_KEY_STR_LIST ? sizeof(char *) : 8;
    void *elem = NULL;
    if (v->nested) {
        snprintf(err, n, "must be %s, without lists or maps inside", ct_key_type_name(row->type));
        return CT_ECONFIG;
    }
    if ((int64_t)v->n < row->list_min || (int64_t)v->n > row->list_max) {
        if (row->list_min == row->list_max)
            snprintf(err, n, "must have %d elements (got %zu)", row->list_min, v->n);
        else
            snprintf(err, n, "must have %d to %d elements (got %zu)", row->list_min, row->list_max, v->n);
        return CT_ECONFIG;
    }
    if (v->n > 0 && !(elem = ct_calloc(v->n, size, "configuration list"))) return CT_ENOMEM;
    for (size_t i = 0; i < v->n; i++) {
        *bad = &v->item[i];
        if (row->type == CT_KEY_INT_LIST) {
            CT_GOTO(st, parse_int(row, &v->item[i], (int64_t *)elem + i, err, n));
        } else if (row->type == CT_KEY_FLOAT_LIST) {
            CT_GOTO(st, parse_double(row, &v->item[i], (double *)elem + i, err, n));
        } else {
            CT_GOTO(st, store_string(&v->item[i], (char **)elem + i, err, n));
        }
    }
    ct_value_free_field(row, field);
    /* The three list types have the same layout but different pointer types: store through the right one. */
    if (row->type == CT_KEY_INT_LIST) *(ct_int_list *)field = (ct_int_list){ elem, v->n };
    else if (row->type == CT_KEY_FLOAT_LIST) *(ct_float_list *)field = (ct_float_list){ elem, v->n };
    else *(ct_str_list *)field = (ct_str_list){ elem, v->n };
    return CT_OK;
fail:
    if (row->type == CT_KEY_STR_LIST)
        for (size_t i = 0; elem && i < v->n; i++) ct_free(((char **)elem)[i]);
    ct_free(elem);
    return st;
}

ct_status ct_value_store(const ct_config_row *row, const ct_value *v, void *field, char *err, size_t err_size,
                         const ct_value **bad)
{
    bool list_row = row->type == CT_KEY_INT_LIST || row->type == CT_KEY_FLOAT_LIST || row->type == CT_KEY_STR_LIST;
    *bad = v;
    if (list_row) {
        /* One number instead of a list of one is what people write for data.mean. */
        ct_value alone = { .is_list = true, .item = (ct_value *)(uintptr_t)v, .n = 1 };
        return store_list(row, v->is_list ? v : &alone, field, err, err_size, bad);
    }
    if (v->is_list && row->type == CT_KEY_PATH && row->list_max > 0)
        return store_paths(row, v, field, err, err_size, bad);
    if (v->is_list && row->type != CT_KEY_COLOR) {
        snprintf(err, err_size, "must be %s (got a list)", ct_key_type_name(row->type));
        return CT_ECONFIG;
    }
    switch (row->type) {
    case CT_KEY_BOOL: return parse_bool(v, field, err, err_size);
    case CT_KEY_INT: return parse_int_or_word(row, v, field, err, err_size);
    case CT_KEY_FLOAT: return parse_double(row, v, field, err, err_size);
    case CT_KEY_ENUM: return parse_enum(row, v, field, err, err_size);
    case CT_KEY_COLOR: return parse_color(v, field, err, err_size, bad);
    case CT_KEY_CHOICE: {
        int i = 0;
        char name[48];
        if (parse_enum(row, v, &i, err, err_size) != CT_OK) return CT_ECONFIG;
        ct_config_value_name(row, i, name, sizeof name);
        ct_value canonical = { .text = name };
        return store_string(&canonical, field, err, err_size);
    }
    default:
        if (strlen(v->text) > 65535) {
            snprintf(err, err_size, "is longer than 65535 bytes");
            return CT_ECONFIG;
        }
        if (row->type != CT_KEY_PATH) return store_string(v, field, err, err_size);
        const ct_value alone = { .is_list = true, .item = (ct_value *)(uintptr_t)v, .n = 1 };
        if (row->list_max > 0) return store_paths(row, &alone, field, err, err_size, bad);
        return store_path(v, field, err, err_size);
    }
}

void ct_value_free_field(const ct_config_row *row, void *field)
{
    switch (row->type) {
    case CT_KEY_CHOICE:
    case CT_KEY_STRING:
    case CT_KEY_PATH:
        ct_free(*(char **)field);
        *(char **)field = NULL;
        break;
    case CT_KEY_INT_LIST:
        ct_free(((ct_int_list *)field)->v);
        *(ct_int_list *)field = (ct_int_list){ 0 };
        break;
    case CT_KEY_FLOAT_LIST:
        ct_free(((ct_float_list *)field)->v);
        *(ct_float_list *)field = (ct_float_list){ 0 };
        break;
    case CT_KEY_STR_LIST: {
        ct_str_list *l = field;
        for (size_t i = 0; i < l->n; i++) ct_free(l->v[i]);
        ct_free(l->v);
        *l = (ct_str_list){ 0 };
        break;
    }
    default:
        break;
    }
}
