# What needs a GPU, and the proof that its script works without one.
EXTRA_DIST += tests/gpu/run tests/gpu/static tests/gpu/bundle tests/gpu/first-contact tests/gpu/line.schema.json tests/gpu/predict tests/gpu/predict.json
dist_check_SCRIPTS += tests/sh/gpu.sh tests/sh/gpu_emulated.sh tests/sh/first_contact.sh
noinst_PROGRAMS += tests/gpu/group
tests_gpu_group_SOURCES = tests/gpu/group.c
tests_gpu_group_LDADD = libcaptrain_core.la

# Files of earlier releases, and expected results by recipe: what later versions must read and compute.
EXTRA_DIST += tests/old/README.md tests/old/make.sh tests/old/0.1 tests/regress/machine.sh \
	tests/regress/run tests/regress/results.csv tests/regress/textcnn-small.yaml tests/regress/tiny-crnn.yaml
dist_check_SCRIPTS += tests/sh/old_files.sh tests/sh/regress.sh

# Every JSON document of the program against its schema in doc/json.
check_PROGRAMS += tests/json/check_schema
tests_json_check_schema_SOURCES = tests/json/check_schema.c tests/json/schema.c tests/json/schema.h
tests_json_check_schema_LDADD = $(CT_TEST_LIBS)
dist_check_SCRIPTS += tests/sh/json.sh

# What the command line prints, case by case.
EXTRA_DIST += tests/cli/run tests/cli/config.t tests/cli/data.t tests/cli/help.t tests/cli/launch.t tests/cli/models.t tests/cli/plan.t tests/cli/train.t tests/cli/usage.t
dist_check_SCRIPTS += tests/sh/cli_cases.sh

# README's commands.
EXTRA_DIST += tests/readme/run
dist_check_SCRIPTS += tests/sh/readme.sh

# What the compiler and the linker are asked to do against the use of faults is in what was built.
dist_check_SCRIPTS += tests/sh/hardening.sh

# What looks for faults on its own: failing system calls, power cuts, hostile files, hours of use.
EXTRA_DIST += tests/cluster/run tests/cluster/hold.c
EXTRA_DIST += tests/torture/run tests/torture/preload.c tests/torture/planted.c tests/crash/run tests/crash/cut.c
EXTRA_DIST += tests/fuzz/coverage tests/fuzz/soak tests/fuzz/spare.list tests/fuzz/dict tests/fuzz/corpus/choices tests/fuzz/corpus/cli \
	tests/fuzz/corpus/folder tests/fuzz/corpus/gloss tests/fuzz/corpus/journal \
	tests/fuzz/corpus/map tests/fuzz/corpus/slider
if CT_FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_checkpoint tests/fuzz/fuzz_choices tests/fuzz/fuzz_cli tests/fuzz/fuzz_folder tests/fuzz/fuzz_gloss tests/fuzz/fuzz_golden tests/fuzz/fuzz_journal \
	tests/fuzz/fuzz_map tests/fuzz/fuzz_model tests/fuzz/fuzz_pack tests/fuzz/fuzz_planted tests/fuzz/fuzz_slider
endif
FUZZ_UTIL = tests/fuzz/fuzz_util.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_checkpoint_SOURCES = tests/fuzz/fuzz_checkpoint.c $(FUZZ_UTIL)
tests_fuzz_fuzz_checkpoint_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_checkpoint_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_choices_SOURCES = tests/fuzz/fuzz_choices.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_choices_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_choices_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_cli_SOURCES = tests/fuzz/fuzz_cli.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_cli_LDADD = libcaptrain_cli.la $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_cli_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_folder_SOURCES = tests/fuzz/fuzz_folder.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_folder_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_folder_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_gloss_SOURCES = tests/fuzz/fuzz_gloss.c $(FUZZ_UTIL)
tests_fuzz_fuzz_gloss_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_gloss_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_golden_SOURCES = tests/fuzz/fuzz_golden.c $(FUZZ_UTIL)
tests_fuzz_fuzz_golden_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_golden_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_journal_SOURCES = tests/fuzz/fuzz_journal.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_journal_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_journal_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_map_SOURCES = tests/fuzz/fuzz_map.c $(FUZZ_UTIL)
tests_fuzz_fuzz_map_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_map_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_model_SOURCES = tests/fuzz/fuzz_model.c $(FUZZ_UTIL)
tests_fuzz_fuzz_model_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_model_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_pack_SOURCES = tests/fuzz/fuzz_pack.c $(FUZZ_UTIL)
tests_fuzz_fuzz_pack_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_pack_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_planted_SOURCES = tests/fuzz/fuzz_planted.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_planted_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_planted_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_slider_SOURCES = tests/fuzz/fuzz_slider.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_slider_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_slider_LDFLAGS = $(CT_FUZZER)

noinst_PROGRAMS += tests/soak/soak
tests_soak_soak_SOURCES = tests/soak/soak.c
tests_soak_soak_LDADD = libcaptrain_core.la
EXTRA_DIST += tests/soak/run
