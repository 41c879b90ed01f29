#!/bin/sh
# The programs of doc/api.md: they stand in it word for word, compile against the library of this build, and run.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

# A sanitized library cannot be linked into a program that is not.
if [ -n "${CT_SANITIZERS:-}" ]; then
    echo "skipped: the library has sanitizers"
    exit 77
fi
for p in train predict read; do
    checks=$((checks + 2))
    awk -v want="$CT_SRCDIR/tests/api/$p.c" '
        BEGIN { while ((getline line < want) > 0) text = text line "\n" }
        { page = page $0 "\n" }
        END {
            at = index(page, "```c\n" text "```\n")
            exit at == 0 || index(substr(page, 1, at) substr(page, at + length(text)), text) != 0
        }' "$CT_SRCDIR/doc/api.md" || fail "doc/api.md does not hold tests/api/$p.c as it is, once, as a block of code"
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
# Pixels in memory, in one thread and in four: the same strings as predict prints.
# shellcheck disable=SC2086
expect 0 ${CT_CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -I"$CT_SRCDIR/src" "$CT_SRCDIR/tests/api/threads.c" -o threads \
    -L"$CT_BUILDDIR/.libs" -lcaptrain -lpthread
expect 0 "$captrain" gen text --out pictures --count 40 --charset 0123 --length 2 --quiet
expect 0 "$captrain" predict RUN pictures --threads 1
cut -f 1,2 out >predicted
expect 0 ./threads RUN pictures/*.png
checks=$((checks + 1))
cmp -s out predicted || fail "four threads do not read what predict does"
head -c 2400 /dev/zero >pixels
expect 0 sh -c './read RUN 60 40 <pixels'
prints '^[0-3][0-3]	[01][.][0-9]*$'
expect 1 sh -c './read RUN 61 40 <pixels'
says 'picture 0: 40 rows of 61 bytes.*do not lie within 2400 bytes'
expect 1 sh -c './read none 60 40 <pixels'
says 'none: cannot open'
# What is exported is what captrain.h declares, with a version.
checks=$((checks + 1))
nm -D --defined-only "$CT_BUILDDIR/.libs/libcaptrain.so" | awk '$2 == "T" { print $3 }' | sort >exported
sed 's/$/@@CAPTRAIN_0.2/' "$CT_BUILDDIR/src/captrain.sym" | sort | cmp -s - exported || fail "libcaptrain.so exports something else than captrain.h declares"
expect 2 ./train tiny.yaml train.epochs=none
says 'train.epochs'
expect 1 ./predict none.safetensors "$picture"
says 'none.safetensors'
finish
