/* Status codes and the one message that goes with a failure.
 *
 * Every function that can fail returns a ct_status. The function that notices the failure calls
 * ct_fail() once, with a message naming the file, key, line, sample or tensor; callers pass the code
 * on and may put context in front with ct_fail_context(). The message is per thread. */
#ifndef CT_BASE_STATUS_H
#define CT_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>

#include "captrain.h" /* ct_status, ct_error_message(), ct_status_name() */

#if defined(__GNUC__)
#define CT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CT_PRINTF(fmt, args)
#endif

/* Records the message of this thread's failure and returns `code`, so that one can write
 * `return ct_fail(CT_EIO, "%s: %s", path, strerror(errno));`. */
ct_status ct_fail(ct_status code, const char *fmt, ...) CT_PRINTF(2, 3);

/* Puts "fmt: " in front of the recorded message and returns `code` unchanged. */
ct_status ct_fail_context(ct_status code, const char *fmt, ...) CT_PRINTF(2, 3);

/* Of processes that fail together one has the message, and the others have this. */
ct_status ct_fail_told(ct_status code);
bool ct_error_told(void);

/* Passes a failure up: evaluates `expr` once and returns its status if it is not CT_OK. */
#define CT_TRY(expr)                       \
    do {                                   \
        ct_status ct_try_s_ = (expr);      \
        if (ct_try_s_ != CT_OK) return ct_try_s_; \
    } while (0)

/* The same in functions that own something: sets `st` and jumps to `fail`. */
#define CT_GOTO(st, expr)                  \
    do {                                   \
        if (((st) = (expr)) != CT_OK) goto fail; \
    } while (0)

#endif
