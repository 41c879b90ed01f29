# The CPU backend: built in.
libcaptrain_cpu_la_SOURCES += \
	backends/cpu/activation.c backends/cpu/backend.c backends/cpu/blas.c backends/cpu/channels.c backends/cpu/conv.c backends/cpu/conv.h backends/cpu/conv_gather.c backends/cpu/conv_gather.h backends/cpu/conv_moments.c backends/cpu/conv_split.c \
	backends/cpu/conv_wgrad.c backends/cpu/conv_wgrad_split.c backends/cpu/convert.c backends/cpu/cpu.h backends/cpu/ctc.c \
	backends/cpu/ctc_sample.h backends/cpu/depthwise.c backends/cpu/distill.c backends/cpu/elementwise.c backends/cpu/fuse.c backends/cpu/heatmap.c \
	backends/cpu/image.c \
	backends/cpu/info.c backends/cpu/kern.h backends/cpu/kern_amx.h backends/cpu/kern_avx2.c backends/cpu/kern_avx512.c \
	backends/cpu/kern_base.c backends/cpu/kern_choose.c backends/cpu/kern_conv.h backends/cpu/kern_copy.h \
	backends/cpu/kern_depthwise.h backends/cpu/kern_element.h backends/cpu/kern_lstm.h backends/cpu/kern_norm.h backends/cpu/kern_norm_pool.h backends/cpu/kern_optim.h backends/cpu/kern_pairs.h \
	backends/cpu/kern_planes.h backends/cpu/kern_pool.h backends/cpu/kern_random.h backends/cpu/kern_resample.h backends/cpu/kern_silu.h backends/cpu/kern_soft.h backends/cpu/kern_split.h backends/cpu/kern_standardize.h backends/cpu/kern_sum.h \
	backends/cpu/kern_table.h backends/cpu/kern_vec.h backends/cpu/kern_wino.h backends/cpu/linear.c backends/cpu/linear_direct.c \
	backends/cpu/metric.c backends/cpu/muon.c backends/cpu/norm.c backends/cpu/norm.h backends/cpu/norm_joint.c backends/cpu/norm_length.c backends/cpu/norm_more.c backends/cpu/norm_pool.c backends/cpu/optim.c backends/cpu/parallel.c backends/cpu/planes.c \
	backends/cpu/points.c backends/cpu/pool.c backends/cpu/pool.h backends/cpu/resample.c backends/cpu/sequence.c backends/cpu/softmax.c backends/cpu/spectrum.c backends/cpu/standardize.c \
	backends/cpu/telemetry.c \
	backends/cpu/wino.c backends/cpu/wino.h backends/cpu/wino_grid.c backends/cpu/wino_wgrad.c

include $(top_srcdir)/backends/cpu/ref/room.mk

check_PROGRAMS += tests/cpu/check_cpu_backend
tests_cpu_check_cpu_backend_SOURCES = tests/cpu/check_cpu_backend.c tests/cpu/cpu_fixture.h
tests_cpu_check_cpu_backend_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/cpu/check_same_bits
tests_cpu_check_same_bits_SOURCES = tests/cpu/check_same_bits.c tests/cpu/cpu_fixture.h
tests_cpu_check_same_bits_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/cpu/check_standardize
tests_cpu_check_standardize_SOURCES = tests/cpu/check_standardize.c tests/harness/ref_fixture.h tests/harness/ref_values.h
tests_cpu_check_standardize_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/cpu/check_pairs
tests_cpu_check_pairs_SOURCES = tests/cpu/check_pairs.c
tests_cpu_check_pairs_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/cpu/check_split
tests_cpu_check_split_SOURCES = tests/cpu/check_split.c
tests_cpu_check_split_LDADD = $(CT_TEST_LIBS)
