# File formats that others read. The code of tfevents.proto is made by protoc-c.
libcaptrain_la_SOURCES += \
	src/formats/html.c src/formats/html.h \
	src/formats/json.c src/formats/json.h \
	src/formats/lmdb.c src/formats/lmdb.h src/formats/lmdb_sound.c \
	src/formats/safetensors.c src/formats/safetensors.h src/formats/st_internal.h src/formats/st_writer.c \
	src/formats/svg.c src/formats/svg.h \
	src/formats/tfevents.c src/formats/tfevents.h src/formats/tfevents_hparams.c src/formats/tfevents_tags.h
nodist_libcaptrain_la_SOURCES += src/formats/tfevents.pb-c.c src/formats/tfevents.pb-c.h
BUILT_SOURCES += src/formats/tfevents.pb-c.h
CLEANFILES += src/formats/tfevents.pb-c.c src/formats/tfevents.pb-c.h
EXTRA_DIST += src/formats/tfevents.proto

# One run makes both files; the second rule only waits for the first.
src/formats/tfevents.pb-c.c: src/formats/tfevents.proto
	@$(MKDIR_P) src/formats
	$(AM_V_GEN)$(PROTOC_C) --proto_path=$(srcdir)/src --c_out=src $(srcdir)/src/formats/tfevents.proto
src/formats/tfevents.pb-c.h: src/formats/tfevents.pb-c.c
	@test -f $@ || { rm -f src/formats/tfevents.pb-c.c && $(MAKE) $(AM_MAKEFLAGS) src/formats/tfevents.pb-c.c; }

check_PROGRAMS += tests/formats/check_formats
tests_formats_check_formats_SOURCES = tests/formats/check_formats.c
tests_formats_check_formats_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/formats/check_tfevents
tests_formats_check_tfevents_SOURCES = tests/formats/check_tfevents.c
tests_formats_check_tfevents_LDADD = $(CT_TEST_LIBS)

EXTRA_DIST += tests/fuzz/corpus/safetensors
if CT_FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_safetensors
tests_fuzz_fuzz_safetensors_SOURCES = tests/fuzz/fuzz_safetensors.c tests/fuzz/fuzz_util.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_safetensors_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_safetensors_LDFLAGS = $(CT_FUZZER)
endif
