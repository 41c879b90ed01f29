# CT_CHECK_CUDA: --with-cuda[=DIR], --with-cudnn=DIR, --with-nccl=DIR, --with-cuda-arch=LIST, and the variables NVCC and NVCCFLAGS.
#
# Sets the conditional HAVE_CUDA and substitutes NVCC, NVCCFLAGS, CT_NVCCFLAGS (dialect, host compiler, architectures),
# CUDA_CPPFLAGS, CUDA_LDFLAGS, CUDA_LIBS. Asked for and not to be had is an error; by default it is built where
# everything is there.
AC_DEFUN([CT_CHECK_CUDA],
[AC_REQUIRE([AC_PROG_CXX])
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [CUDA compiler flags])
AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
    [build the CUDA backend with the toolkit in DIR (default: auto, if there is one)])],
  [], [with_cuda=auto])
AC_ARG_WITH([cudnn],
  [AS_HELP_STRING([--with-cudnn=DIR], [where cuDNN 9 is (default: with the toolkit)])], [], [with_cudnn=])
AC_ARG_WITH([nccl],
  [AS_HELP_STRING([--with-nccl=DIR], [where NCCL is, which is loaded when it is needed (default: where the system looks)])],
  [], [with_nccl=])
AC_ARG_WITH([cuda-arch],
  [AS_HELP_STRING([--with-cuda-arch=LIST],
    [compute capabilities to compile for, such as "80 90"; "native": that of this machine's GPU; default: all from 6.0 on that
     nvcc knows, and PTX of the last for later ones])],
  [], [with_cuda_arch=default])
ct_cuda=no
ct_cuda_why=
# With --without-cuda nobody would obey these.
AS_IF([test "x$with_cuda" = xno && test -n "$with_nccl$with_cudnn"], [AC_MSG_ERROR([--with-cudnn and --with-nccl belong to --with-cuda])])
AS_IF([test -n "$with_nccl$with_cudnn" && test "x$with_cuda" = xauto], [with_cuda=yes])
AS_IF([test "x$with_cuda" = xauto && test "x$cross_compiling" = xyes],
  [ct_cuda_why="nvcc compiles for this machine, not for $host"],
  [test "x$with_cuda" != xno], [CT_TRY_CUDA])
AS_IF([test $ct_cuda = no && test "x$with_cuda" != xno && test "x$with_cuda" != xauto],
  [AC_MSG_ERROR([the CUDA backend was asked for: $ct_cuda_why])])
AC_SUBST([CT_NVCCFLAGS])
AC_SUBST([CUDA_CPPFLAGS])
AC_SUBST([CUDA_LDFLAGS])
AC_SUBST([CUDA_LIBS])
AM_CONDITIONAL([HAVE_CUDA], [test $ct_cuda = yes])])

# One condition after the other; ct_cuda_why says which one failed.
AC_DEFUN([CT_TRY_CUDA],
[AS_CASE([$with_cuda],
  [yes|auto], [ct_cuda_path=$PATH$PATH_SEPARATOR/usr/local/cuda/bin$PATH_SEPARATOR/opt/cuda/bin],
  [ct_cuda_path=$with_cuda/bin])
AC_PATH_PROG([NVCC], [nvcc], [], [$ct_cuda_path])
AS_IF([test -z "$NVCC"], [ct_cuda_why="no nvcc in $ct_cuda_path"],
[# The compiler itself knows where its toolkit is, wherever the link in PATH lies.
  ct_cuda_top=`$NVCC --dryrun -c -x cu /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p'`
  ct_cuda_top=`cd "$ct_cuda_top" 2>/dev/null && pwd -P`
  ct_cuda_version=`$NVCC --version | sed -n 's/.*release \([[0-9]][[0-9.]]*\),.*/\1/p'`
  CUDA_CPPFLAGS="-isystem $ct_cuda_top/include"
  CUDA_LDFLAGS=
  for ct_dir in "$ct_cuda_top/lib64" "$ct_cuda_top/lib"; do
    AS_IF([test -d "$ct_dir"], [CUDA_LDFLAGS="-L$ct_dir -Wl,-rpath,$ct_dir"; break])
  done
  AS_IF([test -n "$with_cudnn"],
    [CUDA_CPPFLAGS="-isystem $with_cudnn/include $CUDA_CPPFLAGS"
     for ct_dir in "$with_cudnn/lib64" "$with_cudnn/lib"; do
       AS_IF([test -d "$ct_dir"], [CUDA_LDFLAGS="-L$ct_dir -Wl,-rpath,$ct_dir $CUDA_LDFLAGS"; break])
     done])
  # dlopen() looks where the library that calls it was told to look.
  AS_IF([test -n "$with_nccl"],
    [ct_cuda_why="--with-nccl: there is no libnccl.so.2 in $with_nccl/lib64 or $with_nccl/lib"
     for ct_dir in "$with_nccl/lib64" "$with_nccl/lib"; do
       AS_IF([test -e "$ct_dir/libnccl.so.2"], [CUDA_LDFLAGS="-Wl,-rpath,$ct_dir $CUDA_LDFLAGS"; ct_cuda_why=; break])
     done])
  : ${NVCCFLAGS="-O3 -lineinfo"}
  CT_CUDA_ARCH
  CT_NVCCFLAGS="-std=c++17 -ccbin $CXX $ct_cuda_gencode"
  AS_IF([test -z "$ct_cuda_why"], [CT_CUDA_COMPILES])
  AS_IF([test -z "$ct_cuda_why"], [CT_CUDA_LINKS])
  AS_IF([test -z "$ct_cuda_why"], [ct_cuda=yes])])])

