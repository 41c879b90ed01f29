/* From argv to cli_args. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

/* Words of a command line may be names of files that a shell has put there. */
static int usage(const char *fmt, const char *a, const char *b)
{
    char first[512], second[512];
    fputs("captrain: ", stderr);
    fprintf(stderr, fmt, ct_text_visible(a, first, sizeof first), ct_text_visible(b, second, sizeof second));
    fputs("\n", stderr);
    return 2;
}

/* Whole decimal number in [min,max]. */
static bool parse_int(const char *s, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (end == s || *end || errno || v < min || v > max) return false;
    *out = v;
    return true;
}

static bool parse_share(const char *s, double *out)
{
    char *end;
    const double v = strtod(s, &end);
    if (end == s || *end || !(v >= 0 && v <= 1)) return false;
    *out = v;
    return true;
}

static bool parse_bytes(const char *s, int64_t *out)
{
    char *end;
    errno = 0;
    double v = strtod(s, &end);
    if (end == s || errno || !(v > 0)) return false;
    switch (*end) {
    case 'k': case 'K': v *= 1024.0; end++; break;
    case 'm': case 'M': v *= 1024.0 * 1024; end++; break;
    case 'g': case 'G': v *= 1024.0 * 1024 * 1024; end++; break;
    default: break;
    }
    if (*end == 'i') end++;
    if (*end == 'B') end++;
    if (*end || v > 9e18) return false;
    *out = (int64_t)v;
    return true;
}

/* Stores `value` for option o; false: it is not of the option's kind. */
static bool store(cli_args *a, const cli_option *o, const char *value)
{
    void *field = (char *)a + o->offset;
    int64_t v;
    switch (o->type) {
    case CLI_FLAG: *(bool *)field = true; return true;
    case CLI_STRING: *(const char **)field = value; return true;
    case CLI_INT: return parse_int(value, o->min, o->max, (int64_t *)field);
    case CLI_INT_AUTO:
        if (strcmp(value, "auto") == 0) return *(int64_t *)field = -1, true;
        return parse_int(value, o->min, o->max, (int64_t *)field);
    case CLI_THREADS:
        if (!parse_int(value, o->min, o->max, &v)) return false;
        *(int *)field = (int)v;
        return true;
    case CLI_SHARE: return parse_share(value, (double *)field);
    case CLI_BYTES: return parse_bytes(value, (int64_t *)field);
    case CLI_SET:
        if (!strchr(value, '=') || value[0] == '=') return false;
        a->sets[a->nsets++] = value;
        return true;
    case CLI_LIST:
        ((cli_list *)field)->v[((cli_list *)field)->n++] = value;
        return true;
    }
    return false;
}

/* An option of whatever verb has it: all verbs agree on whether a name takes an argument. */
static const cli_option *find_anywhere(const cli_command *const *commands, const char *word)
{
    const cli_option *o = cli_find_option(cli_globals(), word, strlen(word));
    for (; !o && *commands; commands++) o = cli_find_option((*commands)->options, word, strlen(word));
    return o;
}

/* The verb is the first word that is no option and no option's argument. It must be known before its own options are
 * read, so it is looked for first. */
static const char *find_verb(int argc, char **argv, const cli_command *const *commands)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) return NULL;
        if (argv[i][0] != '-') return argv[i];
        const cli_option *o = find_anywhere(commands, argv[i]);
        ct_option_info t;
        if (o ? o->arg != NULL : cli_find_task_option(NULL, argv[i], strlen(argv[i]), &t) && t.arg) i++;
    }
    return NULL;
}

static int bad_value(const cli_option *o, const char *value)
{
    char shown[512];
    fprintf(stderr, "captrain: %s: '%s' is not ", o->name, ct_text_visible(value, shown, sizeof shown));
    switch (o->type) {
    case CLI_INT: case CLI_THREADS:
        fprintf(stderr, "a whole number from %lld to %lld", (long long)o->min, (long long)o->max);
        break;
    case CLI_INT_AUTO:
        fprintf(stderr, "a whole number from %lld to %lld, or auto", (long long)o->min, (long long)o->max);
        break;
    case CLI_SHARE: fputs("a number from 0 to 1", stderr); break;
    case CLI_BYTES: fputs("a size such as 512M or 8G", stderr); break;
    default: fputs("of the form KEY=VALUE", stderr); break;
    }
    fputs("\n", stderr);
    return 2;
}

static int unknown_verb(const cli_command *const *commands, const char *word)
{
    const char *like = cli_like_verb(commands, word), *dot = strrchr(word, '.');
    if (!like && dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0))
        return usage("'%s' stands without a verb; did you mean 'captrain train %s'?", word, word);
    if (!like) return usage("unknown verb '%s'; see captrain --help%s", word, "");
    return usage("unknown verb '%s'; did you mean '%s'? See captrain --help", word, like);
}

/* The option is w[0..len). Other programs have options for what is a configuration key here. */
static int unknown_option(const char *w, size_t len, const cli_command *cmd)
{
    char name[64];
    if (len >= sizeof name) return usage("unknown option '%s'; see captrain %s --help", w, cmd->name);
    memcpy(name, w, len);
    name[len] = 0;
    char shown[4 * sizeof name];
    const char *like = cli_like_option(name, cmd), *key = ct_config_key_like(name + strspn(name, "-"));
    fprintf(stderr, "captrain: unknown option '%s'", ct_text_visible(name, shown, sizeof shown));
    if (key && cli_find_option(cmd->options, "--set", 5))
        fprintf(stderr, "; %s is a configuration key: --set %s=...; see captrain %s --help\n", key, key, cmd->name);
    else if (like)
        fprintf(stderr, "; did you mean '%s'? See captrain %s --help\n", like, cmd->name);
    else
        fprintf(stderr, "; see captrain %s --help\n", cmd->name);
    return 2;
}

