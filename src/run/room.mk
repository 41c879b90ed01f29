# A training run: set-up, loop, resume, journal, bar, receipt.
libcaptrain_la_SOURCES += \
	src/run/bar.c \
	src/run/bar.h \
	src/run/gauge.c \
	src/run/gauge.h \
	src/run/journal.c \
	src/run/journal.h \
	src/run/loop.c \
	src/run/numeric.c \
	src/run/pictures.c \
	src/run/place.c \
	src/run/receipt.c \
	src/run/receipt.h \
	src/run/resume.c \
	src/run/run.h \
	src/run/setup.c \
	src/run/together.c

check_PROGRAMS += tests/run/check_engines
tests_run_check_engines_SOURCES = tests/run/check_engines.c
tests_run_check_engines_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/run/check_journal
tests_run_check_journal_SOURCES = tests/run/check_journal.c
tests_run_check_journal_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/run/check_train
tests_run_check_train_SOURCES = tests/run/check_train.c
tests_run_check_train_LDADD = $(CT_TEST_LIBS)

dist_check_SCRIPTS += tests/sh/muon.sh tests/sh/bf16.sh tests/sh/tensorboard.sh tests/sh/train_clips.sh tests/sh/train_crop.sh tests/sh/train_ctc.sh tests/sh/train_kill.sh tests/sh/train_run.sh
EXTRA_DIST += tests/sh/group_util.sh tests/sh/train_util.sh tests/tensorboard/look.py
