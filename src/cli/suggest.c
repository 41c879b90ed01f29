/* Which name a mistyped word was meant to be. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

/* Keeps `name` in *best if it is nearer to `word` than what is there. A name that begins with the word, or the word
 * with it ("evaluate" and eval), is one step away. */
static void consider(const char *word, const char *name, int *least, const char **best)
{
    const size_t nw = strlen(word), nn = strlen(name);
    int d = ct_word_distance(word, nw, name, nn);
    if (nw >= 3 && nn >= 3 && strncmp(word, name, nw < nn ? nw : nn) == 0 && d > 1) d = 1;
    if (d >= *least || 2 * (size_t)d > nw) return;
    *least = d;
    *best = name;
}

const char *cli_like_verb(const cli_command *const *commands, const char *word)
{
    /* what other programs call the same */
    static const char *const synonym[][2] = {
        { "test", "eval" },         { "validate", "eval" },       { "infer", "predict" }, { "inference", "predict" },
        { "generate", "gen" },      { "benchmark", "bench" },     { "summary", "plan" },  { "info", "doctor" },
        { "import", "import-torch" }, { "resume", "train" },      { "fit", "train" },
    };
    const char *best = NULL;
    int least = 3;
    for (size_t i = 0; i < sizeof synonym / sizeof *synonym; i++)
        if (strcmp(word, synonym[i][0]) == 0) return synonym[i][1];
    for (; *commands; commands++) consider(word, (*commands)->name, &least, &best);
    return best;
}

const char *cli_like_option(const char *word, const cli_command *cmd)
{
    const char *best = NULL;
    int least = 3;
    for (const cli_option *o = cli_globals(); o->name; o++) consider(word, o->name, &least, &best);
    for (const cli_option *o = cmd ? cmd->options : NULL; o && o->name; o++) consider(word, o->name, &least, &best);
    ct_option_info t;
    for (size_t i = 0; cmd && ct_option_at(cmd->name, i, &t); i++) consider(word, t.name, &least, &best);
    return best;
}
