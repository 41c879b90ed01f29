# The generator of the text task: pictures as pure functions of a seed and an index.
libcaptrain_la_SOURCES += \
	src/task/text/synth/draw.c \
	src/task/text/synth/files.c \
	src/task/text/synth/internal.h \
	src/task/text/synth/params.c \
	src/task/text/synth/style.c \
	src/task/text/synth/style_file.c \
	src/task/text/synth/synth.c \
	src/task/text/synth/synth.h

check_PROGRAMS += tests/task/text/synth/check_style_file
tests_task_text_synth_check_style_file_SOURCES = tests/task/text/synth/check_style_file.c tests/task/text/synth/synth_util.h \
	tests/data/data_util.c tests/data/data_util.h
tests_task_text_synth_check_style_file_LDADD = $(CT_TEST_LIBS)
check_PROGRAMS += tests/task/text/synth/check_synth
tests_task_text_synth_check_synth_SOURCES = tests/task/text/synth/check_synth.c tests/task/text/synth/synth_util.h \
	tests/data/data_util.c tests/data/data_util.h
tests_task_text_synth_check_synth_LDADD = $(CT_TEST_LIBS)
