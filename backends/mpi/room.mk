# The engine for groups of processes over MPI: a plug-in, so that the program itself needs no MPI. Built with --with-mpi.
mpi_sources = backends/mpi/comm.c backends/mpi/engine.c backends/mpi/internal.h
EXTRA_DIST += $(mpi_sources)

if HAVE_MPI
pkglib_LTLIBRARIES += captrain-mpi.la
captrain_mpi_la_SOURCES = $(mpi_sources)
captrain_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
captrain_mpi_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
captrain_mpi_la_LIBADD = $(MPI_LIBS)
endif
