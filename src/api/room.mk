# The public interface: a file for each verb that is not a room of its own.
libcaptrain_la_SOURCES += \
	src/captrain.h \
	src/api/api.c \
	src/api/check.c \
	src/api/doctor.c \
	src/api/eval.c \
	src/api/finish.c \
	src/api/fit_style.c \
	src/api/gen.c \
	src/api/init.c \
	src/api/inputs.c src/api/inputs.h \
	src/api/launch.c \
	src/api/look.h \
	src/api/monitor.c \
	src/api/predict.c \
	src/api/smoke.c src/api/smoke.h \
	src/api/train.c

check_PROGRAMS += tests/exec/check_telemetry
tests_exec_check_telemetry_SOURCES = tests/exec/check_telemetry.c
tests_exec_check_telemetry_LDADD = $(CT_TEST_LIBS)

dist_check_SCRIPTS += tests/sh/api.sh
EXTRA_DIST += tests/api/train.c tests/api/predict.c tests/api/read.c tests/api/threads.c tests/install.sh
dist_doc_DATA += doc/api.md
