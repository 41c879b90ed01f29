# CT_CHECK_IMAGE: libpng and libjpeg (image files), libwebp (optional), FreeType (glyphs of generated CAPTCHAs).
AC_DEFUN([CT_CHECK_IMAGE],
[CT_NEED([PNG], [libpng >= 1.6], [libpng-dev])
CT_NEED([JPEG], [libjpeg], [libjpeg-dev])
CT_NEED([FREETYPE], [freetype2], [libfreetype-dev])
AC_ARG_WITH([webp], [AS_HELP_STRING([--without-webp], [do not read WebP pictures (default: where libwebp is)])])
ct_webp=no
AS_IF([test "x$with_webp" != xno],
  [PKG_CHECK_MODULES([WEBP], [libwebp >= 0.6],
    [ct_webp=yes
    AC_DEFINE([HAVE_WEBP], [1], [libwebp is there.])],
    [AS_IF([test "x$with_webp" = xyes],
      [AC_MSG_ERROR([libwebp was not found
  On Debian and Ubuntu: apt-get install libwebp-dev])])])])])
