# CT_NEED(VARIABLE, PKG-CONFIG MODULE, DEBIAN PACKAGE)
# A library found by pkg-config; configure stops with the name of the package to install if it is not there.
AC_DEFUN([CT_NEED],
[PKG_CHECK_MODULES([$1], [$2], [],
  [AC_MSG_ERROR([$2 was not found ($[]$1[]_PKG_ERRORS)
  On Debian and Ubuntu: apt-get install $3])])])
