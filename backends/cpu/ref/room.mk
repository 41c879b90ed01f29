# Reference implementations of every operator, and the per-element arithmetic all backends share.
libcaptrain_la_SOURCES += \
	src/ops/math/points_math.h src/ops/math/heatmap_math.h src/ops/math/dropout_math.h src/ops/math/exp_math.h src/ops/math/fuse_math.h src/ops/math/image_math.h src/ops/math/lstm_math.h src/ops/math/mask_math.h \
	src/ops/math/optim_math.h src/ops/math/resample_math.h src/ops/math/schedule_math.h src/ops/math/spectrum_math.h
libcaptrain_cpu_la_SOURCES += \
	backends/cpu/ref/ref.c backends/cpu/ref/ref.h backends/cpu/ref/ref_util.h \
	backends/cpu/ref/activation.c backends/cpu/ref/conv.c backends/cpu/ref/elementwise.c backends/cpu/ref/image.c \
	backends/cpu/ref/linear.c backends/cpu/ref/loss.c backends/cpu/ref/metric.c backends/cpu/ref/norm.c \
	backends/cpu/ref/optim.c backends/cpu/ref/pool.c backends/cpu/ref/sequence.c \
	backends/cpu/ref/points.c backends/cpu/ref/heatmap.c backends/cpu/ref/channels.c backends/cpu/ref/ctc.c backends/cpu/ref/fuse.c backends/cpu/ref/resample.c backends/cpu/ref/softmax.c backends/cpu/ref/distill.c backends/cpu/ref/spectrum.c backends/cpu/ref/standardize.c
