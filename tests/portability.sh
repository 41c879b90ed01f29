#!/bin/sh
# Builds for processors other than this one's best, and runs the tests that depend on it. Takes minutes; not part of `make check`.
#
#   tests/portability.sh [-d DIR] [PART...]        PARTs, default all:
#     noavx     a build with --disable-avx: portable C alone, all tests of operators and programs
#     kernels   an ordinary build; the operator tests once for each set of inner loops this processor has (CAPTRAIN_KERNELS)
#     aarch64   a cross build for 64-bit ARM; operator and format tests under qemu, and a small training with a resume
#
# DIR keeps the builds (default: a temporary folder). Exit status: 0 all well; 1 something failed; 77 nothing failed, but a part was left
# out for want of tools. For aarch64 on Debian:
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user libopenblas-dev:arm64 libyaml-dev:arm64 libjansson-dev:arm64 \
#       libxxhash-dev:arm64 libprotobuf-c-dev:arm64 zlib1g-dev:arm64 libpng-dev:arm64 libjpeg-dev:arm64 libfreetype-dev:arm64 libutf8proc-dev:arm64 libwebp-dev:arm64 liblmdb-dev:arm64 libgomp1:arm64 check:arm64
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
dir=''
while getopts d: opt; do
    case $opt in
    d) dir=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if [ -z "$dir" ]; then
    dir=$(mktemp -d) || exit 1
    trap 'rm -rf "$dir"' EXIT
    trap 'exit 1' HUP INT TERM
fi
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
[ -x "$top/configure" ] || { echo "portability: no $top/configure; run ./bootstrap" >&2; exit 1; }
[ $# -gt 0 ] || set -- noavx kernels aarch64
jobs=$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
failures=0 left_out=0

CT_SRCDIR=$top
CAPTRAIN_DATADIR=$top
CT_QUICK=1
CAPTRAIN_CACHE_DIR=$dir/cache
OMP_WAIT_POLICY=passive
export CT_SRCDIR CAPTRAIN_DATADIR CT_QUICK CAPTRAIN_CACHE_DIR OMP_WAIT_POLICY

# step NAME COMMAND...: its output in DIR/NAME.log, the end of it shown if it fails
step() {
    name=$1
    shift
    if "$@" > "$dir/$name.log" 2>&1 < /dev/null; then
        echo "ok: $name"
    else
        echo "FAILED ($?): $name: $*"
        tail -n 40 "$dir/$name.log"
        failures=$((failures + 1))
        return 1
    fi
}

# build NAME ARGUMENTS OF CONFIGURE...: in DIR/NAME, with the test programs in $programs
build() {
    build=$dir/$1
    part=$1
    shift
    mkdir -p "$build" && cd "$build" || exit 1
    step "$part-configure" "$top/configure" --without-cuda "$@" || return 1
    plugins=''
    case $programs in
    *check_exec*) for variant in good abi nosymbol nodevice refuses silent; do plugins="$plugins tests/plugins/$variant/captrain-cuda.la"; done ;;
    esac
    # shellcheck disable=SC2086
    step "$part-make" make -j"$jobs" captrain $programs $plugins || return 1
    CT_BUILDDIR=$build
    export CT_BUILDDIR
}

# tests PART PREFIX: runs $programs, each behind the words of PREFIX (none, or an emulator)
tests() {
    for program in $programs; do
        # shellcheck disable=SC2086
        step "$1-$(basename "$program")" $2 "./$program"
    done
}

part_noavx() {
    programs='tests/harness/check_ops tests/cpu/check_cpu_backend tests/cpu/check_same_bits tests/exec/check_exec tests/program/check_program tests/selftest/check_golden tests/models/check_models tests/run/check_train'
    build noavx --disable-avx || return
    tests noavx ''
    step noavx-doctor sh -c './captrain doctor | grep -q "base loops"'
    # what is not built in cannot be asked for
    step noavx-refuses sh -c 'CAPTRAIN_KERNELS=avx2 ./captrain bench textcnn-small --batch 1 --steps 1 --backend cpu 2>&1 | grep -q "this processor and build have base, basebf16, baseamx$"'
}

