#!/bin/sh
# The recipes that take seconds against the table of expected results, and that tests/regress/run notices what is wrong.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
run="$CT_SRCDIR/tests/regress/run --captrain $captrain"
recipes='quickstart textcnn-small tiny-crnn'
[ -z "${CT_QUICK-}" ] || recipes=tiny-crnn

# --- the runs themselves; what they came to is what this test is about ---
# shellcheck disable=SC2086
expect 0 $run --keep "$work/runs" $recipes
cat "$work/out"
table=$CT_SRCDIR/tests/regress/results.csv
key=$(sed -n 's/.*tiny-crnn: as expected.*(\(.*\))$/\1/p; s/^tiny-crnn: no row for \([^:]*\):.*/\1/p' "$work/out")
[ -n "$key" ] || fail "the output does not say with which kernels"
again="$run --from $work/runs --table $work/table.csv"

# --- approving writes what was found, and only that; then it is as expected ---
# shellcheck disable=SC2086
{
    cp "$table" "$work/table.csv"
    expect 0 $again --approve $recipes
    prints 'has been rewritten'
    expect 0 $again $recipes
    prints "^tiny-crnn: as expected: .*$key"
    if grep -q "^tiny-crnn,.*$key," "$table"; then expect 0 cmp "$table" "$work/table.csv"; fi
    cp "$work/table.csv" "$work/approved.csv"
}

# row KEY COMMAND: the approved table with an awk command on tiny-crnn's row of this machine
row() { awk -F, -v OFS=, -v key="$key" "\$1 == \"tiny-crnn\" && \$5 == key { $1 } { print }" "$work/approved.csv" >"$work/table.csv"; }

# --- other weights, another accuracy: a difference that can be read, and exit 1; approving mends it ---
# shellcheck disable=SC2086
{
    row '$9 = "0123456789abcdef0123456789abcdef"'
    expect 1 $again tiny-crnn
    prints '^tiny-crnn: NOT as expected, seed 7, 150 steps, '
    prints '^  - string_accuracy .* weights_hash 0123456789abcdef0123456789abcdef$'
    prints '^  + string_accuracy .* weights_hash [0-9a-f]*$'
    row '$6 = 0.5'
    expect 1 $again tiny-crnn
    prints '^  - string_accuracy 0.5 '
    expect 0 $again --approve tiny-crnn
    expect 0 cmp "$work/approved.csv" "$work/table.csv"
}

# --- kernels the table does not know: the accuracy alone, aloud; one outside the band fails ---
# shellcheck disable=SC2086
{
    awk -F, -v OFS=, 'NR > 1 { $5 = "other/kernels" } { print }' "$work/approved.csv" >"$work/table.csv"
    expect 0 $again tiny-crnn
    prints '^tiny-crnn: no row for .*: accuracy alone compared: .*(other/kernels)$'
    awk -F, -v OFS=, 'NR > 1 { $5 = "other/kernels"; $6 = 0.2 } { print }' "$work/approved.csv" >"$work/table.csv"
    expect 1 $again tiny-crnn
    prints 'outside of the band'
    head -n 1 "$work/approved.csv" >"$work/table.csv"
    expect 1 $again tiny-crnn
    prints 'no row of it at all'
}

# --- usage; recipes that need pictures are left out aloud ---
# shellcheck disable=SC2086
{
    expect 2 $again nonsense
    expect 2 $again --nonsense
    expect 2 $again --table
    expect 2 $run wilhelmy2013
    prints '^wilhelmy2013: left out: it needs --data$'
}
finish
