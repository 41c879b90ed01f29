# The operator catalogue: the list of operators and its rules of shape, gradient and cost.
libcaptrain_la_SOURCES += \
	src/ops/ops.c src/ops/ops.h src/ops/ops.def src/ops/families.def src/ops/ops_text.c \
	src/ops/rules.c src/ops/family.h \
	src/ops/activation.c src/ops/conv.c src/ops/elementwise.c src/ops/image.c src/ops/linear.c \
	src/ops/loss.c src/ops/metric.c src/ops/norm.c src/ops/optim.c src/ops/pool.c src/ops/sequence.c \
	src/ops/channels.c src/ops/ctc.c src/ops/fuse.c src/ops/resample.c src/ops/softmax.c

check_PROGRAMS += tests/ops/check_ops_rules
tests_ops_check_ops_rules_SOURCES = tests/ops/check_ops_rules.c
tests_ops_check_ops_rules_LDADD = $(CT_TEST_LIBS)

EXTRA_DIST += \
	doc/operators/README.md doc/operators/activation.md doc/operators/conv.md doc/operators/elementwise.md \
	doc/operators/image.md doc/operators/linear.md doc/operators/loss.md doc/operators/metric.md \
	doc/operators/norm.md doc/operators/optim.md doc/operators/pool.md doc/operators/sequence.md \
	doc/operators/channels.md doc/operators/ctc.md doc/operators/fuse.md doc/operators/resample.md doc/operators/softmax.md

check_PROGRAMS += tests/ops/check_op_math
tests_ops_check_op_math_SOURCES = tests/ops/check_op_math.c
tests_ops_check_op_math_LDADD = $(CT_TEST_LIBS)
