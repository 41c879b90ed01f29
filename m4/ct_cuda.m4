# CT_CHECK_CUDA: --with-cuda. There is no CUDA backend in this release, so only "no" and the default can be had.
AC_DEFUN([CT_CHECK_CUDA],
[AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--without-cuda], [build without the CUDA backend (this release has none)])],
  [], [with_cuda=auto])
AS_CASE([$with_cuda], [no|auto], [],
  [AC_MSG_ERROR([this release has no CUDA backend; use --without-cuda])])])
