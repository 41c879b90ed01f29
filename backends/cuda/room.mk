# The CUDA backend: a plug-in, so that the program itself needs no CUDA library. Built with --with-cuda.
cuda_sources = \
	backends/cuda/heatmap.cu backends/cuda/heatmap.cuh backends/cuda/heatmap_rows.cu backends/cuda/activation.cu backends/cuda/backend.c backends/cuda/channels.cu backends/cuda/columns.cuh backends/cuda/conv.cu backends/cuda/conv_few.cu backends/cuda/ctc.cu backends/cuda/cuda.h \
	backends/cuda/depthwise.cu backends/cuda/dev.cuh backends/cuda/dnn.c backends/cuda/dnn_plan.c backends/cuda/dnn_plan.h backends/cuda/elementwise.cu backends/cuda/fuse.cu \
	backends/cuda/image.cu backends/cuda/libs.h backends/cuda/linear.cu backends/cuda/loss.cu \
	backends/cuda/lt.c backends/cuda/metric.cu backends/cuda/muon.cu backends/cuda/nccl.c backends/cuda/nccl.h backends/cuda/nvml.c backends/cuda/nvml.h backends/cuda/norm.cu backends/cuda/norm.cuh backends/cuda/norm_overlap.cu backends/cuda/norm_pool.cu backends/cuda/norm_sum.cu backends/cuda/optim.cu backends/cuda/points.cu backends/cuda/pool.cu backends/cuda/mma.cuh backends/cuda/sequence.cu backends/cuda/sequence_lstm.cu backends/cuda/sequence_lstm.cuh backends/cuda/sequence_lstm_mma.cu \
	backends/cuda/resample.cu backends/cuda/softmax.cu backends/cuda/distill.cu backends/cuda/spectrum.cu backends/cuda/standardize.cu backends/cuda/window.cuh
EXTRA_DIST += $(cuda_sources) backends/cuda/nvcc.sh tests/cuda/check_cuda_plans.c tests/gpu/properties.c

if HAVE_CUDA
pkglib_LTLIBRARIES += captrain-cuda.la
captrain_cuda_la_SOURCES = $(cuda_sources)
captrain_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
captrain_cuda_la_LDFLAGS = -module -avoid-version -shared $(CUDA_LDFLAGS)
captrain_cuda_la_LIBADD = $(CUDA_LIBS) -lstdc++
captrain_cuda_la_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) --mode=link $(CC) $(AM_CFLAGS) $(CFLAGS) \
	$(captrain_cuda_la_LDFLAGS) $(LDFLAGS) -o $@

# Plans of cuDNN for cards that are not here.
check_PROGRAMS += tests/cuda/check_cuda_plans
tests_cuda_check_cuda_plans_SOURCES = tests/cuda/check_cuda_plans.c backends/cuda/dnn_plan.c
tests_cuda_check_cuda_plans_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_cuda_check_cuda_plans_LDFLAGS = $(CUDA_LDFLAGS)
tests_cuda_check_cuda_plans_LDADD = $(CT_TEST_LIBS) $(CUDA_LIBS)

# For tests/gpu/run, which is for a machine with a card.
noinst_PROGRAMS += tests/gpu/properties
tests_gpu_properties_SOURCES = tests/gpu/properties.c
tests_gpu_properties_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpu_properties_LDFLAGS = $(CUDA_LDFLAGS)
tests_gpu_properties_LDADD = $(CUDA_LIBS)
endif

# Kernels are compiled by nvcc, whose lists of used headers stand in .nvd files. What is asked of nvcc and what of libtool is
# spelled out here because automake knows no such language.
SUFFIXES += .cu
ct_nvcc_v = $(ct_nvcc_v_@AM_V@)
ct_nvcc_v_ = $(ct_nvcc_v_@AM_DEFAULT_V@)
ct_nvcc_v_0 = @echo "  NVCC    " $@;
ct_nvcc_v_1 =
.cu.lo:
	$(ct_nvcc_v)$(MKDIR_P) $(@D) && $(LIBTOOL) $(AM_V_lt) --tag=CXX $(AM_LIBTOOLFLAGS) --mode=compile \
		$(SHELL) $(top_srcdir)/backends/cuda/nvcc.sh $(NVCC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) $(CT_NVCCFLAGS) $(NVCCFLAGS) \
		-MMD -MP -MT $@ -MF $(@D)/$(*F).nvd -c -o $@ $<
