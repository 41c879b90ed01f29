#!/bin/sh
# data.train and its like as lists: folders, label files and databases together.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 99
expect 0 "$captrain" gen text --out a --count 8 --seed 1 --charset xyz --length 3 --width 48 --height 24
expect 0 "$captrain" gen text --out b --count 8 --seed 2 --charset xyz --length 3 --width 48 --height 24
expect 0 "$captrain" gen text --out v --count 6 --seed 3 --charset xyz --length 3 --width 48 --height 24
# pictures of one name in two folders, with two labels
mkdir one two
n=0
for f in a/*.png; do n=$((n + 1)); cp "$f" one/$n.png; echo "$n.png,$(basename "${f%%_*}")" >>one/labels.csv; done
n=0
for f in b/*.png; do n=$((n + 1)); cp "$f" two/$n.png; echo "$n.png $(basename "${f%%_*}")" >>two/list.txt; done
cat >c.yaml <<'END'
model: {name: textcnn-small, width: 0.25}
data: {train: [one, two/list.txt, a b], val: [v], height: 24, width: 48}
train: {epochs: 2, batch_size: 4, threads: 1}
END
mkdir "a b"
cp "$(find b -name '*.png' | sort | head -n 1)" "a b"
expect 0 "$captrain" train c.yaml --out run
expect 0 grep -q '^  train: \["one", "two/list.txt", "a b"\]' run/config.yaml
expect 0 grep -q '"train_samples": *17' run/metrics.jsonl
hash() { sed -n 's/.*"weights_hash": *"\(.*\)".*/\1/p' "$1/result.json"; }
# the order of the list says nothing
expect 0 "$captrain" train c.yaml --out again --set 'data.train=[two/list.txt, a b, one]'
expect 0 test "$(hash run)" = "$(hash again)"
expect 0 "$captrain" train c.yaml --out run --resume
expect 1 "$captrain" train c.yaml --out other --set 'data.train=[one, one/]'
says 'one/: is named twice'
expect 1 "$captrain" train c.yaml --out other --set 'data.train=[one, nowhere]'
says 'nowhere: cannot open'
rm two/1.png
expect 1 "$captrain" train c.yaml --out other
says 'two/1.png: named in line 1 of the label file, but there is no such file'
expect 0 "$captrain" train c.yaml --out other --set data.max_bad=1
expect 2 "$captrain" train c.yaml --out never --set 'data.train=[one, synth:text]'
says 'a generator stands alone'
# another task's folder among them
expect 0 "$captrain" gen slider --out sliders --count 3 --seed 1
expect 1 "$captrain" train c.yaml --out never --set 'data.train=[one, sliders]'
says 'sliders: holds samples for slider models'
expect 0 "$captrain" gen slider --out more --count 5 --seed 2
expect 0 "$captrain" train slider-small --out s --set 'data.train=[sliders, more]' --set data.synth.fresh=false --set data.val_fraction=0 --set train.steps=1 --set train.batch_size=2 --threads 1
# looked at together, by names that tell them apart
expect 1 "$captrain" check one --config c.yaml --set 'data.val=[two/list.txt, v]'
prints 'labels from: two/list.txt, the names of the files in v$'
prints 'two/1.png: named in line 1'
finish
