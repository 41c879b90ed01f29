#!/bin/bash
# tests/install.sh BUILD: what `make install DESTDIR=...` of a build puts down, moved away as a whole, finds its parts: the program its
# plug-ins and examples, a C program the library by pkg-config, the loader the library by its soname, man the pages, an empty Python
# environment the wheel. The last line counts. Where pkg-config, man or Python's venv are missing their part is left out, aloud.
set -u
build=$(cd "${1:?usage: tests/install.sh BUILD}" && pwd) || exit 2
src=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d /tmp/captrain-install.XXXXXX) || exit 2
trap 'rm -rf "$tmp"' EXIT
failed=0 checks=0

# ok WHAT COMMAND...: it must succeed.
ok() {
    local what=$1
    shift
    checks=$((checks + 1))
    "$@" > "$tmp/out" 2>&1 && return 0
    failed=$((failed + 1))
    echo "FAILED: $what: $*"
    tail -n 20 "$tmp/out"
    return 1
}
# prints PATTERN: the last command did.
prints() {
    checks=$((checks + 1))
    grep -q -e "$1" "$tmp/out" && return 0
    failed=$((failed + 1))
    echo "FAILED: '$1' is not in:"
    tail -n 20 "$tmp/out"
}

prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
ok install make -s -C "$build" install DESTDIR="$tmp/stage" || exit 1
mv "$tmp/stage$prefix" "$tmp/moved"
rm -rf "${tmp:?}/stage"
lib=$(dirname "$(find "$tmp/moved" -name libcaptrain.so)")
unset CAPTRAIN_DATADIR CAPTRAIN_BACKEND_PATH LD_LIBRARY_PATH
cd "$tmp" || exit 2

# The program, its examples and its plug-ins.
ok version moved/bin/captrain --version
ok example moved/bin/captrain plan finetune-pretrain --backend cpu
mkdir -p "$lib/captrain"
[ -e "$lib/captrain/captrain-cuda.so" ] || echo 'no library' > "$lib/captrain/captrain-cuda.so"
ok plug-in moved/bin/captrain doctor
grep -q "$lib/captrain/captrain-cuda.so\|^backend cuda .*free" "$tmp/out" || { failed=$((failed + 1)); echo "FAILED: the plug-in beside the library is not looked at"; }
# A link from elsewhere leads to the same parts.
ln -s "$tmp/moved/bin/captrain" "$tmp/link"
ok link ./link plan finetune-pretrain --backend cpu

# The loader.
ok soname readelf -d "$lib/libcaptrain.so"
prints 'SONAME.*\[libcaptrain.so.1\]'
ldconfig=$(PATH=$PATH:/sbin:/usr/sbin command -v ldconfig)
rm -f "$lib/libcaptrain.so.1"
echo "$lib" > "$tmp/ld.conf"
ok ldconfig "$ldconfig" -C "$tmp/ld.cache" -f "$tmp/ld.conf"
ok ldconfig "$ldconfig" -C "$tmp/ld.cache" -p
prints "libcaptrain.so.1 .*=> $lib/libcaptrain.so.1"
ok exports readelf --dyn-syms -W "$lib/libcaptrain.so.1"
prints 'ct_model_read@@CAPTRAIN_'
checks=$((checks + 1))
awk '$7 != "UND" && $5 ~ /GLOBAL|WEAK/ { print $8 }' "$tmp/out" | grep -v '^ct_[a-z0-9_]*@@CAPTRAIN_\|^CAPTRAIN_' | grep . && { failed=$((failed + 1)); echo "FAILED: that is exported, too"; }

# The manual.
for page in man1/captrain.1 man3/libcaptrain.3; do
    ok "$page" test -s "moved/share/man/$page"
    if command -v man > /dev/null; then
        ok "$page" man --warnings -l "moved/share/man/$page"
        checks=$((checks + 1))
        grep -i 'warning' "$tmp/out" && { failed=$((failed + 1)); echo "FAILED: $page has warnings"; }
    else
        echo "without man: $page is not formatted"
    fi
done

# The header, and programs by pkg-config.
printf '#include <captrain.h>\nint main(void) { return ct_version() == 0; }\n' > "$tmp/header.c"
cp header.c header.cc
for std in c99 c11; do ok "header as $std" "${CC:-cc}" -std=$std -Wall -Wextra -Wpedantic -Werror -Imoved/include -c header.c -o header.o; done
for std in c++11 c++20; do ok "header as $std" "${CXX:-c++}" -std=$std -Wall -Wextra -Wpedantic -Werror -Imoved/include -c header.cc -o header.o; done
cat > tiny.yaml << 'YAML'
model: {name: textcnn-small, width: 0.5, hidden: 32}
data: {train: 'synth:text', charset: "0123", height: 16, width: 40, synth: {style: plain, count: 64, val_count: 8, length: 2}}
train: {batch_size: 16, epochs: 1, workers: 0}
YAML
ok train moved/bin/captrain train tiny.yaml --out RUN --quiet --threads 1
ok gen moved/bin/captrain gen text --out pictures --count 40 --quiet
ok predict moved/bin/captrain predict RUN pictures --threads 1
cut -f 1,2 out > predicted
flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --define-prefix --cflags --libs captrain) || { failed=$((failed + 1)); echo "FAILED: pkg-config does not know captrain"; flags="-Imoved/include -L$lib -lcaptrain"; }
for p in read threads; do
    # Flags are several words.
    # shellcheck disable=SC2086
    ok "$p.c" "${CC:-cc}" -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror "$src/tests/api/$p.c" -o $p $flags -lpthread
done
export LD_LIBRARY_PATH=$lib
ok threads ./threads RUN pictures/*.png
cp out threads.out
ok "threads read what predict does" cmp threads.out predicted
unset LD_LIBRARY_PATH

# The wheel.
if python3 -c 'import setuptools, pip, venv' 2> /dev/null && { python3 -c 'import wheel' || python3 -c 'import setuptools.command.bdist_wheel'; } 2> /dev/null; then
    ok wheel make -s -C "$build" wheel
    ok venv python3 -m venv env
    ok pip env/bin/python -m pip --disable-pip-version-check install --quiet --no-index --no-deps "$build"/python/dist/captrain-*.whl
    ok predict moved/bin/captrain predict RUN pictures --threads 1 --json
    cp out predicted.json
    ok module env/bin/python "$src/tests/python/module.py" RUN predicted.json
else
    echo "left out: the wheel needs python3 with setuptools, wheel, pip and venv"
fi
echo "$checks checks, $failed failed"
[ $failed = 0 ]
