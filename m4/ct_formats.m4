# CT_CHECK_FORMATS: libyaml (configuration), jansson (JSON), xxHash (checksums), protobuf-c and its compiler
# (TensorBoard event files).
AC_DEFUN([CT_CHECK_FORMATS],
[CT_NEED([YAML], [yaml-0.1 >= 0.2], [libyaml-dev])
CT_NEED([JANSSON], [jansson >= 2.11], [libjansson-dev])
CT_NEED([XXHASH], [libxxhash >= 0.8], [libxxhash-dev])
CT_NEED([PROTOBUF_C], [libprotobuf-c >= 1.3], [libprotobuf-c-dev])
AC_CHECK_PROGS([PROTOC_C], [protoc-c])
AS_IF([test -z "$PROTOC_C"],
  [AC_MSG_ERROR([protoc-c was not found
  On Debian and Ubuntu: apt-get install protobuf-c-compiler])])])
