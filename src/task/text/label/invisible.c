/* Characters that nobody sees, by the names that Unicode gives them. */
#include "config.h"

#include "task/text/label/label.h"

/* Ascending. */
static const struct { uint32_t cp; const char *name; } names[] = {
    { 0x0020, "SPACE" },
    { 0x00a0, "NO-BREAK SPACE" },
    { 0x00ad, "SOFT HYPHEN" },
    { 0x034f, "COMBINING GRAPHEME JOINER" },
    { 0x061c, "ARABIC LETTER MARK" },
    { 0x115f, "HANGUL CHOSEONG FILLER" },
    { 0x1160, "HANGUL JUNGSEONG FILLER" },
    { 0x1680, "OGHAM SPACE MARK" },
    { 0x17b4, "KHMER VOWEL INHERENT AQ" },
    { 0x17b5, "KHMER VOWEL INHERENT AA" },
    { 0x180b, "MONGOLIAN FREE VARIATION SELECTOR ONE" },
    { 0x180c, "MONGOLIAN FREE VARIATION SELECTOR TWO" },
    { 0x180d, "MONGOLIAN FREE VARIATION SELECTOR THREE" },
    { 0x180e, "MONGOLIAN VOWEL SEPARATOR" },
    { 0x2000, "EN QUAD" },
    { 0x2001, "EM QUAD" },
    { 0x2002, "EN SPACE" },
    { 0x2003, "EM SPACE" },
    { 0x2004, "THREE-PER-EM SPACE" },
    { 0x2005, "FOUR-PER-EM SPACE" },
    { 0x2006, "SIX-PER-EM SPACE" },
    { 0x2007, "FIGURE SPACE" },
    { 0x2008, "PUNCTUATION SPACE" },
    { 0x2009, "THIN SPACE" },
    { 0x200a, "HAIR SPACE" },
    { 0x200b, "ZERO WIDTH SPACE" },
    { 0x200c, "ZERO WIDTH NON-JOINER" },
    { 0x200d, "ZERO WIDTH JOINER" },
    { 0x200e, "LEFT-TO-RIGHT MARK" },
    { 0x200f, "RIGHT-TO-LEFT MARK" },
    { 0x2028, "LINE SEPARATOR" },
    { 0x2029, "PARAGRAPH SEPARATOR" },
    { 0x202a, "LEFT-TO-RIGHT EMBEDDING" },
    { 0x202b, "RIGHT-TO-LEFT EMBEDDING" },
    { 0x202c, "POP DIRECTIONAL FORMATTING" },
    { 0x202d, "LEFT-TO-RIGHT OVERRIDE" },
    { 0x202e, "RIGHT-TO-LEFT OVERRIDE" },
    { 0x202f, "NARROW NO-BREAK SPACE" },
    { 0x205f, "MEDIUM MATHEMATICAL SPACE" },
    { 0x2060, "WORD JOINER" },
    { 0x2061, "FUNCTION APPLICATION" },
    { 0x2062, "INVISIBLE TIMES" },
    { 0x2063, "INVISIBLE SEPARATOR" },
    { 0x2064, "INVISIBLE PLUS" },
    { 0x2066, "LEFT-TO-RIGHT ISOLATE" },
    { 0x2067, "RIGHT-TO-LEFT ISOLATE" },
    { 0x2068, "FIRST STRONG ISOLATE" },
    { 0x2069, "POP DIRECTIONAL ISOLATE" },
    { 0x206a, "INHIBIT SYMMETRIC SWAPPING" },
    { 0x206b, "ACTIVATE SYMMETRIC SWAPPING" },
    { 0x206c, "INHIBIT ARABIC FORM SHAPING" },
    { 0x206d, "ACTIVATE ARABIC FORM SHAPING" },
    { 0x206e, "NATIONAL DIGIT SHAPES" },
    { 0x206f, "NOMINAL DIGIT SHAPES" },
    { 0x2800, "BRAILLE PATTERN BLANK" },
    { 0x3000, "IDEOGRAPHIC SPACE" },
    { 0x3164, "HANGUL FILLER" },
    { 0xfe00, "VARIATION SELECTOR-1" },
    { 0xfe01, "VARIATION SELECTOR-2" },
    { 0xfe02, "VARIATION SELECTOR-3" },
    { 0xfe03, "VARIATION SELECTOR-4" },
    { 0xfe04, "VARIATION SELECTOR-5" },
    { 0xfe05, "VARIATION SELECTOR-6" },
    { 0xfe06, "VARIATION SELECTOR-7" },
    { 0xfe07, "VARIATION SELECTOR-8" },
    { 0xfe08, "VARIATION SELECTOR-9" },
    { 0xfe09, "VARIATION SELECTOR-10" },
    { 0xfe0a, "VARIATION SELECTOR-11" },
    { 0xfe0b, "VARIATION SELECTOR-12" },
    { 0xfe0c, "VARIATION SELECTOR-13" },
    { 0xfe0d, "VARIATION SELECTOR-14" },
    { 0xfe0e, "VARIATION SELECTOR-15" },
    { 0xfe0f, "VARIATION SELECTOR-16" },
    { 0xfeff, "ZERO WIDTH NO-BREAK SPACE" },
    { 0xffa0, "HALFWIDTH HANGUL FILLER" },
};

const char *ct_invisible_name(uint32_t cp)
{
    size_t lo = 0, hi = sizeof names / sizeof *names;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (names[mid].cp == cp) return names[mid].name;
        if (names[mid].cp < cp) lo = mid + 1;
        else hi = mid;
    }
    if (cp >= 0xe0000 && cp <= 0xe007f) return "TAG CHARACTER";
    return cp >= 0xe0100 && cp <= 0xe01ef ? "VARIATION SELECTOR" : NULL;
}
