#include "config.h"

#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Long enough for a path, a dispatch refusal list of a dozen implementations, and context in front. Fixed, so that
 * a message can be recorded when there is no memory left. */
#define MESSAGE_BYTES 4096

static _Thread_local char message[MESSAGE_BYTES];
static _Thread_local bool told; /* by another process */

/* Formats into buf; a message that does not fit ends in "...", cut between UTF-8 characters. */
static void format_message(char buf[MESSAGE_BYTES], const char *fmt, va_list ap)
{
    int n = vsnprintf(buf, MESSAGE_BYTES, fmt, ap);
    if (n < 0) {
        snprintf(buf, MESSAGE_BYTES, "(message could not be formatted: %s)", fmt);
    } else if (n >= MESSAGE_BYTES) {
        memcpy(buf + ct_utf8_cut(buf, MESSAGE_BYTES - 4), "...", 4);
    }
}

ct_status ct_fail(ct_status code, const char *fmt, ...)
{
    int saved = errno;
    char text[MESSAGE_BYTES]; /* an argument may be the old message itself */
    va_list ap;
    va_start(ap, fmt);
    format_message(text, fmt, ap);
    va_end(ap);
    memcpy(message, text, strlen(text) + 1);
    told = false;
    errno = saved;
    return code;
}

ct_status ct_fail_told(ct_status code)
{
    message[0] = '\0';
    told = true;
    return code;
}

bool ct_error_told(void)
{
    return told;
}

ct_status ct_fail_context(ct_status code, const char *fmt, ...)
{
    int saved = errno;
    char text[MESSAGE_BYTES];
    va_list ap;
    va_start(ap, fmt);
    format_message(text, fmt, ap);
    va_end(ap);
    size_t front = strlen(text);
    /* What the failure itself said matters more than its context: the old message keeps its place at the end, and
     * context that would push it out is dropped. */
    size_t old = strlen(message);
    if (front + 2 + old < MESSAGE_BYTES) {
        memmove(message + front + 2, message, old + 1);
        memcpy(message, text, front);
        memcpy(message + front, ": ", 2);
    }
    errno = saved;
    return code;
}

const char *ct_error_message(void)
{
    return message;
}

const char *ct_status_name(ct_status code)
{
    switch (code) {
    case CT_OK: return "ok";
    case CT_ENOMEM: return "out of memory";
    case CT_EINVAL: return "invalid argument";
    case CT_EIO: return "input/output error";
    case CT_EFORMAT: return "damaged or foreign file";
    case CT_ECONFIG: return "configuration error";
    case CT_EDATA: return "unusable data";
    case CT_EUNSUPPORTED: return "unsupported";
    case CT_EBACKEND: return "backend not available";
    case CT_ENUMERIC: return "numeric error";
    case CT_ESIGNAL: return "stopped by a signal";
    case CT_EINTERNAL: return "internal error";
    }
    return "unknown status";
}
