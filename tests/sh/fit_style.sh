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
short() { CAPTRAIN=$captrain sh "$CT_SRCDIR/examples/few.sh" "$@" -- --threads 1 --set train.steps=2 --set data.synth.count=40 --set data.synth.val_count=8; }
few() { short 'few of mine/pictures' 'few of mine/run' --test 'few of mine/pictures'; }
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
expect 2 sh "$CT_SRCDIR/examples/few.sh" - out seen --length 3
says 'without labelled pictures UNLABELLED, --charset and --length are needed'
mkdir -p none
expect 1 env CAPTRAIN="$captrain" sh "$CT_SRCDIR/examples/few.sh" none out

# It teaches itself with pictures that nobody labelled: all it reads is believed, by halves; none that is labelled, under whatever name, and
# none twice.
counted() {
    checks=$((checks + 1))
    [ "$(grep -c . "few of mine/$1")" -eq "$2" ] || fail "$1 has $(grep -c . "few of mine/$1") lines, not $2"
}
taught() {
    checks=$((checks + 1))
    grep -qx "  train: $2" "few of mine/$1" || fail "$1 does not train with $2"
}
expect 0 "$captrain" gen text --out 'few of mine/more, unnamed' --count 25 --seed 7 --style dots --width 96 --height 40 --charset '3"b' --length 2-3 --quiet
n=0
for picture in 'few of mine/pictures/'*.png; do
    n=$((n + 1))
    cp "$picture" "few of mine/more, unnamed/known $n.png"
done
set -- 'few of mine/more, unnamed/'*.png
cp "$1" 'few of mine/more, unnamed/again.png'
more() { short 'few of mine/pictures' 'few of mine/run' 'few of mine/more, unnamed' --sure 0; }
expect 0 more
prints 'taught1 is sure of 12 of 12 pictures'
prints 'captrain predict few of mine/run/taught --length 2-3'
counted run/unlabelled 25
counted run/read1/labels.txt 13
counted run/read2/labels.txt 12
counted run/read3/labels.txt 13
taught run/taught2.yaml '\["few of mine/pictures", "few of mine/run/read2"\]'
taught run/taught.yaml '\["few of mine/pictures", "few of mine/run/read2", "few of mine/run/read3"\]'
hashes >kept
checks=$((checks + 1))
[ "$(wc -l <kept)" -eq 5 ] || fail "there are not the five runs drawn, tuned, taught1, taught2 and taught"
expect 0 more
hashes >again
checks=$((checks + 1))
cmp -s kept again || fail 'what was done is done again'

# Nothing to read is said; a network that cannot be read is no network that is unsure.
rm 'few of mine/run/unlabelled'
expect 0 short 'few of mine/pictures' 'few of mine/run' 'few of mine/pictures'
says 'it does not teach itself'
prints 'captrain predict few of mine/run/tuned'
rm -r 'few of mine/run/unlabelled' 'few of mine/run/read1'
echo broken >'few of mine/run/tuned/checkpoints/best.safetensors'
expect 1 more
says 'best.safetensors'

# Of a label file only its own pictures are known; what is too unsure is not learned.
(cd 'few of mine/more, unnamed' && ls known*.png | awk '{ print $0 "\t" (NR % 2 ? "b3" : "3bb") }' >../some.tsv)
mkdir -p 'few of mine/listed' && cp 'few of mine/run/style.yaml' 'few of mine/listed' && mv 'few of mine/some.tsv' 'few of mine/more, unnamed'
listed() { short 'few of mine/more, unnamed/some.tsv' 'few of mine/listed' 'few of mine/more, unnamed' --sure 1; }
expect 0 listed
says 'that is too few to learn from'
prints 'captrain predict few of mine/listed/tuned'
counted listed/unlabelled 25

# And with no label at all, from what it reads as it has only seen drawn ones.
mkdir -p 'few of mine/blind' && cp 'few of mine/run/style.yaml' 'few of mine/blind'
blind() { short - 'few of mine/blind' 'few of mine/more, unnamed' --charset '3"b' --length 2-3 --sure 0; }
expect 0 blind
counted blind/unlabelled 45
taught blind/taught1.yaml '\["few of mine/blind/read1"\]'
finish
