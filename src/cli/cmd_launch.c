#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define OFF(field) offsetof(cli_args, field)

static const cli_option options[] = {
    { "-n", "N", CLI_INT, OFF(processes), 1, 65536,
      "processes; default one for each device of the backend, which is 1 without cards" },
    { "--hosts", "A,B", CLI_STRING, OFF(hosts), 0, 0,
      "machines, which ssh reaches without a password and which have this program, the data and the folder this is "
      "started in under the same paths; A:4,B:4 says how many processes each takes, else they are shared out evenly" },
    { "--restarts", "K", CLI_INT, OFF(restarts), 0, 1000000,
      "start a training that saved and ended with exit code 75 again, with --resume, at most K times; needs its --out "
      "DIR" },
    { "--dry-run", NULL, CLI_FLAG, OFF(dry_run), 0, 0, "print the command and start nothing" },
    { NULL, NULL, CLI_FLAG, 0, 0, 0, NULL }
};

/* The command line of the processes: what stands in front of the verb and every verb has is theirs, too. */
static int compose(const cli_args *a, char *threads, size_t size, const char **v)
{
    int n = 0;
    v[n++] = a->program;
    v[n++] = a->pos[0];
    if (a->common.backend) {
        v[n++] = "--backend";
        v[n++] = a->common.backend;
    }
    if (a->common.threads) {
        snprintf(threads, size, "%d", a->common.threads);
        v[n++] = "--threads";
        v[n++] = threads;
    }
    if (a->quiet) v[n++] = "--quiet";
    if (a->verbose) v[n++] = "--verbose";
    for (int i = 1; i < a->npos; i++) v[n++] = a->pos[i];
    v[n] = NULL;
    return n;
}

/* A configuration key that says how many threads there are to be. */
static bool sets_threads(const cli_args *a)
{
    for (size_t i = 0; i < a->nsets; i++)
        if (strncmp(a->sets[i], "train.threads=", 14) == 0) return true;
    return false;
}

static int launch(const cli_args *a, const cli_command *verb, const cli_args *inner, const char *const *words, int n)
{
    const bool train = verb == a->commands[0];
    int code;
    if (verb == &cli_launch) {
        fputs("captrain launch: launch cannot be launched\n", stderr);
        return 2;
    }
    if (a->restarts && (!train || !inner->out)) {
        fprintf(stderr, "captrain launch: --restarts %s\n",
                train ? "needs --out DIR behind train: that is the run to be continued" : "is for train alone");
        return 2;
    }
    const ct_launch_opts o = { .size = sizeof o,
                               .common = { inner->common.backend, inner->common.threads ? inner->common.threads
                                                                  : sets_threads(inner) ? 1 : 0 },
                               .program = a->program,
                               .words = words,
                               .nwords = (size_t)n,
                               .processes = a->processes,
                               .hosts = a->hosts,
                               .restarts = a->restarts,
                               .can_resume = inner->out != NULL,
                               .resumes = inner->resume,
                               .dry_run = a->dry_run };
    const ct_status st = ct_run_launch(&o, stdout, &code);
    return st == CT_OK ? code : cli_finish(st);
}

static int run(const cli_args *a)
{
    const char **v = calloc((size_t)a->npos + 8, sizeof *v);
    const cli_command *verb;
    cli_args inner;
    char threads[16];
    if (!v) return cli_finish(CT_ENOMEM);
    const int n = compose(a, threads, sizeof threads, v);
    /* What is wrong with it is said once, here, and not by each of the processes. */
    int code = cli_parse(n, (char **)(void *)v, a->commands, &inner, &verb);
    if (code == 0 && verb && inner.help) cli_print_command_help(verb, stdout);
    else if (code == 0) code = launch(a, verb, &inner, v + 1, n - 1);
    cli_args_free(&inner);
    free(v);
    return code;
}

const cli_command cli_launch = {
    "launch", "VERB [OPTION OF VERB]...", "run a verb in several processes, started by mpirun",
    "Starts VERB, a verb of this program with its operands and options, in several processes: composes a command for "
    "mpirun of Open MPI or mpiexec of MPICH, prints it and runs it. Each process gets its share of the cores, "
    "bound to it where that is possible, and --threads to match, unless VERB's options have --threads. "
    "SIGINT (Ctrl-C), SIGTERM, SIGUSR1 and SIGHUP reach all processes: a training saves and ends. The exit code is "
    "that of the processes. Where several machines take part, Open MPI is told to take CAPTRAIN_*, OMP_*, OPENBLAS_*, "
    "NCCL_*, UCX_* and LD_LIBRARY_PATH along.",
    options, 1, CLI_REST, run
};
