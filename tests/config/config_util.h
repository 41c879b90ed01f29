/* Configurations as texts, for tests: good ones, and bad ones with their messages. */
#ifndef CT_TESTS_CONFIG_UTIL_H
#define CT_TESTS_CONFIG_UTIL_H

#include <stdarg.h>
#include <string.h>

#include "config/config.h"
#include "tests/ct_check.h"

/* Parses YAML text (and --set strings up to a NULL) that must be fine. */
#define GOOD(...) good(__LINE__, __VA_ARGS__, NULL)
/* Text that must fail with exactly this message. */
#define BAD(text, message) bad(__LINE__, text, NULL, message)
#define BAD_SET(set, message) bad(__LINE__, "", set, message)

static inline ct_config *good(int line, const char *text, ...)
{
    const char *sets[8], *s;
    size_t n = 0;
    ct_config *cfg;
    va_list ap;
    va_start(ap, text);
    while ((s = va_arg(ap, const char *)) && n < 8) sets[n++] = s;
    va_end(ap);
    ct_status st = ct_config_parse(text, strlen(text), "t.yaml", sets, n, &cfg);
    ck_assert_msg(st == CT_OK, "line %d: %s", line, ct_error_message());
    return cfg;
}

static inline void bad(int line, const char *text, const char *set, const char *message)
{
    ct_config *cfg = (ct_config *)1;
    ct_status st = ct_config_parse(text, strlen(text), "t.yaml", &set, set != NULL, &cfg);
    ck_assert_msg(st == CT_ECONFIG, "line %d: status %d", line, st);
    ck_assert_msg(cfg == NULL, "line %d: result set", line);
    ck_assert_msg(strcmp(ct_error_message(), message) == 0, "line %d:\n  got      %s\n  expected %s", line,
                  ct_error_message(), message);
}

#endif