part_kernels() {
    programs='tests/harness/check_ops'
    build kernels || return
    for set in amx avx512bf16 avx512 avx2 base basebf16 baseamx; do
        if ! CAPTRAIN_KERNELS=$set ./captrain bench --op 'add(f32[8], f32[8])' --backend cpu > /dev/null 2> "$dir/out"; then
            echo "not here: $(cat "$dir/out")"
            continue
        fi
        step "kernels-$set" env "CAPTRAIN_KERNELS=$set" ./tests/harness/check_ops
    done
}

part_aarch64() {
    programs='tests/base/check_base tests/formats/check_formats tests/config/check_config tests/image/check_data_image tests/ops/check_op_math tests/cpu/check_cpu_backend tests/cpu/check_same_bits tests/exec/check_exec tests/harness/check_ops'
    cross=aarch64-linux-gnu qemu=''
    for q in qemu-aarch64 qemu-aarch64-static; do command -v "$q" > /dev/null && qemu=$q; done
    PKG_CONFIG_LIBDIR=/usr/lib/$cross/pkgconfig:/usr/share/pkgconfig
    if [ -z "$qemu" ] || ! command -v $cross-gcc > /dev/null ||
        ! PKG_CONFIG_LIBDIR=$PKG_CONFIG_LIBDIR pkg-config openblas yaml-0.1 jansson libxxhash libprotobuf-c zlib libpng libjpeg freetype2 check; then
        echo "left out: aarch64: the cross compiler, qemu-user or a library for $cross is missing; see the head of this script"
        left_out=$((left_out + 1))
        return
    fi
    export PKG_CONFIG_LIBDIR
    build aarch64 --host=$cross CFLAGS='-O2 -g' || return
    # The emulated processor would be taken for whatever OpenBLAS guesses; and forking test runners are slow enough as they are.
    OPENBLAS_CORETYPE=ARMV8 CK_DEFAULT_TIMEOUT=1200 CK_TIMEOUT_MULTIPLIER=20
    export OPENBLAS_CORETYPE CK_DEFAULT_TIMEOUT CK_TIMEOUT_MULTIPLIER
    tests aarch64 "$qemu"
    cat > "$dir/tiny.yaml" << 'YAML'
name: tiny
model: {name: textcnn-small, width: 0.5, hidden: 32}
data: {train: synth:text, charset: "0123", height: 16, width: 40, synth: {style: plain, count: 40, val_count: 10, length: 2}}
schedule: {name: constant}
train: {batch_size: 8, epochs: 2, workers: 1}
YAML
    rm -rf "$dir/whole" "$dir/parts"
    train="$qemu ./captrain train $dir/tiny.yaml --threads 2 --quiet"
    # shellcheck disable=SC2086
    {
        step aarch64-train $train --out "$dir/whole"
        step aarch64-train-part $train --out "$dir/parts" --set train.steps=4
        step aarch64-train-resume $train --out "$dir/parts" --resume --set train.steps=0
    }
    step aarch64-same-bits sh -c "grep -h weights_hash '$dir/whole/result.json' '$dir/parts/result.json' | sort -u | wc -l | grep -qx 1"
    unset OPENBLAS_CORETYPE CK_DEFAULT_TIMEOUT CK_TIMEOUT_MULTIPLIER PKG_CONFIG_LIBDIR
}

for part in "$@"; do
    case $part in
    noavx | kernels | aarch64) "part_$part" ;;
    *) echo "portability: unknown part: $part" >&2; exit 2 ;;
    esac
done
echo "portability: $failures failed, $left_out parts left out"
[ "$failures" = 0 ] || exit 1
[ "$left_out" = 0 ] || exit 77
