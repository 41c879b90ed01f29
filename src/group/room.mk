# Groups of processes: which one of them this is, what they tell each other, and starting them.
libcaptrain_la_SOURCES += \
	src/group/identity.c src/group/identity.h \
	src/group/job.c src/group/job.h \
	src/group/kin.c src/group/kin.h \
	src/group/launch.c src/group/launch.h \
	src/group/mpirun.c src/group/mpirun.h \
	src/group/peers.c src/group/peers.h \
	src/group/star.c src/group/star.h \
	src/group/watch.c src/group/watch.h

check_PROGRAMS += tests/group/check_identity tests/group/check_launch tests/group/check_star tests/group/check_watch
noinst_PROGRAMS += tests/group/who
tests_group_who_SOURCES = tests/group/who.c
tests_group_who_LDADD = libcaptrain_core.la
tests_group_check_identity_SOURCES = tests/group/check_identity.c
tests_group_check_identity_LDADD = $(CT_TEST_LIBS)
tests_group_check_launch_SOURCES = tests/group/check_launch.c
tests_group_check_launch_LDADD = $(CT_TEST_LIBS)
tests_group_check_star_SOURCES = tests/group/check_star.c
tests_group_check_star_LDADD = $(CT_TEST_LIBS)
tests_group_check_watch_SOURCES = tests/group/check_watch.c
tests_group_check_watch_LDADD = $(CT_TEST_LIBS)
dist_check_SCRIPTS += tests/sh/identity.sh tests/sh/launch.sh tests/sh/processes.sh
