#!/bin/sh
# captrain fit-style: a style's file that draws, whatever the threads the same; its page needs no other file; what cannot be is told.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
cd "$work" || exit 99
expect 0 "$captrain" gen text --out seen --count 30 --seed 5 --style dots --width 96 --height 40 --length 3 --quiet
fit() { "$captrain" fit-style seen --rounds 8 --quiet "$@"; }
expect 0 fit --out a.yaml --threads 1
prints '^background, gray level  *[0-9]'
prints '^distance 0\.[0-9]*; of the style it began with, dots: 0\.'
expect 0 fit --out b.yaml --threads 2
checks=$((checks + 1))
cmp -s a.yaml b.yaml || fail 'two threads fit another style'
for line in '^width: 96 ' '^height: 40 ' '^channels: 3 ' '^fonts: \["DejaVu'; do
    checks=$((checks + 1))
    grep -q "$line" a.yaml || fail "the style has no '$line'"
done
for text in '<h2>seen</h2>' '<h2>drawn</h2>' '>gray levels<' 'data:image/png;base64,' 'rotation: '; do
    checks=$((checks + 1))
    grep -q "$text" a.html || fail "the page has no '$text'"
done
checks=$((checks + 1))
! grep -q -i -e '<script' -e 'src="[^d]' -e 'href=' a.html || fail 'the page has a script, or loads something'
# a length that is said is kept
expect 0 fit --out l.yaml --length 3-4
checks=$((checks + 1))
grep -q '^length: \[3, 4\] ' l.yaml || fail 'the length is another'
expect 2 fit --out m.yaml --length 3x
says "'3x' is not a number or a range"
# what was written is a style
expect 0 "$captrain" gen text --style a.yaml --out drawn --count 3 --quiet
checks=$((checks + 1))
[ "$(find drawn -name '*.png' | wc -l)" -eq 3 ] || fail 'three pictures were not drawn'
expect 2 "$captrain" gen text --style none.txt --out none
says 'unknown text style'
expect 1 fit --out a.yaml
says 'a.yaml is there already: --force replaces it'
mkdir empty
expect 1 "$captrain" fit-style empty --out c.yaml
says 'empty'
expect 1 "$captrain" fit-style seen
says 'needs a folder of pictures and --out FILE'
expect 2 fit --out d.yaml --charset '€漢'
says 'this font has no glyph'

# examples/few.sh: a style, drawn pictures, then the labelled ones; what is done is not done again
mkdir -p 'few of mine/run'
expect 0 "$captrain" gen text --out 'few of mine/pictures' --count 20 --seed 6 --style dots --width 96 --height 40 --charset '3"b' --length 2-3 --quiet
expect 0 fit --out 'few of mine/run/style.yaml' --charset '3"b'
few() { CAPTRAIN=$captrain sh "$CT_SRCDIR/examples/few.sh" 'few of mine/pictures' 'few of mine/run' --test 'few of mine/pictures' -- --threads 1 --set train.steps=2 --set data.synth.count=40 --set data.synth.val_count=8; }
expect 0 few
for run in drawn tuned; do
    prints "^$run:"
    checks=$((checks + 1))
    grep -q '"steps": 2,' "few of mine/run/$run/result.json" || fail "$run has no two steps"
done
for line in '  charset: ' '    length_min: 2' '    length_max: 3' '    style: "*few of mine/run/style.yaml'; do
    checks=$((checks + 1))
    grep -q "^$line" 'few of mine/run/drawn/config.yaml' || fail "the drawn ones' configuration has no '$line'"
done
hashes() { cat 'few of mine'/run/*/result.json | grep -o '"weights_hash": *"[^"]*"'; }
hashes >kept
expect 0 few
hashes >again
checks=$((checks + 1))
[ "$(wc -l <kept)" -eq 2 ] && cmp -s kept again || fail 'what was done is done again'
expect 2 sh "$CT_SRCDIR/examples/few.sh" seen
says ' few.sh LABELLED OUT'
mkdir -p none
expect 1 env CAPTRAIN="$captrain" sh "$CT_SRCDIR/examples/few.sh" none out
finish
