# A model kept open for programs that call the library: pictures in memory, one session for each read that goes on, readings.
libcaptrain_la_SOURCES += \
	src/serve/model.c \
	src/serve/pool.c src/serve/pool.h \
	src/serve/stack.c src/serve/stack.h

check_PROGRAMS += tests/serve/check_serve
tests_serve_check_serve_SOURCES = tests/serve/check_serve.c
tests_serve_check_serve_LDADD = $(CT_TEST_LIBS)

EXTRA_DIST += tests/fuzz/corpus/pixels
if CT_FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_pixels
endif
tests_fuzz_fuzz_pixels_SOURCES = tests/fuzz/fuzz_pixels.c
tests_fuzz_fuzz_pixels_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_pixels_LDFLAGS = $(CT_FUZZER)
