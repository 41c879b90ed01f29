# A task outside the library, and the proof that nothing in the library has to know it. The program is no test itself:
# toy.sh runs it.
EXTRA_PROGRAMS += tests/toy/captrain-toy
CLEANFILES += tests/toy/captrain-toy$(EXEEXT)
tests_toy_captrain_toy_SOURCES = \
	tests/toy/main.c \
	tests/toy/toy.c \
	tests/toy/toy.h \
	tests/toy/toy_data.c \
	tests/toy/toy_model.c \
	tests/toy/toy_score.c
tests_toy_captrain_toy_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_toy_captrain_toy_LDADD = libcaptrain_cli.la libcaptrain_core.la
check_DATA += tests/toy/captrain-toy$(EXEEXT)
EXTRA_DIST += tests/toy/dot.yaml
dist_check_SCRIPTS += tests/toy/toy.sh
