# Batches: the order of samples, which of them go together, threads that fill them in.
libcaptrain_la_SOURCES += \
	src/loader/loader.c \
	src/loader/loader.h \
	src/loader/schedule.c \
	src/loader/schedule.h \
	src/loader/tempo.c \
	src/loader/tempo.h

check_PROGRAMS += tests/loader/check_clip_batches tests/loader/check_loader
tests_loader_check_clip_batches_SOURCES = tests/loader/check_clip_batches.c tests/data/clip_labels.h tests/data/data_util.c \
	tests/data/data_util.h
tests_loader_check_clip_batches_LDADD = $(CT_TEST_LIBS)
tests_loader_check_loader_SOURCES = tests/loader/check_loader.c tests/data/tiny_labels.h
tests_loader_check_loader_LDADD = $(CT_TEST_LIBS)
