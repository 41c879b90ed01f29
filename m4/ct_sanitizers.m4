# CT_SANITIZERS: --enable-sanitizers=LIST and --enable-fuzzers. Sets SANITIZE_CFLAGS (compiler and linker) and
# ct_sanitizers for the summary; the conditionals CT_FUZZERS and CT_SANITIZED.
AC_DEFUN([CT_SANITIZERS],
[AC_ARG_ENABLE([sanitizers],
  [AS_HELP_STRING([--enable-sanitizers=LIST], [build with sanitizers: "address,undefined" (the default LIST) or "thread"])],
  [], [enable_sanitizers=no])
AC_ARG_ENABLE([fuzzers],
  [AS_HELP_STRING([--enable-fuzzers], [build the libFuzzer targets in tests/fuzz (CC must be clang)])],
  [], [enable_fuzzers=no])
AS_CASE([$enable_sanitizers], [yes], [enable_sanitizers=address,undefined])
SANITIZE_CFLAGS=
ct_list=
AS_IF([test "x$enable_sanitizers" != xno], [ct_list=$enable_sanitizers])
AS_IF([test "x$enable_fuzzers" = xyes],
  [AS_IF([test "x$ct_list" = x], [ct_list=address,undefined])
  ct_list="$ct_list,fuzzer-no-link"])
AS_IF([test "x$ct_list" != x],
  [SANITIZE_CFLAGS="-fsanitize=$ct_list -fno-omit-frame-pointer"
  AS_CASE([$ct_list], [*undefined*], [SANITIZE_CFLAGS="$SANITIZE_CFLAGS -fno-sanitize-recover=undefined"])
  # clang's: numbers that wrap or change their value when they are stored
  AS_CASE([$ct_list], [*integer*], [SANITIZE_CFLAGS="$SANITIZE_CFLAGS -fno-sanitize-recover=integer"])
  AC_MSG_CHECKING([whether $CC builds with $SANITIZE_CFLAGS])
  ct_saved_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $SANITIZE_CFLAGS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
    AC_MSG_ERROR([$CC cannot link with $SANITIZE_CFLAGS
  --enable-fuzzers needs CC=clang and libclang-rt-dev; address and thread exclude each other])])
  CFLAGS=$ct_saved_CFLAGS])
ct_sanitizers=${ct_list:-none}
AC_SUBST([CT_SANITIZER_LIST], [$ct_list])
AM_CONDITIONAL([CT_FUZZERS], [test "x$enable_fuzzers" = xyes])
AM_CONDITIONAL([CT_SANITIZED], [test "x$ct_list" != x])
AC_SUBST([SANITIZE_CFLAGS])])
