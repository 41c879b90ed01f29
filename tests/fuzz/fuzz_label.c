/* libFuzzer target: any bytes as a label file, a file name, a charset. The first byte chooses. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "lists/label_files.h"
#include "task/text/label/label.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void table(char *text, size_t size, char kind)
{
    ct_label_rule rule = CT_LABEL_RULE_DEFAULT;
    ct_label_table t;
    char out[CT_LABEL_BYTES];
    if ((strchr("gpmj", kind) ? ct_label_lines_parse(text, size, kind, "fuzz", &t)
                              : ct_label_table_parse(text, size, kind, "fuzz", NULL, NULL, &t)) != CT_OK) {
        if (ct_error_message()[0] == '\0' || t.row) abort();
        return;
    }
    int64_t line = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (t.row[i].line <= line) abort(); /* lines come in order */
        line = t.row[i].line;
        if (strlen(t.row[i].name) > size) abort();
        if (t.row[i].text) (void)ct_label_clean(&rule, t.row[i].name, t.row[i].text, out);
    }
    ct_label_table_free(&t);
}

static void name(const char *text, unsigned how)
{
    ct_label_rule rule = { "_", (ct_label_side)(how & 3), (ct_label_case)((how >> 2) % 3), (how & 64) != 0 };
    char out[CT_LABEL_BYTES];
    int32_t id[CT_LABEL_MAX];
    ct_charset cs;
    int len;
    if (ct_label_from_name(&rule, text, out) != CT_OK) return;
    int64_t n = ct_utf8_len(out);
    if (n < 1 || n > CT_LABEL_MAX) abort();
    if (ct_charset_collect((const char *const[]){ out }, 1, &cs) != CT_OK) return;
    char back[CT_LABEL_BYTES];
    if (ct_label_encode(&cs, text, out, 0, id, CT_LABEL_MAX, &len) != CT_OK || len != n) abort();
    if (strcmp(ct_charset_decode(&cs, id, len, back, sizeof back), out) != 0) abort();
    ct_charset_free(&cs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    ct_charset cs;
    switch (data[0] % 10) {
    case 0: table(text, size - 1, 't'); break;
    case 1: table(text, size - 1, 'c'); break;
    case 2: table(text, size - 1, 'v'); break;
    case 3: name(text, data[0]); break;
    case 5: table(text, size - 1, 'h'); break;
    case 6: table(text, size - 1, 'g'); break;
    case 7: table(text, size - 1, 'p'); break;
    case 8: table(text, size - 1, 'm'); break;
    case 9: table(text, size - 1, 'j'); break;
    default:
        if (ct_charset_parse(text, &cs) == CT_OK) {
            if (strcmp(cs.utf8, text) != 0) abort();
            ct_charset_free(&cs);
        }
    }
    free(text);
    return 0;
}
