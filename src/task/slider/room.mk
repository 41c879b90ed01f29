# The slider task: pictures with a gap, and the piece that fits into it.
libcaptrain_la_SOURCES += \
	src/task/slider/label.c \
	src/task/slider/label.h

# Drawn pictures as data sets and files.
libcaptrain_la_SOURCES += \
	src/task/slider/draw.h \
	src/task/slider/draw_files.c

check_PROGRAMS += tests/task/slider/check_draw
tests_task_slider_check_draw_SOURCES = tests/task/slider/check_draw.c tests/task/slider/synth/slider_util.h tests/data/data_util.c \
	tests/data/data_util.h
tests_task_slider_check_draw_LDADD = $(CT_TEST_LIBS)
