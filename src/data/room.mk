# Data sets: labels, packed cache, checks of a folder.
libcaptrain_la_SOURCES += \
	src/data/build.c \
	src/data/build.h \
	src/data/clip.c \
	src/data/clips.c \
	src/data/database.c \
	src/data/dataset.c \
	src/data/dataset.h \
	src/data/dataset_access.c \
	src/data/dataset_internal.h \
	src/data/fields.c \
	src/data/fit.c \
	src/data/folder.c \
	src/data/labels.c \
	src/data/labels.h \
	src/data/listed.c \
	src/data/other_lists.c \
	src/data/pack.c \
	src/data/pack.h \
	src/data/picture.c \
	src/data/pictures.c \
	src/data/pictures.h \
	src/data/samples.c \
	src/data/scan.c \
	src/data/scan.h \
	src/data/scan_internal.h \
	src/data/sources.c

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

check_PROGRAMS += tests/data/check_paths
tests_data_check_paths_SOURCES = tests/data/check_paths.c
tests_data_check_paths_LDADD = $(CT_TEST_LIBS)
noinst_PROGRAMS += tests/data/make_lmdb
tests_data_make_lmdb_SOURCES = tests/data/make_lmdb.c
tests_data_make_lmdb_LDADD = $(LMDB_LIBS)
dist_check_SCRIPTS += tests/sh/databases.sh tests/sh/several.sh
dist_check_SCRIPTS += tests/sh/data.sh tests/sh/init.sh tests/sh/label_files.sh tests/sh/like.sh

if CT_FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_image tests/fuzz/fuzz_label tests/fuzz/fuzz_lmdb
tests_fuzz_fuzz_lmdb_SOURCES = tests/fuzz/fuzz_lmdb.c tests/fuzz/fuzz_util.h
tests_fuzz_fuzz_lmdb_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_lmdb_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_image_SOURCES = tests/fuzz/fuzz_image.c
tests_fuzz_fuzz_image_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_image_LDFLAGS = $(CT_FUZZER)
tests_fuzz_fuzz_label_SOURCES = tests/fuzz/fuzz_label.c
tests_fuzz_fuzz_label_LDADD = $(CT_FUZZ_LIBS)
tests_fuzz_fuzz_label_LDFLAGS = $(CT_FUZZER)
endif
EXTRA_DIST += tests/fuzz/corpus/image tests/fuzz/corpus/label tests/fuzz/corpus/lmdb
EXTRA_PROGRAMS += tests/fuzz/make_seeds
tests_fuzz_make_seeds_SOURCES = tests/fuzz/make_seeds.c tests/data/data_util.c tests/data/data_util.h
tests_fuzz_make_seeds_LDADD = $(CT_TEST_LIBS) $(WEBP_LIBS)
