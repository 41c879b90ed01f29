# What there is to know of operators: a file per family with rules of shape, gradient, cost and tolerance.
libcaptrain_la_SOURCES += \
	src/ops/rules/activation.c \
	src/ops/rules/channels.c \
	src/ops/rules/conv.c \
	src/ops/rules/ctc.c \
	src/ops/rules/distill.c \
	src/ops/rules/elementwise.c \
	src/ops/rules/fuse.c \
	src/ops/rules/heatmap.c \
	src/ops/rules/image.c \
	src/ops/rules/linear.c \
	src/ops/rules/loss.c \
	src/ops/rules/metric.c \
	src/ops/rules/norm.c \
	src/ops/rules/optim.c \
	src/ops/rules/points.c \
	src/ops/rules/pool.c \
	src/ops/rules/resample.c \
	src/ops/rules/sequence.c \
	src/ops/rules/softmax.c \
	src/ops/rules/spectrum.c \
	src/ops/rules/standardize.c
