# The operator catalogue: the list of operators, attributes, calls, and in math/ formulas that all backends share.
libcaptrain_la_SOURCES += \
	src/ops/family.h src/ops/ops.c src/ops/ops.h src/ops/ops.def src/ops/families.def src/ops/ops_text.c src/ops/rules.c

check_PROGRAMS += tests/ops/check_ops_refused
tests_ops_check_ops_refused_SOURCES = tests/ops/check_ops_refused.c
tests_ops_check_ops_refused_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/ops/check_ops_rules
tests_ops_check_ops_rules_SOURCES = tests/ops/check_ops_rules.c
tests_ops_check_ops_rules_LDADD = $(CT_TEST_LIBS)

EXTRA_DIST += \
	doc/operators/README.md doc/operators/activation.md doc/operators/conv.md doc/operators/elementwise.md \
	doc/operators/image.md doc/operators/linear.md doc/operators/loss.md doc/operators/metric.md \
	doc/operators/norm.md doc/operators/optim.md doc/operators/pool.md doc/operators/sequence.md \
	doc/operators/points.md doc/operators/heatmap.md doc/operators/channels.md doc/operators/ctc.md doc/operators/fuse.md doc/operators/resample.md doc/operators/softmax.md doc/operators/distill.md doc/operators/spectrum.md doc/operators/standardize.md

check_PROGRAMS += tests/ops/check_op_math
tests_ops_check_op_math_SOURCES = tests/ops/check_op_math.c
tests_ops_check_op_math_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/ops/check_image_math
tests_ops_check_image_math_SOURCES = tests/ops/check_image_math.c
tests_ops_check_image_math_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/ops/check_heatmap
tests_ops_check_heatmap_SOURCES = tests/ops/check_heatmap.c tests/ops/heatmap_values.h
tests_ops_check_heatmap_LDADD = $(CT_TEST_LIBS)
EXTRA_DIST += tests/ops/make_heatmap_values.py

check_PROGRAMS += tests/ops/check_points_ops
tests_ops_check_points_ops_SOURCES = tests/ops/check_points_ops.c
tests_ops_check_points_ops_LDADD = $(CT_TEST_LIBS)
