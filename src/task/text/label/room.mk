# Characters and labels: which there are, what they are composed to, what a file's name says.
libcaptrain_la_SOURCES += \
	src/task/text/label/charset.c \
	src/task/text/label/invisible.c \
	src/task/text/label/label.c \
	src/task/text/label/label.h

check_PROGRAMS += tests/task/text/label/check_text_label
tests_task_text_label_check_text_label_SOURCES = tests/task/text/label/check_text_label.c
tests_task_text_label_check_text_label_LDADD = $(CT_TEST_LIBS)
