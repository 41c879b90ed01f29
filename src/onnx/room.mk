# Models as ONNX: a graph is written, read back, run and compared. The code of onnx.proto is made by protoc-c.
libcaptrain_la_SOURCES += \
	src/onnx/affine.c \
	src/onnx/compare.c \
	src/onnx/export.c \
	src/onnx/file.c \
	src/onnx/make.c src/onnx/make.h \
	src/onnx/onnx.h \
	src/onnx/pair.c src/onnx/pair.h src/onnx/prove.c \
	src/onnx/read.c src/onnx/read.h src/onnx/read_even.c src/onnx/read_layers.c src/onnx/read_nodes.c src/onnx/read_numbers.c \
	src/onnx/read_shapes.c src/onnx/read_tensors.c \
	src/onnx/runner.c src/onnx/runner.h \
	src/onnx/write.c src/onnx/write.h src/onnx/write_ends.c src/onnx/write_layers.c src/onnx/write_numbers.c \
	src/onnx/write_shapes.c src/onnx/write_text.c src/onnx/writer.c src/onnx/writer.h
nodist_libcaptrain_la_SOURCES += src/onnx/onnx.pb-c.c src/onnx/onnx.pb-c.h
BUILT_SOURCES += src/onnx/onnx.pb-c.h
CLEANFILES += src/onnx/onnx.pb-c.c src/onnx/onnx.pb-c.h
EXTRA_DIST += src/onnx/onnx.proto

# One run makes both files; the second rule only waits for the first.
src/onnx/onnx.pb-c.c: src/onnx/onnx.proto
	@$(MKDIR_P) src/onnx
	$(AM_V_GEN)$(PROTOC_C) --proto_path=$(srcdir)/src --c_out=src $(srcdir)/src/onnx/onnx.proto
src/onnx/onnx.pb-c.h: src/onnx/onnx.pb-c.c
	@test -f $@ || { rm -f src/onnx/onnx.pb-c.c && $(MAKE) $(AM_MAKEFLAGS) src/onnx/onnx.pb-c.c; }

check_PROGRAMS += tests/onnx/check_onnx
tests_onnx_check_onnx_SOURCES = tests/onnx/check_onnx.c tests/onnx/even.h
tests_onnx_check_onnx_LDADD = $(CT_TEST_LIBS)
EXTRA_PROGRAMS += tests/onnx/captrain-even
CLEANFILES += tests/onnx/captrain-even$(EXEEXT)
check_DATA += tests/onnx/captrain-even$(EXEEXT)
tests_onnx_captrain_even_SOURCES = tests/onnx/even.c tests/onnx/even.h
tests_onnx_captrain_even_LDADD = libcaptrain_cli.la libcaptrain_core.la
dist_check_SCRIPTS += tests/sh/onnx.sh tests/sh/onnx_tasks.sh
EXTRA_DIST += tests/onnx/common.py tests/onnx/rows.py tests/onnx/tasks.py tests/sh/onnx_util.sh tests/fuzz/corpus/onnx
dist_doc_DATA += doc/onnx.md

if CT_FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_onnx
endif
tests_fuzz_fuzz_onnx_SOURCES = tests/fuzz/fuzz_onnx.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_onnx_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_onnx_LDFLAGS = $(CT_FUZZER)