# ct_cuda_gencode from --with-cuda-arch and what this nvcc can do.
AC_DEFUN([CT_CUDA_ARCH],
[ct_cuda_gencode=
ct_cuda_can=`$NVCC --list-gpu-code 2>/dev/null | sed -n 's/^sm_\([[0-9]]*\)$/\1/p' | tr '\n' ' '`
ct_cuda_archs=$with_cuda_arch
AS_CASE([$with_cuda_arch],
  [default], [ct_cuda_wanted="60 61 70 75 80 86 89 90 100 120"],
  [native],
    [ct_cuda_wanted=`nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | sort -u | tr '\n' ' '`
     AS_IF([test -z "$ct_cuda_wanted"], [ct_cuda_why="--with-cuda-arch=native, but nvidia-smi shows no GPU here"])],
  [ct_cuda_wanted=`AS_ECHO(["$with_cuda_arch"]) | tr ',;' '  ' | sed 's/sm_//g; s/\.//g'`])
ct_cuda_archs=
ct_cuda_dropped=
for ct_arch in $ct_cuda_wanted; do
  AS_CASE([" $ct_cuda_can "],
    [*" $ct_arch "*],
      [ct_cuda_gencode="$ct_cuda_gencode -gencode=arch=compute_$ct_arch,code=sm_$ct_arch"
       ct_cuda_archs="$ct_cuda_archs $ct_arch"
       ct_cuda_last=$ct_arch],
    [ct_cuda_dropped="$ct_cuda_dropped $ct_arch"
     AS_IF([test "x$with_cuda_arch" != xdefault],
       [ct_cuda_why="this nvcc ($ct_cuda_version) cannot compile for $ct_arch; it can for: $ct_cuda_can"])])
done
AS_IF([test -z "$ct_cuda_archs"],
  [test -n "$ct_cuda_why" || ct_cuda_why="no architecture left to compile for"],
  [ct_cuda_gencode="$ct_cuda_gencode -gencode=arch=compute_$ct_cuda_last,code=compute_$ct_cuda_last"])])

AC_DEFUN([CT_CUDA_COMPILES],
[AC_MSG_CHECKING([whether $NVCC compiles with $CXX])
cat > conftest.cu << 'EOF'
#include <cuda_runtime.h>
__global__ void fill(int *p) { *p = 1; }
int main(void) { fill<<<1, 1>>>(0); return 0; }
EOF
AS_IF([$NVCC $CT_NVCCFLAGS $NVCCFLAGS -c conftest.cu -o conftest.o >&AS_MESSAGE_LOG_FD 2>&1],
  [AC_MSG_RESULT([yes])],
  [AC_MSG_RESULT([no])
   ct_cuda_why="$NVCC does not compile with $CXX as host compiler; see config.log"])
rm -f conftest.cu conftest.o])

AC_DEFUN([CT_CUDA_LINKS],
[ct_cuda_cppflags=$CPPFLAGS ct_cuda_ldflags=$LDFLAGS ct_cuda_libs=$LIBS
CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
LDFLAGS="$LDFLAGS $CUDA_LDFLAGS"
CUDA_LIBS="-lcudnn -lcublasLt -lcudart"
LIBS="$CUDA_LIBS $LIBS"
AC_MSG_CHECKING([for cuDNN 9, cuBLASLt and the CUDA runtime])
AC_LINK_IFELSE(
  [AC_LANG_PROGRAM([[#include <cuda_runtime_api.h>
#include <cublasLt.h>
#include <cudnn.h>
#if CUDNN_MAJOR < 9
#error cuDNN 9 is needed
#endif]], [[return (int)(cudnnGetVersion() + cublasLtGetVersion()) + cudaDeviceReset();]])],
  [AC_MSG_RESULT([yes])],
  [AC_MSG_RESULT([no])
   ct_cuda_why="no cuDNN 9, cuBLASLt or CUDA runtime to link with; see config.log, and --with-cudnn=DIR"])
CPPFLAGS=$ct_cuda_cppflags LDFLAGS=$ct_cuda_ldflags LIBS=$ct_cuda_libs])
