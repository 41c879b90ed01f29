# The generator of clips of gestures: frames as pure functions of a seed, the number of a clip and that of a frame.
libcaptrain_la_SOURCES += \
	src/task/gloss/synth/body.c \
	src/task/gloss/synth/cast.c \
	src/task/gloss/synth/film.c \
	src/task/gloss/synth/ground.c \
	src/task/gloss/synth/hand.c \
	src/task/gloss/synth/internal.h \
	src/task/gloss/synth/lexicon.c \
	src/task/gloss/synth/pose.c \
	src/task/gloss/synth/script.c \
	src/task/gloss/synth/synth.c \
	src/task/gloss/synth/synth.h \
	src/task/gloss/synth/write.c

check_PROGRAMS += tests/task/gloss/synth/check_gestures tests/task/gloss/synth/check_gesture_pictures
tests_task_gloss_synth_check_gestures_SOURCES = tests/task/gloss/synth/check_gestures.c \
	tests/task/gloss/synth/gesture_util.h tests/data/data_util.c tests/data/data_util.h
tests_task_gloss_synth_check_gestures_LDADD = $(CT_TEST_LIBS)
tests_task_gloss_synth_check_gesture_pictures_SOURCES = tests/task/gloss/synth/check_gesture_pictures.c \
	tests/task/gloss/synth/gesture_util.h
tests_task_gloss_synth_check_gesture_pictures_LDADD = $(CT_TEST_LIBS)
