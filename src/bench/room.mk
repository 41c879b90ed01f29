# Verbs that measure or plan: bench, profile, tune, plan.
libcaptrain_la_SOURCES += \
	src/bench/bench.c \
	src/bench/bench.h \
	src/bench/bench_call.c \
	src/bench/bench_ops.c \
	src/bench/plan.c \
	src/bench/profile.c \
	src/bench/profile.h \
	src/bench/tune.c \
	src/bench/verdict.c

check_PROGRAMS += tests/bench/check_plan
tests_bench_check_plan_SOURCES = tests/bench/check_plan.c
tests_bench_check_plan_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/bench/check_profile
tests_bench_check_profile_SOURCES = tests/bench/check_profile.c
tests_bench_check_profile_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/bench/check_tune
tests_bench_check_tune_SOURCES = tests/bench/check_tune.c
tests_bench_check_tune_LDADD = $(CT_TEST_LIBS)

dist_check_SCRIPTS += tests/sh/tune.sh
check_PROGRAMS += tests/bench/loader
tests_bench_loader_SOURCES = tests/bench/loader.c tests/bench/bare.c tests/bench/bare.h tests/data/data_util.c tests/data/data_util.h
tests_bench_loader_LDADD = $(CT_TEST_LIBS) $(PNG_LIBS) $(JPEG_LIBS)
EXTRA_DIST += \
	tests/bench/child.py tests/bench/compare.sh tests/bench/ddp.py tests/bench/draw_captcha.py tests/bench/processes.sh tests/bench/epoch.py tests/bench/many.py tests/bench/epoch.sh tests/bench/few.py tests/bench/recipe_crnn.py tests/bench/tables.py tests/bench/startup.sh \
	tests/bench/table.sh tests/bench/library tests/bench/library.c \
	tests/portability.sh
