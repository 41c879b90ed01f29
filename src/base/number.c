#include "config.h"

#include "base/number.h"

#include <locale.h>
#include <stdlib.h>

bool ct_number_text(const char *s, char buf[CT_NUMBER_BYTES], bool *integer)
{
    size_t n = 0;
    bool digits = false;
    *integer = true;
    if (*s == '+' || *s == '-') buf[n++] = *s++;
    for (int part = 0; part < 3; part++) { /* 0 before the point, 1 behind it, 2 the exponent */
        bool here = false;
        for (; (*s >= '0' && *s <= '9') || (*s == '_' && here && s[1] >= '0' && s[1] <= '9'); s++) {
            here = true;
            if (*s != '_') buf[n++] = *s;
            if (n >= 60) return false;
        }
        if (part == 2) return here && *s == '\0' && ((void)(buf[n] = '\0'), true);
        digits |= here;
        if (*s == '\0') break;
        *integer = false;
        if (part == 0 && *s == '.') {
            buf[n++] = *s++;
        } else if ((*s == 'e' || *s == 'E') && digits) {
            buf[n++] = *s++;
            if (*s == '+' || *s == '-') buf[n++] = *s++;
            part = 1; /* the exponent comes next */
        } else {
            return false;
        }
        if (n >= 58) return false;
    }
    buf[n] = '\0';
    return digits;
}

/* strtod reads the decimal point of the current locale; a program that embeds the library may have set one. */
double ct_number_read(const char *s)
{
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c == (locale_t)0) return strtod(s, NULL);
    locale_t old = uselocale(c);
    double v = strtod(s, NULL);
    uselocale(old);
    freelocale(c);
    return v;
}

bool ct_number_of(const char *s, double *out)
{
    char buf[CT_NUMBER_BYTES];
    bool integer;
    if (!ct_number_text(s, buf, &integer)) return false;
    *out = ct_number_read(buf);
    return true;
}