/* The three that have a short name as well. */
static bool short_flag(const char *w, cli_args *a)
{
    if (strcmp(w, "-h") == 0) a->help = true;
    else if (strcmp(w, "-V") == 0) a->version = true;
    else if (strcmp(w, "-v") == 0) a->verbose = true;
    else if (strcmp(w, "-q") == 0) a->quiet = true;
    else return false;
    return true;
}

/* The value of the option w[0..len), argv[*i]: behind a '=', or the next word; NULL for flags. False, after a message:
 * there is none, or one too many. */
static bool take_value(int argc, char **argv, int *i, size_t len, const char *name, const char *arg, const char **value)
{
    const char *w = argv[*i];
    *value = w[len] == '=' ? w + len + 1 : NULL;
    if (!arg && *value) return usage("%s takes no value%s", name, ""), false;
    if (!arg || *value) return true;
    if (*i + 1 >= argc) return usage("%s needs a value: %s", name, arg), false;
    *value = argv[++*i];
    return true;
}

/* The option argv[*i], with its value. */
static int parse_option(int argc, char **argv, int *i, cli_args *a, const cli_command *cmd)
{
    const char *w = argv[*i], *value;
    const char *eq = strncmp(w, "--", 2) == 0 ? strchr(w, '=') : NULL;
    const size_t len = eq ? (size_t)(eq - w) : strlen(w);
    ct_option_info t;
    const cli_option *o = cli_find_option(cli_globals(), w, len);
    if (!o && cmd) o = cli_find_option(cmd->options, w, len);
    if (o) {
        if (!take_value(argc, argv, i, len, o->name, o->arg, &value)) return 2;
        return store(a, o, value) ? 0 : bad_value(o, value);
    }
    if (!cmd || !cli_find_task_option(cmd->name, w, len, &t)) return unknown_option(w, len, cmd);
    if (!take_value(argc, argv, i, len, t.name, t.arg, &value)) return 2;
    a->option[a->noptions++] = (ct_option){ t.key, value ? value : "true" };
    return 0;
}

static int parse_words(int argc, char **argv, cli_args *a, const cli_command *cmd, const char *verb)
{
    bool options = true, verb_seen = false;
    for (int i = 1; i < argc; i++) {
        char *w = argv[i];
        int rc;
        if (options && strcmp(w, "--") == 0) {
            options = false;
        } else if (options && w[0] == '-' && w[1]) {
            if (short_flag(w, a)) continue;
            if ((rc = parse_option(argc, argv, &i, a, cmd))) return rc;
        } else if (!verb_seen && w == verb) {
            verb_seen = true;
        } else {
            a->pos[a->npos++] = w;
            if (cmd && cmd->pos_max == CLI_REST) options = false;
        }
    }
    return 0;
}

int cli_parse(int argc, char **argv, const cli_command *const *commands, cli_args *a, const cli_command **cmd)
{
    memset(a, 0, sizeof *a);
    a->seed = -1;
    a->commands = commands;
    a->program = argc > 0 ? argv[0] : "captrain";
    *cmd = NULL;
    a->pos = calloc((size_t)argc + 1, sizeof *a->pos);
    a->sets = calloc((size_t)argc + 1, sizeof *a->sets);
    a->maps.v = calloc((size_t)argc + 1, sizeof *a->maps.v);
    a->option = calloc((size_t)argc + 1, sizeof *a->option);
    const bool made = a->pos && a->sets && a->maps.v && a->option;
    if (!made) return usage("out of memory%s%s", "", "");
    const char *verb = find_verb(argc, argv, commands);
    if (verb && !(*cmd = cli_find(commands, verb))) return unknown_verb(commands, verb);
    int rc = parse_words(argc, argv, a, *cmd ? *cmd : commands[0], verb);
    if (rc) return rc;
    if (a->verbose && a->quiet) return usage("%s and %s exclude each other", "--verbose", "--quiet");
    if (a->help || a->version) return 0;
    if (!*cmd && a->npos > 0) return usage("'%s' stands without a verb; see captrain --help%s", a->pos[0], "");
    if (*cmd && a->npos < (*cmd)->pos_min) {
        fprintf(stderr, "captrain %s: needs %s\n", (*cmd)->name, (*cmd)->operands);
        return 2;
    }
    if (*cmd && (*cmd)->pos_max >= 0 && a->npos > (*cmd)->pos_max) {
        char word[512];
        fprintf(stderr, "captrain %s: one word too many: '%s'\n", (*cmd)->name,
                ct_text_visible(a->pos[(*cmd)->pos_max], word, sizeof word));
        return 2;
    }
    return 0;
}

void cli_args_free(cli_args *a)
{
    free(a->pos);
    free(a->sets);
    free(a->maps.v);
    free(a->option);
    a->pos = NULL;
    a->sets = NULL;
    a->option = NULL;
    a->maps = (cli_list){ NULL, 0 };
}
