#!/bin/sh
# Files that earlier releases wrote (tests/old/README.md): runs are resumed, models evaluated, caches and choices read.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/regress/machine.sh"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
pin "$captrain"
key=$(kernels "$captrain")

# value KEY FILE: a number or text of a JSON file, one key a line
value() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$2" | head -n 1; }

# row WHAT: what the release got with these kernels; with any others, if it has no row for these
row() {
    awk -F, -v key="$key" -v what="$1" '$2 == what { any = $3 } $2 == what && $1 == key { mine = $3 } END { print mine == "" ? any : mine }' "$old/expected.csv"
}

# same WHAT GOT: the very value the release got
same() {
    checks=$((checks + 1))
    want=$(row "$1")
    [ -n "$want" ] && [ "$2" = "$want" ] || fail "$version: $1 is '$2', the release got '$want'"
}

# near WHAT GOT BAND: within the band of what the release got. A later version has other loops: what it trains from an old
# checkpoint on, and scores it adds up, are close to the release's, not the same to the last bit.
near() {
    checks=$((checks + 1))
    awk -v a="$2" -v b="$(row "$1")" -v band="$3" 'BEGIN { exit !(a != "" && b != "" && a - b <= band && b - a <= band) }' ||
        fail "$version: $1 is '$2', not within $3 of the release's $(row "$1")"
}

# resume NAME: a copy of the run goes on to its end
resume() {
    rm -rf "$work/run" "$work/cache"
    cp -r "$old/run-$1" "$work/run"
    chmod -R u+w "$work/run"
    checks=$((checks + 1))
    if ! "$captrain" train --out "$work/run" --resume >"$work/out" 2>"$work/err" </dev/null; then
        if [ $known = 0 ] && grep -q 'samples (.*) are not those of the run' "$work/err"; then
            echo "$version: $1: generated pictures are others here (FreeType, fonts), so that this run cannot go on: $(tail -n 1 "$work/err")"
        else
            fail "$version: $1 cannot be resumed"
        fi
        return
    fi
    [ "$1" != crnn ] || says 'measured choices of its checkpoint'
    near "$1 resumed string_accuracy" "$(value string_accuracy "$work/run/result.json")" 0.15
    checks=$((checks + 2))
    tr -d ' \n' <"$work/run/result.json" | grep -q '"resumed_from_steps":\[2[0-9]*\]' || fail "$version: $1 was not resumed"
    cmp -s "$old/run-$1/checkpoints/last.safetensors" "$work/run/checkpoints/last.safetensors" && fail "$version: $1 did not go on"
}

# reads NAME: its model file scores and reads the pictures as it did
reads() {
    expect 0 "$captrain" eval "$old/run-$1" "$old/pictures" --json --threads 1
    cp "$work/out" "$work/eval.json"
    near "$1 pictures strings_right" "$(value strings_right "$work/eval.json")" 1
    near "$1 pictures edits" "$(value edits "$work/eval.json")" 1
    near "$1 pictures loss" "$(value loss "$work/eval.json")" 0.001
    expect 0 "$captrain" predict "$old/run-$1" "$old/pictures" --threads 1
    while IFS="$(printf '\t')" read -r file text rest; do
        [ $known = 0 ] || same "$1 reads ${file##*/}" "$text"
    done <"$work/out"
    checks=$((checks + 1))
    [ "$(wc -l <"$work/out")" -eq "$(find "$old/pictures" -name '*.png' | wc -l)" ] || fail "$version: $1 does not read every picture"
}

# opens_cache: the packed cache is used, or there is a word that it is made anew; the scores are the same either way
opens_cache() {
    rm -rf "$work/cache"
    mkdir -p "$work/cache/data"
    cp "$old"/cache/*.ctpack "$work/cache/data"
    chmod -R u+w "$work/cache"
    expect 0 env CAPTRAIN_VERBOSE=loader "$captrain" eval "$old/run-cnn" "$old/pictures" --json --threads 1
    near "cnn pictures strings_right" "$(value strings_right "$work/out")" 1
    checks=$((checks + 1))
    if grep -q 'mapping the cache' "$work/err"; then
        echo "$version: the packed cache is used as it is"
    elif grep -q 'it is made anew' "$work/err"; then
        echo "$version: the packed cache is made anew, and that is said: $(grep 'made anew' "$work/err")"
    else
        fail "$version: the packed cache is passed over without a word"
    fi
    # a cache that does not belong to its name is never used
    for file in "$work"/cache/data/*.ctpack; do printf 'x' | dd of="$file" bs=1 seek=5000 conv=notrunc 2>/dev/null; done
    expect 0 "$captrain" eval "$old/run-cnn" "$old/pictures" --json --threads 1
    says 'it is made anew'
    near "cnn pictures strings_right" "$(value strings_right "$work/out")" 1
}

# obeys_choices: the file of choices is obeyed by a new run
obeys_choices() {
    expect 0 "$captrain" train "$old/crnn.yaml" --out "$work/tuned" --tune "$old/choices.json" --set train.steps=5 --quiet
    checks=$((checks + 1))
    cmp -s "$old/choices.json" "$work/tuned/choices.json" || fail "$version: other choices than those of the file"
    rm -rf "$work/tuned"
}

for old in "$CT_SRCDIR"/tests/old/[0-9]*; do
    version=${old##*/} known=0
    if grep -q "^$key," "$old/expected.csv"; then known=1; fi
    [ $known = 1 ] || echo "$version: no expectations for $key: texts that the release read are not compared, only how many were right"
    resume cnn
    resume crnn
    reads cnn
    reads crnn
    opens_cache
    obeys_choices
done
finish
