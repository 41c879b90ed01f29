# CT_ADD_CFLAG(VARIABLE, FLAG): appends FLAG to VARIABLE if the compiler takes it without a word.
AC_DEFUN([CT_ADD_CFLAG],
[AS_VAR_PUSHDEF([ct_cache], [ct_cv_cflag_$2])
AC_CACHE_CHECK([whether $CC takes $2], [ct_cache],
  [ct_saved_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror $2"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AS_VAR_SET([ct_cache], [yes])], [AS_VAR_SET([ct_cache], [no])])
  CFLAGS=$ct_saved_CFLAGS])
AS_VAR_IF([ct_cache], [yes], [$1="$$1 $2"])
AS_VAR_POPDEF([ct_cache])])

# CT_FLAGS: WARN_CFLAGS (and --enable-werror); KERNEL_CFLAGS for backends/cpu: sqrtf() and comparisons may become vector
# instructions because nobody looks at errno or at floating-point traps. Values are not changed by either.
AC_DEFUN([CT_FLAGS],
[AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [compiler warnings are errors])], [], [enable_werror=no])
WARN_CFLAGS=
m4_foreach_w([ct_flag], [-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes],
  [CT_ADD_CFLAG([WARN_CFLAGS], ct_flag)
])
AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
KERNEL_CFLAGS=
CT_ADD_CFLAG([KERNEL_CFLAGS], [-fno-math-errno])
CT_ADD_CFLAG([KERNEL_CFLAGS], [-fno-trapping-math])
# What makes a fault harder to use: a second look at buffers and stack frames, libraries bound before anything runs and read-only
# from then on, jumps to their beginnings only. Sanitizers do their own.
HARDEN_CFLAGS=
HARDEN_LDFLAGS=
AC_ARG_ENABLE([hardening], [AS_HELP_STRING([--disable-hardening], [leave out compiler and linker flags that only make faults harder to use])],
  [], [enable_hardening=yes])
AS_IF([test "x$enable_hardening" = xyes],
  [CT_ADD_CFLAG([HARDEN_CFLAGS], [-fstack-protector-strong])
  CT_ADD_CFLAG([HARDEN_CFLAGS], [-fstack-clash-protection])
  CT_ADD_CFLAG([HARDEN_CFLAGS], [-fcf-protection])
  AC_CACHE_CHECK([whether $CC fortifies at level 3], [ct_cv_fortify],
    [ct_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]])], [ct_cv_fortify=yes], [ct_cv_fortify=no])
    CFLAGS=$ct_saved_CFLAGS])
  AC_CACHE_CHECK([whether the linker takes -z relro -z now], [ct_cv_relro],
    [ct_saved_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -Wl,-z,relro -Wl,-z,now"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [ct_cv_relro=yes], [ct_cv_relro=no])
    LDFLAGS=$ct_saved_LDFLAGS])
  AS_IF([test $ct_cv_relro = yes], [HARDEN_LDFLAGS="-Wl,-z,relro -Wl,-z,now"])])
AC_SUBST([HARDEN_LDFLAGS])
AC_CHECK_HEADERS([execinfo.h])
AC_DEFINE_UNQUOTED([CT_BUILD], ["$CC $CFLAGS"], [Compiler and its flags, for reports of crashes])
AC_SUBST([WARN_CFLAGS])
AC_SUBST([KERNEL_CFLAGS])])
