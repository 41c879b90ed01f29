# The operator harness and its case tables: part of the library (`captrain selftest`); and the programs that use them.
libcaptrain_la_SOURCES += \
	src/harness/harness.h src/harness/harness_priv.h \
	src/harness/cases.c src/harness/generate.c src/harness/gradient.c src/harness/harness.c \
	src/harness/report.c src/harness/timing.c src/harness/tolerance.c \
	src/harness/cases/activation.c src/harness/cases/conv.c src/harness/cases/elementwise.c src/harness/cases/image.c src/harness/cases/linear.c \
	src/harness/cases/loss.c src/harness/cases/metric.c src/harness/cases/norm.c src/harness/cases/optim.c src/harness/cases/pool.c src/harness/cases/sequence.c \
	src/harness/cases/points.c src/harness/cases/heatmap.c src/harness/cases/channels.c src/harness/cases/ctc.c src/harness/cases/fuse.c src/harness/cases/resample.c src/harness/cases/softmax.c src/harness/cases/distill.c src/harness/cases/spectrum.c src/harness/cases/standardize.c

check_PROGRAMS += tests/harness/check_ops tests/harness/check_harness tests/harness/check_ref tests/harness/check_ref_norm
tests_harness_check_ops_SOURCES = tests/harness/check_ops.c
tests_harness_check_ops_LDADD = $(CT_TEST_LIBS)
tests_harness_check_harness_SOURCES = tests/harness/check_harness.c
tests_harness_check_harness_LDADD = $(CT_TEST_LIBS)
tests_harness_check_ref_SOURCES = tests/harness/check_ref.c tests/harness/ref_fixture.h tests/harness/ref_values.h
tests_harness_check_ref_LDADD = $(CT_TEST_LIBS)
tests_harness_check_ref_norm_SOURCES = tests/harness/check_ref_norm.c tests/harness/ref_fixture.h tests/harness/ref_values.h
tests_harness_check_ref_norm_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/harness/check_points
tests_harness_check_points_SOURCES = tests/harness/check_points.c
tests_harness_check_points_LDADD = $(CT_TEST_LIBS)
EXTRA_DIST += tests/harness/make_ref_values.py
