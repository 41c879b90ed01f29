#include "config.h"

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option options[] = {
    { "--target", "METRIC=VALUE", CLI_STRING, OFF(target), 0, 0,
      "what a validation has to reach: a metric of the task, '=', a value as result.json has it; default train.target "
      "of CONFIG" },
    { "--seeds", "N", CLI_INT, OFF(seeds), 1, 1000, "runs of each, with as many seeds; default 3" },
    { "--seed", "N", CLI_INT, OFF(seed), 1, INT64_C(1) << 40, "the first of them; default 1" },
    { "--every", "STEPS", CLI_INT, OFF(every), 1, INT64_C(1) << 40,
      "validate after every so many optimizer steps, which is how exactly times are known; the same as --set "
      "eval.every_steps=STEPS" },
    { "--command", "COMMAND", CLI_STRING, OFF(command), 0, 0,
      "another program that races, a line for the shell in which {seed}, {target} and {threads} are filled in; it "
      "prints a line of JSON at each of its validations: seconds, samples, steps, metric" },
    { "--set", "KEY=VALUE", CLI_SET, 0, 0, 0, "set a configuration key, for every CONFIG; may be given often" },
    { "--out", "DIR", CLI_STRING, OFF(out), 0, 0,
      "folder of the race; default runs/<date>-race. One that holds a race is an error without --resume" },
    { "--resume", NULL, CLI_FLAG, OFF(resume), 0, 0,
      "go on with the race in DIR: what is finished is not run again" },
    { "--json", NULL, CLI_FLAG, OFF(json), 0, 0, "print one JSON object" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

static int run(const cli_args *a)
{
    ct_race_opts o = { .size = sizeof o,
                       .common = a->common,
                       .configs = a->pos,
                       .nconfigs = (size_t)a->npos,
                       .sets = a->sets,
                       .nsets = a->nsets,
                       .command = a->command,
                       .target = a->target,
                       .seeds = a->seeds,
                       .seed = a->seed < 0 ? 0 : a->seed,
                       .every = a->every,
                       .out = a->out,
                       .resume = a->resume,
                       .json = a->json };
    int signal;
    const ct_status st = ct_run_race(&o, stdout, &signal);
    if (st == CT_ESIGNAL) {
        cli_say(ct_error_message());
        return cli_signal_code(signal);
    }
    return cli_finish(st);
}

const cli_command cli_race = {
    "race", "[CONFIG]...", "time trainings up to a target, over seeds",
    "Trains every CONFIG once per seed until a validation reaches the target, and prints seconds, samples and steps up "
    "to there, their means and spread. Seconds count from the beginning of the run, data and plans included, scoring "
    "apart. Another program can race along (--command). Seeds take turns: one of all before the next. Every run is a "
    "folder as `train` makes it, below that of the race, which also gets race.json, race.csv and race.svg. A seed that "
    "does not reach the target is told, not an error.",
    options, 0, 6, run
};
