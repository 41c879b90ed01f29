# Data sets: labels, packed cache, checks of a folder.
libcaptrain_la_SOURCES += \
	src/data/build.c \
	src/data/build.h \
	src/data/clip.c \
	src/data/clips.c \
	src/data/dataset.c \
	src/data/dataset.h \
	src/data/dataset_access.c \
	src/data/dataset_internal.h \
	src/data/fields.c \
	src/data/fit.c \
	src/data/label_table.c \
	src/data/labels.c \
	src/data/labels.h \
	src/data/other_lists.c \
	src/data/pack.c \
	src/data/pack.h \
	src/data/picture.c \
	src/data/samples.c \
	src/data/scan.c \
	src/data/scan.h \
	src/data/table.c \
	src/data/table.h \
	src/data/workers.c \
	src/data/workers.h

check_PROGRAMS += tests/data/check_clips tests/data/check_data tests/data/check_data_fields tests/data/check_data_label \
	tests/data/check_data_report tests/data/check_data_width
tests_data_check_clips_SOURCES = tests/data/check_clips.c tests/data/clip_labels.h tests/data/data_util.c tests/data/data_util.h
tests_data_check_clips_LDADD = $(CT_TEST_LIBS)
tests_data_check_data_SOURCES = tests/data/check_data.c tests/task/text/text_util.h tests/task/text/text_folder.h tests/data/data_util.c tests/data/data_util.h
tests_data_check_data_LDADD = $(CT_TEST_LIBS)
tests_data_check_data_fields_SOURCES = tests/data/check_data_fields.c tests/data/tiny_labels.h tests/data/data_util.c tests/data/data_util.h
tests_data_check_data_fields_LDADD = $(CT_TEST_LIBS)
tests_data_check_data_label_SOURCES = tests/data/check_data_label.c
tests_data_check_data_label_LDADD = $(CT_TEST_LIBS)
tests_data_check_data_report_SOURCES = tests/data/check_data_report.c tests/task/text/text_util.h tests/data/data_util.c tests/data/data_util.h
tests_data_check_data_report_LDADD = $(CT_TEST_LIBS)
tests_data_check_data_width_SOURCES = tests/data/check_data_width.c tests/task/text/text_util.h tests/task/text/text_folder.h tests/data/data_util.c tests/data/data_util.h
tests_data_check_data_width_LDADD = $(CT_TEST_LIBS)

dist_check_SCRIPTS += tests/sh/data.sh

if CT_FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_image tests/fuzz/fuzz_label
tests_fuzz_fuzz_image_SOURCES = tests/fuzz/fuzz_image.c
tests_fuzz_fuzz_image_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_image_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_label_SOURCES = tests/fuzz/fuzz_label.c
tests_fuzz_fuzz_label_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_label_LDFLAGS = $(CT_FUZZER)
endif
EXTRA_DIST += tests/fuzz/corpus/image tests/fuzz/corpus/label
EXTRA_PROGRAMS += tests/fuzz/make_seeds
tests_fuzz_make_seeds_SOURCES = tests/fuzz/make_seeds.c tests/data/data_util.c tests/data/data_util.h
tests_fuzz_make_seeds_LDADD = $(CT_TEST_LIBS)
