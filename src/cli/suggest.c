/* Which name a mistyped word was meant to be. */
#include "config.h"

#include <string.h>

#include "cli/cli.h"

#define MAX_WORD 32 /* longer words are like none */

/* Insertions, deletions, substitutions and swaps of neighbours that turn a into b (optimal string alignment distance). */
static int distance(const char *a, const char *b)
{
    int row[3][MAX_WORD + 1];
    const size_t na = strlen(a), nb = strlen(b);
    for (size_t j = 0; j <= nb; j++) row[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int *const now = row[i % 3], *const up = row[(i + 2) % 3], *const up2 = row[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int d = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < d) d = up[j] + 1;
            if (now[j - 1] + 1 < d) d = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < d) d = up2[j - 2] + 1;
            now[j] = d;
        }
    }
    return row[na % 3][nb];
}

/* Keeps `name` in *best if it is nearer to `word` than what is there. A name that begins with the word, or the word with it ("evaluate" and
 * eval), is one step away. */
static void consider(const char *word, const char *name, int *least, const char **best)
{
    const size_t nw = strlen(word), nn = strlen(name);
    if (nw > MAX_WORD || nn > MAX_WORD) return;
    int d = distance(word, name);
    if (nw >= 3 && nn >= 3 && strncmp(word, name, nw < nn ? nw : nn) == 0 && d > 1) d = 1;
    if (d >= *least || 2 * (size_t)d > nw) return;
    *least = d;
    *best = name;
}

const char *cli_like_verb(const char *word)
{
    /* what other programs call the same */
    static const char *const synonym[][2] = { { "test", "eval" },      { "validate", "eval" }, { "infer", "predict" }, { "inference", "predict" },
                                              { "generate", "gen" },   { "benchmark", "bench" }, { "import", "import-torch" }, { "resume", "train" },
                                              { "fit", "train" },      { "summary", "plan" },  { "info", "doctor" } };
    const char *best = NULL;
    int least = 3;
    for (size_t i = 0; i < sizeof synonym / sizeof *synonym; i++)
        if (strcmp(word, synonym[i][0]) == 0) return synonym[i][1];
    for (const cli_command *const *c = cli_commands(); *c; c++) consider(word, (*c)->name, &least, &best);
    return best;
}

const char *cli_like_option(const char *word, const cli_command *cmd)
{
    const char *best = NULL;
    int least = 3;
    for (const cli_option *o = cli_globals(); o->name; o++) consider(word, o->name, &least, &best);
    for (const cli_option *o = cmd ? cmd->options : NULL; o && o->name; o++) consider(word, o->name, &least, &best);
    return best;
}
