# Weights in files: checkpoints, model files, initial weights, import and export.
libcaptrain_la_SOURCES += \
	src/weights/checkpoint.c \
	src/weights/checkpoint.h \
	src/weights/export.c \
	src/weights/export.h \
	src/weights/import.c \
	src/weights/init.c \
	src/weights/init.h \
	src/weights/model_file.c \
	src/weights/name_map.c \
	src/weights/name_map.h \
	src/weights/match.c \
	src/weights/match.h \
	src/weights/names.c \
	src/weights/names.h \
	src/weights/progress_json.c \
	src/weights/state.c \
	src/weights/state.h \
	src/weights/use.c \
	src/weights/use.h

check_PROGRAMS += tests/weights/check_checkpoint
tests_weights_check_checkpoint_SOURCES = tests/weights/check_checkpoint.c
tests_weights_check_checkpoint_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/weights/check_init
tests_weights_check_init_SOURCES = tests/weights/check_init.c
tests_weights_check_init_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/weights/check_trunk
tests_weights_check_trunk_SOURCES = tests/weights/check_trunk.c
tests_weights_check_trunk_LDADD = $(CT_TEST_LIBS)

dist_check_SCRIPTS += tests/sh/weights.sh tests/sh/use_ctc.sh tests/sh/jsonl.sh
dist_doc_DATA += doc/formats.md
