#!/bin/sh
# captrain compare: results and keys of runs beside each other, as text, JSON and a page; what is no run.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
equal() {
    checks=$((checks + 1))
    [ "$2" = "$3" ] || fail "$1: '$2' instead of '$3'"
}
expect 0 tiny one --quiet
expect 0 tiny two --quiet --set optimizer.lr=0.002 --set 'name="<script>alert(1)</script>"'
cp -r "$work/two" "$work/three"
rm "$work/three/result.json"
cd "$work" || exit 99

expect 0 "$captrain" compare one two/ three
prints '^run  *one  *two  *three$'
prints '^state  *finished  *finished  *not finished$'
prints '^optimizer.lr  .*0.002  *0.002$'
prints '^parameters  *[0-9]'
checks=$((checks + 1))
! grep -q '^train.epochs' out || fail 'a key that is the same is told'

# numbers are those of result.json, of the run that has none those of its last scoring
expect 0 "$captrain" compare one two three --json
number() { sed -n "s/^ *\"$1\": \([^,]*\),\{0,1\}\$/\1/p" "$2"; }
equal 'samples_per_s' "$(number samples_per_s out | head -1)" "$(number samples_per_s one/result.json)"
equal 'params' "$(number params out | head -1)" "$(number params one/result.json)"
equal 'string_accuracy' "$(number string_accuracy out | head -1)" "$(number string_accuracy one/result.json | tail -1)"
equal 'unfinished' "$(number finished out | tail -1)" false
equal 'seconds, unfinished' "$(number seconds out | tail -1)" null
last=$(sed -n '/"event":"eval"/s/.*"string_accuracy":\([^,]*\),.*/\1/p' three/metrics.jsonl | tail -1)
equal 'string_accuracy, unfinished' "$(number string_accuracy out | tail -1)" "$last"

# the page: names are text, nothing is loaded, curves of all runs
expect 0 "$captrain" compare one two three --html page.html
for text in '&lt;script&gt;alert(1)' '>Loss, training<' 'one: .* at step' '>optimizer.lr<' 'not finished'; do
    checks=$((checks + 1))
    grep -q -e "$text" page.html || fail "the page has no '$text'"
done
checks=$((checks + 1))
! grep -q -i -e '<script' -e 'src=' -e 'href=' page.html || fail 'the page has a script, or loads something'

# what is no run
mkdir empty
expect 2 "$captrain" compare one empty
says 'empty: not the folder of a run: it has no config.yaml'
expect 2 "$captrain" compare one nowhere
says 'nowhere: there is no such folder'
expect 2 "$captrain" compare one one/result.json
says 'one/result.json: a file, not the folder of a run'
expect 2 "$captrain" compare one
echo '{' >three/result.json
expect 1 "$captrain" compare one three
says 'three/result.json'
rm three/result.json three/metrics.jsonl
expect 0 "$captrain" compare one three
prints '^steps  *[1-9][0-9]*  *0$'
expect 1 "$captrain" compare one two --html nowhere/page.html
says 'nowhere/page.html'
finish
