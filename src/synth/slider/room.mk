# The generator of slider pictures: outlines, masks, looks, backgrounds, what is where.
libcaptrain_la_SOURCES += \
	src/synth/slider/canvas.c \
	src/synth/slider/draw.c \
	src/synth/slider/folder.c \
	src/synth/slider/ground.c \
	src/synth/slider/internal.h \
	src/synth/slider/look.c \
	src/synth/slider/mask.c \
	src/synth/slider/outline.c \
	src/synth/slider/paint.c \
	src/synth/slider/place.c \
	src/synth/slider/scene.c \
	src/synth/slider/slider.h \
	src/synth/slider/tiles.c

check_PROGRAMS += tests/synth/check_slider tests/synth/check_slider_plan
tests_synth_check_slider_SOURCES = tests/synth/check_slider.c tests/synth/slider_util.h tests/data/data_util.c \
	tests/data/data_util.h
tests_synth_check_slider_LDADD = $(CT_TEST_LIBS)
tests_synth_check_slider_plan_SOURCES = tests/synth/check_slider_plan.c tests/synth/slider_util.h
tests_synth_check_slider_plan_LDADD = $(CT_TEST_LIBS)
