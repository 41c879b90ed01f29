# What needs a GPU, and the proof that its script works without one.
EXTRA_DIST += tests/gpu/run tests/gpu/static
dist_check_SCRIPTS += tests/sh/gpu.sh tests/sh/gpu_emulated.sh

# Files of earlier releases, and expected results by recipe: what later versions must read and compute.
EXTRA_DIST += tests/old/README.md tests/old/make.sh tests/old/0.1 tests/regress/machine.sh \
	tests/regress/run tests/regress/results.csv tests/regress/tiny-crnn.yaml
dist_check_SCRIPTS += tests/sh/old_files.sh tests/sh/regress.sh

# Every JSON document of the program against its schema in doc/json.
check_PROGRAMS += tests/json/check_schema
tests_json_check_schema_SOURCES = tests/json/check_schema.c tests/json/schema.c tests/json/schema.h
tests_json_check_schema_LDADD = $(CT_TEST_LIBS)
dist_check_SCRIPTS += tests/sh/json.sh

# What the command line prints, case by case.
EXTRA_DIST += tests/cli/run tests/cli/config.t tests/cli/data.t tests/cli/help.t tests/cli/models.t tests/cli/plan.t tests/cli/train.t tests/cli/usage.t
dist_check_SCRIPTS += tests/sh/cli_cases.sh
