#!/bin/sh
# nvcc.sh NVCC ARGUMENT...: runs nvcc with arguments that libtool and automake make for a C++ compiler. What nvcc does not know itself
# goes to its host compiler.
set -eu
nvcc=$1
shift
for a in "$@"; do
    shift
    case $a in
    -f* | -W* | -pthread) set -- "$@" -Xcompiler "$a" ;;
    *) set -- "$@" "$a" ;;
    esac
done
exec "$nvcc" "$@"
