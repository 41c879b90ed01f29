# CT_CHECK_FORMATS: libyaml (configuration), jansson (JSON), xxHash (checksums), protobuf-c and its compiler
# (TensorBoard event files), zlib (archives of torch.save), utf8proc (Unicode: composed labels, their case), liblmdb (optional:
# databases of samples).
AC_DEFUN([CT_CHECK_FORMATS],
[CT_NEED([YAML], [yaml-0.1 >= 0.2], [libyaml-dev])
CT_NEED([JANSSON], [jansson >= 2.11], [libjansson-dev])
CT_NEED([XXHASH], [libxxhash >= 0.8], [libxxhash-dev])
CT_NEED([ZLIB], [zlib >= 1.2.11], [zlib1g-dev])
CT_NEED([UTF8PROC], [libutf8proc >= 2.0], [libutf8proc-dev])
CT_NEED([PROTOBUF_C], [libprotobuf-c >= 1.3], [libprotobuf-c-dev])
AC_ARG_WITH([lmdb], [AS_HELP_STRING([--without-lmdb], [do not read LMDB databases of samples (default: where liblmdb is)])])
ct_lmdb=no
AS_IF([test "x$with_lmdb" != xno],
  [PKG_CHECK_MODULES([LMDB], [lmdb >= 0.9.20],
    [ct_lmdb=yes
    AC_DEFINE([HAVE_LMDB], [1], [liblmdb is there.])],
    [AS_IF([test "x$with_lmdb" = xyes],
      [AC_MSG_ERROR([liblmdb was not found
  On Debian and Ubuntu: apt-get install liblmdb-dev])])])])
AC_CHECK_PROGS([PROTOC_C], [protoc-c])
AS_IF([test -z "$PROTOC_C"],
  [AC_MSG_ERROR([protoc-c was not found
  On Debian and Ubuntu: apt-get install protobuf-c-compiler])])])
