# CT_CHECK_OPENMP: OPENMP_CFLAGS (AC_OPENMP, with its --disable-openmp); ct_openmp is yes or no.
AC_DEFUN([CT_CHECK_OPENMP],
[AC_OPENMP
AS_IF([test "x$enable_openmp" = xno], [ct_openmp=no],
  [test "x$ac_cv_prog_c_openmp" = xunsupported],
  [AC_MSG_ERROR([$CC has no OpenMP
  Install it (Debian, for clang: apt-get install libomp-dev) or say --disable-openmp to compute on one thread])],
  [ct_openmp=yes])])
