# CT_KERNELS: --disable-avx leaves the AVX2 and AVX-512 inner loops out of the CPU backend (CT_NO_AVX); what remains is portable C.
AC_DEFUN([CT_KERNELS],
[AC_ARG_ENABLE([avx], [AS_HELP_STRING([--disable-avx],
  [no AVX2 and AVX-512 inner loops: portable ones alone (x86-64 only; chosen by the processor at run time otherwise)])],
  [], [enable_avx=yes])
AS_IF([test "x$enable_avx" = xno],
  [AC_DEFINE([CT_NO_AVX], [1], [Define to leave out the AVX2 and AVX-512 inner loops.])])])
