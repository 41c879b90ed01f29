/* Facts of the text task for tests: so many positions, the first `classes` of a fixed list of characters. */
#ifndef CT_TESTS_TASK_TEXT_FACTS_UTIL_H
#define CT_TESTS_TASK_TEXT_FACTS_UTIL_H

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "task/text/text.h"

static inline ct_facts *text_facts(int positions, int classes)
{
    static const char all[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char chars[sizeof all];
    struct ct_text_facts *f = ct_calloc(1, sizeof *f, "facts");
    ck_assert(f && classes > 0 && (size_t)classes < sizeof all);
    memcpy(chars, all, (size_t)classes);
    chars[classes] = '\0';
    ck_assert_int_eq(ct_charset_parse(chars, &f->charset), CT_OK);
    f->positions = positions;
    return (ct_facts *)f;
}

#endif
