# captrain fit-style: parameters of the text generator whose pictures look like given ones.
libcaptrain_la_SOURCES += \
	src/task/text/style/drawn.c \
	src/task/text/style/fit.c \
	src/task/text/style/look.c \
	src/task/text/style/page.c \
	src/task/text/style/style.h \
	src/task/text/style/verb.c

check_PROGRAMS += tests/task/text/style/check_style
tests_task_text_style_check_style_SOURCES = tests/task/text/style/check_style.c
tests_task_text_style_check_style_LDADD = $(CT_TEST_LIBS)
dist_check_SCRIPTS += tests/sh/fit_style.sh
