# Build list of this room; see HACKING.md.
include $(top_srcdir)/src/train/room_exec.mk
libcaptrain_la_SOURCES += \
	src/train/checkpoint.c src/train/checkpoint.h \
	src/train/datasets.c src/train/datasets.h \
	src/train/detail.c \
	src/train/eval.c \
	src/train/evaluate.c src/train/evaluate.h \
	src/train/export.c \
	src/train/feed.c src/train/feed.h \
	src/train/finish.c \
	src/train/gauge.c src/train/gauge.h \
	src/train/import.c \
	src/train/init.c src/train/init.h \
	src/train/journal.c src/train/journal.h \
	src/train/loop.c \
	src/train/model_file.c \
	src/train/name_map.c src/train/name_map.h \
	src/train/numeric.c \
	src/train/predict.c \
	src/train/progress.c src/train/progress.h \
	src/train/readback.c src/train/readback.h \
	src/train/progress_json.c \
	src/train/report.c src/train/report_html.h \
	src/train/report_curves.c \
	src/train/report_device.c \
	src/train/report_errors.c \
	src/train/report_style.c \
	src/train/receipt.c src/train/receipt.h \
	src/train/resident.c src/train/resident.h \
	src/train/resume.c \
	src/train/run.h \
	src/train/session.c src/train/session.h \
	src/train/setup.c \
	src/train/signals.c src/train/signals.h \
	src/train/track.c src/train/track.h \
	src/train/train.c \
	src/train/tune.c src/train/tune.h src/train/tune_cache.c \
	src/train/use.c src/train/use.h

dist_check_SCRIPTS += tests/sh/train_ctc.sh tests/sh/train_kill.sh tests/sh/train_run.sh tests/sh/weights.sh tests/sh/tune.sh tests/sh/use_ctc.sh
EXTRA_DIST += tests/sh/train_util.sh

check_PROGRAMS += tests/check_metrics tests/check_checkpoint
tests_check_metrics_SOURCES = tests/check_metrics.c
tests_check_metrics_LDADD = $(CT_TEST_LIBS)
tests_check_checkpoint_SOURCES = tests/check_checkpoint.c
tests_check_checkpoint_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/check_engines
tests_check_engines_SOURCES = tests/check_engines.c
tests_check_engines_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/check_init
tests_check_init_SOURCES = tests/check_init.c
tests_check_init_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/check_datasets
tests_check_datasets_SOURCES = tests/check_datasets.c tests/data_util.c tests/data_util.h
tests_check_datasets_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/check_train
tests_check_train_SOURCES = tests/check_train.c
tests_check_train_LDADD = $(CT_TEST_LIBS)

dist_doc_DATA += doc/formats.md
check_PROGRAMS += tests/check_feed tests/check_resident
tests_check_feed_SOURCES = tests/check_feed.c
tests_check_feed_LDADD = $(CT_TEST_LIBS)
tests_check_resident_SOURCES = tests/check_resident.c
tests_check_resident_LDADD = $(CT_TEST_LIBS)
dist_check_SCRIPTS += tests/sh/feed.sh
