# Programs: the graphs a run consists of, and their specification.
libcaptrain_la_SOURCES += \
	src/program/groups.c \
	src/program/groups.h \
	src/program/program.c \
	src/program/program.h \
	src/program/random.c \
	src/program/random.h \
	src/program/spec.c \
	src/program/spec.h \
	src/program/tree.c \
	src/program/tree.h \
	src/program/update.c \
	src/program/update.h

check_PROGRAMS += tests/program/check_program
tests_program_check_program_SOURCES = tests/program/check_program.c tests/program/check_program.h tests/program/check_program_spec.c \
	tests/program/check_program_ctc.c tests/program/check_program_flat.c tests/program/check_program_pad.c tests/program/check_program_parts.c tests/program/check_program_update.c
tests_program_check_program_LDADD = $(CT_TEST_LIBS)
