# The slider task: pictures with a gap, and the piece that fits into it.
libcaptrain_la_SOURCES += \
	src/task/slider/eval.c \
	src/task/slider/findings.c \
	src/task/slider/findings.h \
	src/task/slider/folder.c \
	src/task/slider/generator.c \
	src/task/slider/goal.c \
	src/task/slider/goal.h \
	src/task/slider/golden.c \
	src/task/slider/label.c \
	src/task/slider/label.h \
	src/task/slider/leaving.c \
	src/task/slider/metrics.c \
	src/task/slider/program.c \
	src/task/slider/propose.c \
	src/task/slider/reader.c \
	src/task/slider/report.c \
	src/task/slider/slider.c \
	src/task/slider/slider.h \
	src/task/slider/survey.c

# Drawn pictures as data sets and files.
libcaptrain_la_SOURCES += \
	src/task/slider/draw.h \
	src/task/slider/draw_files.c

check_PROGRAMS += tests/task/slider/check_draw
tests_task_slider_check_draw_SOURCES = tests/task/slider/check_draw.c tests/task/slider/synth/slider_util.h tests/data/data_util.c \
	tests/data/data_util.h
tests_task_slider_check_draw_LDADD = $(CT_TEST_LIBS)

check_PROGRAMS += tests/task/slider/check_slider_data
tests_task_slider_check_slider_data_SOURCES = tests/task/slider/check_slider_data.c
tests_task_slider_check_slider_data_LDADD = $(CT_TEST_LIBS)
dist_check_SCRIPTS += tests/task/slider/bad_sliders.sh tests/task/slider/reference.sh tests/task/slider/slider.sh
EXTRA_DIST += tests/task/slider/slider.yaml tests/task/slider/reference/loss_early.yaml \
	tests/task/slider/reference/loss_late.yaml tests/task/slider/reference/preprocessing_config.yaml \
	tests/task/slider/reference/training_config.yaml
dist_examples_DATA += examples/slider-small.yaml examples/slider.yaml
