# The generator of the slider task: pictures as pure functions of a seed and an index.
libcaptrain_la_SOURCES += \
	src/task/slider/synth/canvas.c \
	src/task/slider/synth/draw.c \
	src/task/slider/synth/folder.c \
	src/task/slider/synth/ground.c \
	src/task/slider/synth/internal.h \
	src/task/slider/synth/look.c \
	src/task/slider/synth/mask.c \
	src/task/slider/synth/outline.c \
	src/task/slider/synth/paint.c \
	src/task/slider/synth/place.c \
	src/task/slider/synth/scene.c \
	src/task/slider/synth/synth.h \
	src/task/slider/synth/tiles.c

check_PROGRAMS += tests/task/slider/synth/check_slider tests/task/slider/synth/check_slider_plan
tests_task_slider_synth_check_slider_SOURCES = tests/task/slider/synth/check_slider.c tests/task/slider/synth/slider_util.h \
	tests/data/data_util.c tests/data/data_util.h
tests_task_slider_synth_check_slider_LDADD = $(CT_TEST_LIBS)
tests_task_slider_synth_check_slider_plan_SOURCES = tests/task/slider/synth/check_slider_plan.c \
	tests/task/slider/synth/slider_util.h
tests_task_slider_synth_check_slider_plan_LDADD = $(CT_TEST_LIBS)
