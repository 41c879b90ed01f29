#!/bin/sh
# Configurations that are accepted and harm later, or that take for ever to refuse.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
echo "schedule: {name: constant}" >>"$work/tiny.yaml" # so that more epochs leave the steps before as they were

# --- texts are UTF-8, paths are bytes ---
expect 2 tiny latin --set "name=$(printf '\377')"
says 'name: is not valid UTF-8'
latin=$(printf 'caf\351 %%41')
expect 0 "$captrain" gen text --out "$work/$latin" --count 24 --seed 3 --width 40 --height 16 --charset 0123 --length 2
expect 0 tiny bytes --set "data.train=$work/$latin" --set data.val_fraction=0.25
checks=$((checks + 1))
grep -q 'bytes:.*caf%E9%20%2541' "$work/bytes/config.yaml" || fail 'the path is not in config.yaml'
# the same folder again, from the configuration the run has written
expect 0 "$captrain" train --threads 1 --out "$work/bytes" --resume
expect 0 "$captrain" train "$work/bytes/config.yaml" --threads 1 --out "$work/again"
same weights_hash bytes again
expect 0 "$captrain" eval "$work/bytes" "$work/$latin"
expect 0 "$captrain" doctor --json
expect 2 tiny percent --set 'data.train=bytes:a%zz'
says "two hexadecimal digits"
# characters that YAML readers refuse or fold are written so that they can be read
odd=$(printf 'a\302\205b\342\200\250c\357\273\277d\177')
expect 0 tiny odd --set "name=$odd" --set train.epochs=1
expect 0 tiny odd --resume --set "name=$odd" --set train.epochs=2

# --- a name is no path ---
mkdir "$work/cwd"
here=$(pwd)
cd "$work/cwd" || exit 99
expect 2 "$captrain" train "$work/tiny.yaml" --set 'name=x/../../evil' --set train.epochs=1
says "name: must not have a '/'"
checks=$((checks + 1))
[ -z "$(ls "$work/cwd")" ] || fail 'something was written'
cd "$here" || exit 99

# --- nested lists: the depth is limited, not the patience ---
awk 'BEGIN { printf "data: {charset: "; for (i = 0; i < 100000; i++) printf "["; print "" }' >"$work/deep.yaml"
expect 2 timeout 10 "$captrain" train "$work/deep.yaml" --out "$work/deep"
awk 'BEGIN { print "data:"; print "  charset:"; for (i = 0; i < 100000; i++) { if (i % 500 == 0) printf "%s\n    ", i ? "[" : ""; printf "[" } print "" }' >"$work/deep.yaml"
expect 2 timeout 10 "$captrain" train "$work/deep.yaml" --out "$work/deep"
says 'nested too deeply'

# --- a charset of 20,000 characters, one of them twice: one look at each of them ---
LC_ALL=C awk 'BEGIN { printf "data: {charset: \""; for (i = 0; i < 20000; i++) printf "%c%c%c", 228 + int(i / 4096), 128 + int(i / 64) % 64, 128 + i % 64; print "\344\200\200\"}" }' >"$work/many.yaml"
expect 2 timeout 10 "$captrain" plan "$work/many.yaml"
says 'twice'
# a hundredth of a second of the processor; comparing each with each took more than this one
# shellcheck disable=SC3045
if [ -z "${CT_SANITIZERS:-}" ] && (ulimit -t 1) 2>/dev/null; then
    expect 2 sh -c "ulimit -t 1; exec '$captrain' plan '$work/many.yaml'"
    says 'twice'
fi

# --- options that mean nothing ---
expect 2 "$captrain" doctor --backend ../x
says 'means nothing here'
finish
