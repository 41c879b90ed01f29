# CT_CHECK_MPI: --with-mpi[=MPICC].
#
# The compiler is the program's own: MPI's wrapper is only asked what it would add. Sets the conditional HAVE_MPI and substitutes
# MPI_CPPFLAGS and MPI_LIBS. Asked for and not to be had is an error; by default it is built where a wrapper is found.
AC_DEFUN([CT_CHECK_MPI],
[AC_REQUIRE([AC_PROG_CC])
AC_ARG_WITH([mpi],
  [AS_HELP_STRING([--with-mpi@<:@=MPICC@:>@],
    [build the engine for groups of processes over the MPI whose compiler wrapper is MPICC (default: auto, if there is an mpicc);
     Open MPI or MPICH])],
  [], [with_mpi=auto])
ct_mpi=no
ct_mpi_why=
AS_IF([test "x$with_mpi" = xauto && test "x$cross_compiling" = xyes],
  [ct_mpi_why="mpicc compiles for this machine, not for $host"],
  [test "x$with_mpi" != xno], [CT_TRY_MPI])
AS_IF([test $ct_mpi = no && test "x$with_mpi" != xno && test "x$with_mpi" != xauto],
  [AC_MSG_ERROR([the MPI engine was asked for: $ct_mpi_why])])
AC_SUBST([MPI_CPPFLAGS])
AC_SUBST([MPI_LIBS])
AC_SUBST([ct_mpicc])
AS_IF([test $ct_mpi = yes],
  [AC_DEFINE_UNQUOTED([CT_MPI_BUILT_WITH], ["$ct_mpi_family"], [Whose MPI captrain-mpi.so was built with])])
AM_CONDITIONAL([HAVE_MPI], [test $ct_mpi = yes])])

# One condition after the other; ct_mpi_why says which one failed.
AC_DEFUN([CT_TRY_MPI],
[AS_CASE([$with_mpi],
  [yes|auto], [AC_PATH_PROGS([ct_mpicc], [mpicc mpicc.openmpi mpicc.mpich])
               ct_mpi_why="no mpicc in PATH"],
  [*/*], [AS_IF([test -x "$with_mpi"], [ct_mpicc=$with_mpi])
          ct_mpi_why="there is no $with_mpi"],
  [AC_PATH_PROG([ct_mpicc], [$with_mpi])
   ct_mpi_why="there is no $with_mpi in PATH"])
AS_IF([test -n "$ct_mpicc"],
[# Both families print the command that they would run, without running it; its first word is their compiler.
  ct_mpi_shown=`$ct_mpicc -show 2>&AS_MESSAGE_LOG_FD`
  MPI_CPPFLAGS= MPI_LIBS=
  for ct_word in $ct_mpi_shown; do
    AS_CASE([$ct_word],
      [-I?*], [MPI_CPPFLAGS="$MPI_CPPFLAGS -isystem "`AS_ECHO(["$ct_word"]) | sed 's/^-I//'`],
      [-D*], [MPI_CPPFLAGS="$MPI_CPPFLAGS $ct_word"],
      [-L*|-l*|-Wl,*|-pthread], [MPI_LIBS="$MPI_LIBS $ct_word"])
  done
  ct_mpi_why=
  CT_MPI_LINKS
  AS_IF([test -z "$ct_mpi_why"], [ct_mpi=yes])])])

AC_DEFUN([CT_MPI_LINKS],
[ct_mpi_cppflags=$CPPFLAGS ct_mpi_libs=$LIBS
CPPFLAGS="$CPPFLAGS $MPI_CPPFLAGS"
LIBS="$MPI_LIBS $LIBS"
AC_MSG_CHECKING([whether programs can be linked as $ct_mpicc does])
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
]], [[MPI_Request r; int n = 0; return MPI_Iallreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);]])],
  [AC_MSG_RESULT([yes])],
  [AC_MSG_RESULT([no])
   ct_mpi_why="no program with MPI 3 can be linked as $ct_mpicc does; see config.log"])
AS_IF([test -z "$ct_mpi_why"], [CT_MPI_FAMILY])
CPPFLAGS=$ct_mpi_cppflags LIBS=$ct_mpi_libs])

AC_DEFUN([CT_MPI_FAMILY],
[AC_MSG_CHECKING([which MPI that is])
ct_mpi_family=
for ct_word in OMPI_MAJOR_VERSION MPICH_VERSION; do
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <mpi.h>
#ifndef $ct_word
#error another
#endif
]])], [ct_mpi_family=$ct_word; break])
done
AS_CASE([$ct_mpi_family], [OMPI*], [ct_mpi_family="Open MPI"], [MPICH*], [ct_mpi_family=MPICH])
AC_MSG_RESULT([${ct_mpi_family:-another}])
AS_IF([test -z "$ct_mpi_family"], [ct_mpi_why="the MPI of $ct_mpicc is neither Open MPI nor MPICH"])])
