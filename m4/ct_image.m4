# CT_CHECK_IMAGE: libpng and libjpeg (image files), FreeType (glyphs of generated CAPTCHAs).
AC_DEFUN([CT_CHECK_IMAGE],
[CT_NEED([PNG], [libpng >= 1.6], [libpng-dev])
CT_NEED([JPEG], [libjpeg], [libjpeg-dev])
CT_NEED([FREETYPE], [freetype2], [libfreetype-dev])])
