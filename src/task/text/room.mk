# The text task: pictures of text. Everything that knows a charset lives here, or in label/.
libcaptrain_la_SOURCES += \
	src/task/text/confidence.c \
	src/task/text/eval.c \
	src/task/text/findings.c \
	src/task/text/findings.h \
	src/task/text/found.c \
	src/task/text/generator.c \
	src/task/text/golden.c \
	src/task/text/grades.c \
	src/task/text/grades.h \
	src/task/text/grades_html.c \
	src/task/text/metrics.c \
	src/task/text/program.c \
	src/task/text/propose.c \
	src/task/text/reader.c \
	src/task/text/places.c \
	src/task/text/beside.c \
	src/task/text/reading.c \
	src/task/text/reader.h \
	src/task/text/remap.c \
	src/task/text/report.c \
	src/task/text/restrict.c \
	src/task/text/rules.c \
	src/task/text/survey.c \
	src/task/text/text.c \
	src/task/text/text.h

check_PROGRAMS += tests/task/text/check_text_data tests/task/text/check_text_drawn \
	tests/task/text/check_text_findings tests/task/text/check_text_task
tests_task_text_check_text_data_SOURCES = tests/task/text/check_text_data.c tests/task/text/text_util.h tests/task/text/text_folder.h tests/data/data_util.c \
	tests/data/data_util.h
tests_task_text_check_text_data_LDADD = $(CT_TEST_LIBS)
tests_task_text_check_text_drawn_SOURCES = tests/task/text/check_text_drawn.c tests/task/text/text_util.h tests/task/text/synth/synth_util.h \
	tests/data/data_util.c tests/data/data_util.h
tests_task_text_check_text_drawn_LDADD = $(CT_TEST_LIBS)
tests_task_text_check_text_findings_SOURCES = tests/task/text/check_text_findings.c tests/task/text/facts_util.h
tests_task_text_check_text_findings_LDADD = $(CT_TEST_LIBS)
tests_task_text_check_text_task_SOURCES = tests/task/text/check_text_task.c tests/data/data_util.c tests/data/data_util.h
tests_task_text_check_text_task_LDADD = $(CT_TEST_LIBS)
