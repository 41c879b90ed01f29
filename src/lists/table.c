/* Records of text files, field by field. */
#include "config.h"

#include "lists/table.h"

#include <string.h>

ct_status ct_table_open(char *text, size_t size, const char *path, ct_table *out)
{
    *out = (ct_table){ .at = text, .end = text + size, .line = 1, .path = path, .most = CT_TABLE_FIELDS };
    CT_TRY(ct_table_encoding(text, size, path));
    if (memchr(text, '\0', size)) return ct_fail(CT_EFORMAT, "%s: holds NUL bytes: not a text file", path);
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) out->at += 3; /* byte order mark */
    return CT_OK;
}

/* Cuts one field out of a csv record; *more: another one follows in the record. Quoted fields may hold separators,
 * doubled quotes and line ends. */
static ct_status csv_field(ct_table *j, bool last, char **field, bool *more)
{
    const char sep = last ? '\n' : j->sep; /* the last field that is asked for takes the rest of the line */
    int64_t first = j->line;
    char *out = j->at, *w = j->at, *r = j->at;
    bool quoted = *r == '"';
    if (quoted) {
        r++;
        for (;;) {
            if (r >= j->end) {
                return ct_fail(CT_EFORMAT, "%s:%lld: the quote opened here is not closed", j->path, (long long)first);
            }
            if (*r == '"' && r[1] == '"') {
                *w++ = '"';
                r += 2;
            } else if (*r == '"') {
                r++;
                break;
            } else {
                j->line += *r == '\n';
                *w++ = *r++;
            }
        }
        if (*r == '\r' && (r + 1 == j->end || r[1] == '\n')) r++;
        if (r < j->end && *r != sep && *r != '\n') {
            if (j->line == first)
                return ct_fail(CT_EFORMAT, "%s:%lld: text behind a closing quote", j->path, (long long)first);
            return ct_fail(CT_EFORMAT, "%s:%lld: the quote opened here is not closed: the next one, in line %lld, has "
                           "text behind it", j->path, (long long)first, (long long)j->line);
        }
    } else {
        while (r < j->end && *r != sep && *r != '\n') r++;
        w = r;
        if (w > out && w[-1] == '\r' && (r >= j->end || *r == '\n')) w--;
    }
    *more = r < j->end && *r == sep && sep != '\n';
    if (r < j->end && *r == '\n') j->line++;
    if (r < j->end) r++;
    *w = '\0'; /* behind the field: a separator, a line end, a quote or the NUL behind the text */
    j->at = r;
    *field = out;
    return CT_OK;
}

/* Cuts one line at its separator. */
static int plain_fields(ct_table *j, char *field[CT_TABLE_FIELDS])
{
    char *line = j->at, *stop = memchr(line, '\n', (size_t)(j->end - line));
    int n = 0;
    j->at = stop ? stop + 1 : j->end;
    j->line++;
    if (!stop) stop = j->end;
    if (stop > line && stop[-1] == '\r') stop--;
    *stop = '\0';
    if (j->sep == ' ') {
        while (stop > line && (stop[-1] == ' ' || stop[-1] == '\t')) *--stop = '\0';
        while (*line == ' ' || *line == '\t') line++;
        char *cut = strrchr(line, ' ');
        field[n++] = line;
        if (cut) {
            field[n++] = cut + 1;
            while (cut > line && (cut[-1] == ' ' || cut[-1] == '\t')) cut--;
            *cut = '\0';
        }
        return n;
    }
    for (;;) {
        field[n++] = line;
        char *cut = n < j->most ? strchr(line, j->sep) : NULL;
        if (!cut) return n;
        *cut = '\0';
        line = cut + 1;
    }
}

ct_status ct_table_next(ct_table *j, char *field[CT_TABLE_FIELDS], int *n)
{
    *n = 0;
    if (!j->quotes) {
        *n = plain_fields(j, field);
        return CT_OK;
    }
    bool more = true;
    while (more) {
        char *f = NULL;
        int64_t line = j->line;
        CT_TRY(csv_field(j, *n == j->most - 1 && j->most < CT_TABLE_FIELDS, &f, &more));
        if (*n == CT_TABLE_FIELDS) {
            return ct_fail(CT_EFORMAT, "%s:%lld: more than %d fields", j->path, (long long)line, CT_TABLE_FIELDS);
        }
        field[(*n)++] = f;
    }
    return CT_OK;
}
