# The program: one const command struct per verb, the table of them, and what reads the table. All but main() is a library, so that a
# program of the tests can have it with a task more.
captrain_SOURCES += src/cli/main.c
libcaptrain_cli_la_SOURCES += \
	src/cli/cli.c \
	src/cli/cli.h \
	src/cli/cmd_convert.c \
	src/cli/cmd_data.c \
	src/cli/cmd_fit.c \
	src/cli/cmd_inspect.c \
	src/cli/cmd_launch.c \
	src/cli/cmd_compare.c \
	src/cli/cmd_monitor.c \
	src/cli/cmd_profile.c \
	src/cli/cmd_race.c \
	src/cli/cmd_train.c \
	src/cli/cmd_tune.c \
	src/cli/cmd_use.c \
	src/cli/commands.c \
	src/cli/completion.c \
	src/cli/exit.c \
	src/cli/help.c \
	src/cli/limits.c \
	src/cli/options.c \
	src/cli/parse.c \
	src/cli/suggest.c

dist_check_SCRIPTS += tests/sh/monitor.sh tests/sh/cli.sh tests/sh/completion.sh tests/sh/bad_input.sh
dist_check_SCRIPTS += tests/sh/crash_report.sh tests/sh/hostile_config.sh tests/sh/hostile_labels.sh tests/sh/hostile_process.sh tests/sh/hostile_run.sh
EXTRA_DIST += tests/sh/lib.sh
