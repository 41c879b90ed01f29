# Sessions: a model on a device; how batches get there and numbers come back; scoring passes.
libcaptrain_la_SOURCES += \
	src/session/augmented.c \
	src/session/augmented.h \
	src/session/evaluate.c \
	src/session/evaluate.h \
	src/session/feed.c src/session/gather.c src/session/gather.h \
	src/session/feed.h \
	src/session/memory.c \
	src/session/memory.h \
	src/session/parts.c \
	src/session/parts.h \
	src/session/readback.c \
	src/session/readback.h \
	src/session/resident.c \
	src/session/resident.h \
	src/session/session.c \
	src/session/session.h \
	src/session/step.c

check_PROGRAMS += tests/session/check_feed
tests_session_check_feed_SOURCES = tests/session/check_feed.c
tests_session_check_feed_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/session/check_resident
tests_session_check_resident_SOURCES = tests/session/check_resident.c
tests_session_check_resident_LDADD = $(CT_TEST_LIBS)

dist_check_SCRIPTS += tests/sh/feed.sh

check_PROGRAMS += tests/session/check_share
tests_session_check_share_SOURCES = tests/session/check_share.c
tests_session_check_share_LDADD = $(CT_TEST_LIBS)

dist_check_SCRIPTS += tests/sh/parts.sh tests/sh/sync_norm.sh

check_PROGRAMS += tests/session/check_augmented
tests_session_check_augmented_SOURCES = tests/session/check_augmented.c
tests_session_check_augmented_LDADD = $(CT_TEST_LIBS)
