#!/bin/sh
# The programs of doc/api.md: they stand in it word for word, compile against the library of this build, and run.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

# A sanitized library cannot be linked into a program that is not.
if [ -n "${CT_SANITIZERS:-}" ]; then
    echo "skipped: the library has sanitizers"
    exit 77
fi
for p in train predict; do
    checks=$((checks + 2))
    awk -v want="$CT_SRCDIR/tests/api/$p.c" '
        BEGIN { while ((getline line < want) > 0) text = text line "\n" }
        { page = page $0 "\n" }
        END { exit index(page, text) == 0 }' "$CT_SRCDIR/doc/api.md" || fail "doc/api.md does not hold tests/api/$p.c as it is"
    [ "$(wc -l < "$CT_SRCDIR/tests/api/$p.c")" -le 21 ] || fail "tests/api/$p.c is too long to take in at a glance"
    # The compiler may be several words.
    # shellcheck disable=SC2086
    expect 0 ${CT_CC:-cc} -std=c99 -Wall -Wextra -Werror -I"$CT_SRCDIR/src" "$CT_SRCDIR/tests/api/$p.c" -o "$work/$p" -L"$CT_BUILDDIR/.libs" -lcaptrain
done
LD_LIBRARY_PATH=$CT_BUILDDIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
cd "$work" || exit 99
expect 0 ./train tiny.yaml
prints '^loss [0-9.]*$'
prints '^string_accuracy [0-9.]*$'
picture=$(find RUN/examples -name '*.png' | head -n 1)
expect 0 ./predict RUN "$picture"
prints '"confidence"'
expect 2 ./train tiny.yaml train.epochs=none
says 'train.epochs'
expect 1 ./predict none.safetensors "$picture"
says 'none.safetensors'
finish
