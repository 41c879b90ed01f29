#!/bin/sh
# The Python module over the library of this build: against what `captrain predict` says, and the wheel as `make wheel` makes it.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

skip() {
    echo "skipped: $*"
    exit 77
}
python=${PYTHON3:-python3}
command -v "$python" >/dev/null 2>&1 || skip "no python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' || skip "Python before 3.8"
# A sanitized library cannot be loaded into a program that is not.
[ -z "${CT_SANITIZERS:-}" ] || skip "the library has sanitizers"

cd "$work" || exit 99
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
expect 0 tiny RUN --quiet
expect 0 "$captrain" gen text --out pictures --count 30 --charset 0123 --length 2 --quiet
expect 0 "$captrain" predict RUN pictures --json --threads 1
mv out predicted.json
CAPTRAIN_LIBRARY=$CT_BUILDDIR/.libs/libcaptrain.so.1 PYTHONPATH=$CT_SRCDIR/python expect 0 "$python" "$CT_SRCDIR/tests/python/module.py" RUN predicted.json
cat out

# A library that is not there is said with what it needs.
CAPTRAIN_LIBRARY=/nonexistent/lib.so PYTHONPATH=$CT_SRCDIR/python expect 1 "$python" -c 'import captrain'
says 'ImportError: captrain: /nonexistent/lib.so cannot be loaded.*libopenblas0'
# ... with all that it needs, and README with the same: Debian's packages are called by name and number of the soname.
readelf -d "$CT_BUILDDIR/.libs/libcaptrain.so.1" | sed -n '/NEEDED.*\[lib/!d; s/.*\[\(lib.*\)\].*/\1/; /^libc\.\|^libm\./d
    s/^libz\.so\.1$/zlib1g/; s/\([0-9]\)\.so\./\1-/; s/\.so\.//; p' >needed
checks=$((checks + 1))
[ "$(wc -l <needed)" -ge 9 ] || fail "$(cat needed) is not all that the library needs"
cp err said
while read -r package; do
    checks=$((checks + 1))
    grep -q "[ \`]$package" said && grep -q "[ \`(]$package\|^$package" "$CT_SRCDIR/python/README.md" || fail "$package is needed and not named"
done <needed

# The wheel in an empty environment.
if "$python" -c 'import setuptools, pip, venv' 2>/dev/null && { "$python" -c 'import wheel' || "$python" -c 'import setuptools.command.bdist_wheel'; } 2>/dev/null; then
    expect 0 "${MAKE:-make}" -s -C "$CT_BUILDDIR" wheel PYTHON3="$python"
    wheel=$(ls "$CT_BUILDDIR"/python/dist/captrain-*.whl)
    expect 0 "$python" -m venv env
    expect 0 env/bin/python -m pip --disable-pip-version-check install --quiet --no-index --no-deps "$wheel"
    expect 0 env/bin/python "$CT_SRCDIR/tests/python/module.py" RUN predicted.json
    prints 'numpy: not here'
else
    echo "without setuptools, wheel, pip and venv: no wheel was made"
fi
finish
