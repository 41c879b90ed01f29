# The operator harness and its case tables: part of the library (`captrain selftest`); and the programs that use them.
libcaptrain_la_SOURCES += \
	tests/harness/harness.h tests/harness/harness_priv.h \
	tests/harness/cases.c tests/harness/generate.c tests/harness/gradient.c tests/harness/harness.c \
	tests/harness/report.c tests/harness/timing.c tests/harness/tolerance.c \
	tests/cases/activation.c tests/cases/conv.c tests/cases/elementwise.c tests/cases/image.c tests/cases/linear.c \
	tests/cases/loss.c tests/cases/metric.c tests/cases/norm.c tests/cases/optim.c tests/cases/pool.c tests/cases/sequence.c \
	tests/cases/ctc.c tests/cases/softmax.c

check_PROGRAMS += tests/check_ops tests/check_harness tests/check_op_math tests/check_ref
tests_check_ops_SOURCES = tests/check_ops.c
tests_check_ops_LDADD = $(CT_TEST_LIBS)
tests_check_harness_SOURCES = tests/check_harness.c
tests_check_harness_LDADD = $(CT_TEST_LIBS)
tests_check_op_math_SOURCES = tests/check_op_math.c
tests_check_op_math_LDADD = $(CT_TEST_LIBS)
tests_check_ref_SOURCES = tests/check_ref.c tests/ref_values.h
tests_check_ref_LDADD = $(CT_TEST_LIBS)
EXTRA_DIST += tests/make_ref_values.py
