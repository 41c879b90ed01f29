# Floor 5, the part about what a step computes: programs, specification, plan, bench and selftest verbs, golden files.
libcaptrain_la_SOURCES += \
	src/train/bench.c src/train/bench.h \
	src/train/bench_call.c \
	src/train/bench_ops.c \
	src/train/ctc_check.c src/train/ctc_check.h \
	src/train/golden.c \
	src/train/golden.h \
	src/train/golden_file.c \
	src/train/golden_table.c \
	src/train/golden_ties.c \
	src/train/measure.c src/train/measure.h \
	src/train/memory.c src/train/memory.h \
	src/train/planinfo.c \
	src/train/profile.c src/train/profile.h \
	src/train/program.c \
	src/train/program.h \
	src/train/selftest.c \
	src/train/spec.c \
	src/train/spec.h \
	src/train/verdict.c

check_PROGRAMS += tests/check_program tests/check_golden tests/check_plan
tests_check_plan_SOURCES = tests/check_plan.c
tests_check_plan_LDADD = $(CT_TEST_LIBS)
tests_check_program_SOURCES = tests/check_program.c tests/check_program.h tests/check_program_spec.c tests/check_program_ctc.c tests/check_program_pad.c
tests_check_program_LDADD = $(CT_TEST_LIBS)
tests_check_golden_SOURCES = tests/check_golden.c
tests_check_golden_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/check_profile
tests_check_profile_SOURCES = tests/check_profile.c
tests_check_profile_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/check_tune
tests_check_tune_SOURCES = tests/check_tune.c
tests_check_tune_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/bench/loader
tests_bench_loader_SOURCES = tests/bench/loader.c tests/data_util.c tests/data_util.h
tests_bench_loader_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_bench_loader_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/check_ctc
tests_check_ctc_SOURCES = tests/check_ctc.c
tests_check_ctc_LDADD = $(CT_TEST_LIBS)
EXTRA_DIST += \
	tests/bench/child.py tests/bench/compare.sh tests/bench/epoch.py tests/bench/epoch.sh tests/bench/recipe_crnn.py tests/bench/startup.sh \
	tests/bench/table.sh \
	tests/portability.sh \
	tests/golden/README.md \
	tests/golden/ctc.safetensors \
	tests/golden/ctc-zero-infinity.safetensors \
	tests/golden/make_ctc.py \
	tests/golden/crnn-f32.safetensors \
	tests/golden/crnn-f64.safetensors \
	tests/golden/crnn-stacked-f32.safetensors \
	tests/golden/resnet18-f32.safetensors \
	tests/golden/textcnn-dropout-f32.safetensors \
	tests/golden/textcnn-dropout-f64.safetensors \
	tests/golden/textcnn-f32.safetensors
