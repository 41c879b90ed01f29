# CT_CHECK_OPENBLAS: OpenBLAS with its C interface, by pkg-config or in the compiler's own path.
# Sets OPENBLAS_CFLAGS and OPENBLAS_LIBS; defines HAVE_OPENBLAS_GET_CORENAME, HAVE_OPENBLAS_GET_CONFIG and
# HAVE_OPENBLAS_GET_PARALLEL.
AC_DEFUN([CT_CHECK_OPENBLAS],
[PKG_CHECK_MODULES([OPENBLAS], [openblas], [],
  [AC_CHECK_LIB([openblas], [cblas_sgemm], [OPENBLAS_CFLAGS= OPENBLAS_LIBS=-lopenblas],
    [AC_MSG_ERROR([OpenBLAS was not found
  On Debian and Ubuntu: apt-get install libopenblas-dev])])])
ct_saved_CPPFLAGS=$CPPFLAGS
ct_saved_LIBS=$LIBS
CPPFLAGS="$CPPFLAGS $OPENBLAS_CFLAGS"
LIBS="$OPENBLAS_LIBS $LIBS"
AC_CHECK_HEADER([cblas.h], [],
  [AC_MSG_ERROR([cblas.h of OpenBLAS was not found
  On Debian and Ubuntu: apt-get install libopenblas-dev])])
AC_CHECK_FUNC([cblas_sgemm], [],
  [AC_MSG_ERROR([$OPENBLAS_LIBS has no cblas_sgemm
  On Debian and Ubuntu: apt-get install libopenblas-dev])])
AC_CHECK_FUNC([openblas_set_num_threads], [],
  [AC_MSG_ERROR([$OPENBLAS_LIBS has no openblas_set_num_threads: it is another BLAS than OpenBLAS
  On Debian and Ubuntu: apt-get install libopenblas-dev])])
AC_CHECK_FUNCS([openblas_get_corename openblas_get_config openblas_get_parallel])
CPPFLAGS=$ct_saved_CPPFLAGS
LIBS=$ct_saved_LIBS
AC_SUBST([OPENBLAS_CFLAGS])
AC_SUBST([OPENBLAS_LIBS])])