.cu.o:
	$(ct_nvcc_v)$(MKDIR_P) $(@D) && $(SHELL) $(top_srcdir)/backends/cuda/nvcc.sh $(NVCC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) \
		$(CT_NVCCFLAGS) $(NVCCFLAGS) -MMD -MP -MT $@ -MF $(@D)/$(*F).nvd -c -o $@ $<
-include backends/cuda/*.nvd
cuda-clean:
	rm -f backends/cuda/*.nvd
.PHONY: cuda-clean

# The same kernels on an emulated card, for machines without one.
check_LTLIBRARIES += tests/emulate/captrain-cuda.la
tests_emulate_captrain_cuda_la_SOURCES = \
	backends/cuda/dnn.c backends/cuda/dnn_plan.c backends/cuda/dnn_plan.h backends/cuda/lt.c backends/cuda/nvml.c backends/cuda/nvml.h \
	tests/emulate/backend.c tests/emulate/cublasLt.h tests/emulate/cuda_runtime_api.h tests/emulate/cudnn.h tests/emulate/dnn.cpp \
	tests/emulate/emulate.h tests/emulate/kernels.cpp tests/emulate/lt.cpp tests/emulate/nccl.c tests/emulate/runtime.cpp
tests_emulate_captrain_cuda_la_CPPFLAGS = -I$(top_srcdir)/tests/emulate $(AM_CPPFLAGS) -DCT_CUDA_EMULATE
tests_emulate_captrain_cuda_la_CXXFLAGS = -std=c++17 -O2 -g -Wall -Wextra -Wno-unknown-pragmas
tests_emulate_captrain_cuda_la_LDFLAGS = -module -avoid-version -rpath /nowhere

# Groups of cards in the emulated plug-in, with stand-ins for NCCL: one of today, one that is too old, one whose members are processes.
check_LTLIBRARIES += tests/emulate/fake_nccl.la tests/emulate/fake_nccl_old.la
tests_emulate_fake_nccl_la_SOURCES = tests/emulate/fake_nccl.c tests/emulate/fake_nccl.h
tests_emulate_fake_nccl_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_emulate_fake_nccl_old_la_SOURCES = tests/emulate/fake_nccl.c tests/emulate/fake_nccl.h
tests_emulate_fake_nccl_old_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_NCCL_OLD
tests_emulate_fake_nccl_old_la_LDFLAGS = $(tests_emulate_fake_nccl_la_LDFLAGS)
check_LTLIBRARIES += tests/emulate/nccl_processes.la
tests_emulate_nccl_processes_la_SOURCES = tests/emulate/fake_nccl.h tests/emulate/nccl_processes.c
tests_emulate_nccl_processes_la_LDFLAGS = $(tests_emulate_fake_nccl_la_LDFLAGS)
dist_check_SCRIPTS += tests/sh/cards.sh
check_PROGRAMS += tests/cuda/check_nccl
tests_cuda_check_nccl_SOURCES = tests/cuda/check_nccl.c
tests_cuda_check_nccl_LDADD = $(CT_TEST_LIBS)

# The code around cuBLASLt and cuDNN, with the stand-ins of the emulated plug-in.
check_PROGRAMS += tests/cuda/check_libs
tests_cuda_check_libs_SOURCES = tests/cuda/check_libs.c
tests_cuda_check_libs_LDADD = $(CT_TEST_LIBS)

# NVML, which needs no CUDA to be built, against stand-ins for the driver's library: one of today, an old one, one that is too old.
check_LTLIBRARIES += tests/fake_nvml.la tests/fake_nvml_old.la tests/fake_nvml_ancient.la
tests_fake_nvml_la_SOURCES = tests/cuda/fake_nvml.c
tests_fake_nvml_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_fake_nvml_old_la_SOURCES = tests/cuda/fake_nvml.c
tests_fake_nvml_old_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_NVML_OLD
tests_fake_nvml_old_la_LDFLAGS = $(tests_fake_nvml_la_LDFLAGS)
tests_fake_nvml_ancient_la_SOURCES = tests/cuda/fake_nvml.c
tests_fake_nvml_ancient_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_NVML_ANCIENT
tests_fake_nvml_ancient_la_LDFLAGS = $(tests_fake_nvml_la_LDFLAGS)
check_PROGRAMS += tests/cuda/check_nvml
tests_cuda_check_nvml_SOURCES = tests/cuda/check_nvml.c backends/cuda/nvml.c
tests_cuda_check_nvml_LDADD = $(CT_TEST_LIBS)
EXTRA_DIST += tests/emulate/devices/a100.json tests/emulate/devices/b200.json tests/emulate/devices/h100.json tests/emulate/devices/h200.json tests/emulate/devices/rtx5090.json
