/* Scripts by which shells complete verbs, options, keys and values, made from the tables of all of them. */
#include "config.h"

#include <string.h>

#include "cli/cli.h"

/* Bash parts words at '=', zsh does not. */
static const char bash_part[] =
    "_captrain() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} key= verb= i word list=\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == '=' ]]; then key=$prev cur=\n"
    "    elif [[ $prev == '=' ]]; then key=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ \" $_captrain_takes \" == *\" $word \"* ]]; then ((i++)); continue; fi\n"
    "        if [[ \" $_captrain_verbs \" == *\" $word \"* && ( -z $verb || $verb == launch ) ]]; then verb=$word; fi\n"
    "    done\n"
    "    if [[ -n $key ]]; then list=$(_captrain_values \"$key\")\n"
    "    elif [[ $prev == --set ]]; then\n"
    "        list=$(_captrain_keys = )\n"
    "        compopt -o nospace 2> /dev/null\n"
    "    elif [[ \" $_captrain_takes \" == *\" $prev \"* ]]; then list=$(_captrain_values \"$prev\")\n"
    "    elif [[ $cur == -* ]]; then list=$(_captrain_options \"$verb\")\n"
    "    elif [[ -z $verb || $verb == launch ]]; then list=$_captrain_verbs\n"
    "    elif [[ $verb == help ]]; then list=\"$_captrain_verbs $(_captrain_keys)\"\n"
    "    elif [[ $verb == completion ]]; then list='bash zsh'; fi\n"
    "    # words of tables: nothing in them is to be expanded\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$list\" -- \"$cur\")\n"
    "}\n"
    "complete -o bashdefault -o default -F _captrain captrain\n";

static const char zsh_part[] =
    "_captrain() {\n"
    "    local cur=${words[CURRENT]} prev=${words[CURRENT-1]} verb= i word list=\n"
    "    for ((i = 2; i < CURRENT; i++)); do\n"
    "        word=${words[i]}\n"
    "        if [[ \" $_captrain_takes \" == *\" $word \"* ]]; then ((i++)); continue; fi\n"
    "        if [[ \" $_captrain_verbs \" == *\" $word \"* && ( -z $verb || $verb == launch ) ]]; then verb=$word; fi\n"
    "    done\n"
    "    if [[ $prev == --set && $cur == *=* ]]; then\n"
    "        list=$(_captrain_values \"${cur%%=*}\")\n"
    "        compadd -p \"${cur%%=*}=\" -- ${=list}\n"
    "    elif [[ $prev == --set ]]; then\n"
    "        list=$(_captrain_keys =)\n"
    "        compadd -S '' -- ${=list}\n"
    "    elif [[ \" $_captrain_takes \" == *\" $prev \"* ]]; then\n"
    "        list=$(_captrain_values \"$prev\")\n"
    "        if [[ -n $list ]]; then compadd -- ${=list}; else _files; fi\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        list=$(_captrain_options \"$verb\")\n"
    "        compadd -- ${=list}\n"
    "    elif [[ -z $verb || $verb == launch ]]; then compadd -- ${=_captrain_verbs}\n"
    "    elif [[ $verb == help ]]; then\n"
    "        list=$(_captrain_keys)\n"
    "        compadd -- ${=_captrain_verbs} ${=list}\n"
    "    elif [[ $verb == completion ]]; then compadd -- bash zsh\n"
    "    else _files; fi\n"
    "}\n"
    "# found in fpath, the file is the function's first call; sourced, it is told about\n"
    "if [[ $funcstack[1] == _captrain ]]; then _captrain \"$@\"; else compdef _captrain captrain; fi\n";

/* What both shells know. */

static void print_names(const cli_option *o, bool with_argument)
{
    for (; o && o->name; o++)
        if (o->arg || !with_argument) printf(" %s", o->name);
}

static void print_task_names(const char *verb, bool with_argument)
{
    ct_option_info t;
    for (size_t i = 0; ct_option_at(verb, i, &t); i++)
        if (t.arg || !with_argument) printf(" %s", t.name);
}

static void print_options(const cli_command *const *commands)
{
    fputs("_captrain_verbs='", stdout);
    for (const cli_command *const *c = commands; *c; c++) printf("%s%s", c == commands ? "" : " ", (*c)->name);
    fputs("'\n_captrain_takes='", stdout);
    print_names(cli_globals(), true);
    for (const cli_command *const *c = commands; *c; c++) {
        print_names((*c)->options, true);
        print_task_names((*c)->name, true);
    }
    fputs("'\n_captrain_options() {\n    case $1 in\n", stdout);
    for (const cli_command *const *c = commands; *c; c++) {
        printf("    %s) echo '", (*c)->name);
        print_names((*c)->options, false);
        print_task_names((*c)->name, false);
        fputs("' ;;\n", stdout);
    }
    fputs("    esac\n    echo '", stdout);
    print_names(cli_globals(), false);
    fputs("'\n}\n", stdout);
}

/* "fp32=float32 bf16": the first of synonyms. */
static void print_values(const char *values)
{
    while (*values) {
        const size_t word = strcspn(values, " "), name = strcspn(values, "= ");
        printf(" %.*s", (int)name, values);
        values += word + (values[word] == ' ');
    }
}

/* Options named like a key take what it takes: --backend what train.backend does. */
static void print_options_of(const char *key, const cli_command *const *commands)
{
    for (const cli_command *const *c = commands; *c; c++)
        for (const cli_option *o = c == commands ? cli_globals() : (*c)->options; o && o->name; o++) {
            const char *like = o->arg ? ct_config_key_like(o->name + 2) : NULL;
            if (like && strcmp(like, key) == 0) printf(" | %s", o->name);
        }
}

static void print_keys(const cli_command *const *commands)
{
    const char *name, *values;
    fputs("# $1: what stands behind each\n_captrain_keys() {\n    local key\n    for key in", stdout);
    for (size_t i = 0; ct_config_key(i, &name, &values); i++) printf(" %s", name);
    fputs("; do echo \"$key$1\"; done\n}\n_captrain_values() {\n    case $1 in\n", stdout);
    for (size_t i = 0; ct_config_key(i, &name, &values); i++) {
        if (!*values) continue;
        printf("    %s", name);
        print_options_of(name, commands);
        fputs(") echo '", stdout);
        print_values(values);
        fputs("' ;;\n", stdout);
    }
    fputs("    esac\n}\n", stdout);
}

static int run_completion(const cli_args *a)
{
    const bool zsh = strcmp(a->pos[0], "zsh") == 0;
    if (!zsh && strcmp(a->pos[0], "bash") != 0) {
        fprintf(stderr, "captrain completion: there is no script for '%s'; there are bash and zsh\n", a->pos[0]);
        return 2;
    }
    printf("%s# Completion of captrain %s, made by `captrain completion %s`.\n", zsh ? "#compdef captrain\n" : "",
           ct_version(), a->pos[0]);
    print_options(a->commands);
    print_keys(a->commands);
    fputs(zsh ? zsh_part : bash_part, stdout);
    return 0;
}

const cli_command cli_completion = {
    "completion", "SHELL", "print what bash or zsh completes command lines with",
    "Prints the script by which SHELL, bash or zsh, completes verbs, options, configuration keys and their values. "
    "`make install` puts it where shells look; to try it: source <(captrain completion bash).",
    NULL, 1, 1, run_completion
};
