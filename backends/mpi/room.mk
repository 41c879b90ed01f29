# The engine for groups of processes over MPI: a plug-in, so that the program itself needs no MPI. Built with --with-mpi.
mpi_sources = backends/mpi/comm.c backends/mpi/engine.c backends/mpi/shared.c backends/mpi/internal.h
EXTRA_DIST += $(mpi_sources)

if HAVE_MPI
pkglib_LTLIBRARIES += captrain-mpi.la
captrain_mpi_la_SOURCES = $(mpi_sources)
captrain_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
captrain_mpi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
captrain_mpi_la_LIBADD = $(MPI_LIBS)

# The same with calls that are cut into small pieces, as only huge ones are.
check_LTLIBRARIES += tests/mpi/captrain-mpi.la
tests_mpi_captrain_mpi_la_SOURCES = $(mpi_sources)
tests_mpi_captrain_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS) -DCT_MPI_PIECE=4096
tests_mpi_captrain_mpi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_mpi_captrain_mpi_la_LIBADD = $(MPI_LIBS)
endif

# Run by tests/sh/mpi.sh in groups of processes.
noinst_PROGRAMS += tests/mpi/check_mpi
tests_mpi_check_mpi_SOURCES = tests/mpi/check_mpi.c tests/exec/comm_suite.c tests/exec/comm_suite.h
tests_mpi_check_mpi_LDADD = $(CT_TEST_LIBS)
dist_check_SCRIPTS += tests/sh/mpi.sh
