# Generators of samples: pure functions of a seed and an index.
libcaptrain_la_SOURCES += \
	src/synth/text.c \
	src/synth/text.h \
	src/synth/text_draw.c \
	src/synth/text_internal.h \
	src/synth/text_files.c \
	src/synth/text_style.c

check_PROGRAMS += tests/synth/check_synth
tests_synth_check_synth_SOURCES = tests/synth/check_synth.c tests/synth/synth_util.h tests/data/data_util.c tests/data/data_util.h
tests_synth_check_synth_LDADD = $(CT_TEST_LIBS)
