# What everything else stands on: status and message, log, allocation, text, numbers, files, signals.
libcaptrain_la_SOURCES += \
	src/base/alloc.c src/base/alloc.h \
	src/base/alphabet.c src/base/alphabet.h \
	src/base/cache.c src/base/cache.h \
	src/base/clip.h \
	src/base/cpus.c src/base/cpus.h \
	src/base/crash.c src/base/crash.h \
	src/base/dtype.c src/base/dtype.h \
	src/base/env.c src/base/env.h \
	src/base/file.c src/base/file.h \
	src/base/lock.c src/base/lock.h \
	src/base/log.c src/base/log.h \
	src/base/number.c src/base/number.h \
	src/base/pace.c src/base/pace.h \
	src/base/paths.c src/base/paths.h \
	src/base/place.c src/base/place.h \
	src/base/philox.c src/base/philox.h \
	src/base/shortest.c src/base/shortest.h \
	src/base/signals.c src/base/signals.h \
	src/base/status.c src/base/status.h \
	src/base/sized.c src/base/sized.h \
	src/base/text.c src/base/text.h \
	src/base/version.c src/base/version.h \
	src/base/workers.c src/base/workers.h

check_PROGRAMS += tests/base/check_base tests/base/check_base_numbers tests/base/check_cache tests/base/check_process \
	tests/base/check_place tests/base/check_sized tests/base/check_text
tests_base_check_base_SOURCES = tests/base/check_base.c
tests_base_check_base_LDADD = $(CT_TEST_LIBS)
tests_base_check_base_numbers_SOURCES = tests/base/check_base_numbers.c
tests_base_check_base_numbers_LDADD = $(CT_TEST_LIBS)
tests_base_check_cache_SOURCES = tests/base/check_cache.c
tests_base_check_cache_LDADD = $(CT_TEST_LIBS)
tests_base_check_place_SOURCES = tests/base/check_place.c
tests_base_check_place_LDADD = $(CT_TEST_LIBS)
tests_base_check_process_SOURCES = tests/base/check_process.c
tests_base_check_process_LDADD = $(CT_TEST_LIBS)
tests_base_check_sized_SOURCES = tests/base/check_sized.c
tests_base_check_sized_LDADD = $(CT_TEST_LIBS)
tests_base_check_text_SOURCES = tests/base/check_text.c
tests_base_check_text_LDADD = $(CT_TEST_LIBS)
