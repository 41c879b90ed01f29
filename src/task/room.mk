# What a run is about: the table of a task, its data sets, best weights and early stopping; rows of symbols.
libcaptrain_la_SOURCES += \
	src/task/beam.c \
	src/task/beam.h \
	src/task/best_path.c src/task/best_path.h \
	src/task/calibration.c src/task/calibration.h \
	src/task/common.c \
	src/task/confusions.c \
	src/task/confusions.h \
	src/task/datasets.c \
	src/task/datasets.h \
	src/task/edit.c \
	src/task/edit.h \
	src/task/golden_labels.c \
	src/task/options.c \
	src/task/parts.c \
	src/task/parts.h \
	src/task/paths.c src/task/paths.h \
	src/task/reading.c src/task/reading.h \
	src/task/registry.c \
	src/task/task.h \
	src/task/track.c \
	src/task/track.h

check_PROGRAMS += tests/task/check_datasets
tests_task_check_datasets_SOURCES = tests/task/check_datasets.c tests/data/data_util.c tests/data/data_util.h
tests_task_check_datasets_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/task/check_decode
tests_task_check_decode_SOURCES = tests/task/check_decode.c
tests_task_check_decode_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/task/check_restricted
tests_task_check_restricted_SOURCES = tests/task/check_restricted.c
tests_task_check_restricted_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/task/check_metrics
tests_task_check_metrics_SOURCES = tests/task/check_metrics.c
tests_task_check_metrics_LDADD = $(CT_TEST_LIBS)
