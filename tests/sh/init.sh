#!/bin/sh
# captrain init: what it writes trains at once, says what was seen, and is not written for what could not be trained with.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 99

# trains CONFIG MODEL: it can be read, and a step can be trained with it
trains() {
    expect 0 grep -q "^  name: $2\$" "$1"
    expect 0 "$captrain" train "$1" --out "run-$1" --threads 1 --set train.steps=1 --set train.epochs=2 --set train.batch_size=2
    rm -rf "run-$1"
}
# has CONFIG LINE: with a reason above it
has() {
    checks=$((checks + 1))
    grep -B 1 -Fx -e "$2" "$1" | head -n 1 | grep -q '^ *# .' || fail "$1 has no '$2' with a reason"
}

# --- labels in names: one length, one size; few pictures, and many ---
expect 0 "$captrain" gen text --out "my pictures #1" --count 12 --seed 5 --charset 'ab#' --length 3 --width 48 --height 36 --style plain
expect 0 "$captrain" init "my pictures #1/"
prints '^my pictures #1.yaml: trains crnn-small with 12 samples, labels from the names of the files; next: captrain train'
for line in '  train: "my pictures #1"' '  charset: "#ab"' '  height: 36' '  width: 48' '  size_rule: fit_height' '  channels: 3' '  val_fraction: 0.2' '  batch_size: 10' '  epochs: 200' '  lr: 0.002'; do
    has "my pictures #1.yaml" "$line"
done
trains "my pictures #1.yaml" crnn-small
expect 0 "$captrain" check "my pictures #1" --config "my pictures #1.yaml"
cp "my pictures #1.yaml" kept
expect 1 "$captrain" init "my pictures #1"
says 'my pictures #1.yaml: exists and is not overwritten; --out'
expect 0 cmp kept "my pictures #1.yaml"
expect 0 "$captrain" gen text --out many --count 1200 --seed 5 --charset 01 --length 2 --width 40 --height 24
expect 0 "$captrain" init many --out many.yaml
for line in '  height: 32' '  width: 53' '  size_rule: fit_height' '  channels: 3' '  val_fraction: 0.1' '  init: dirac' '  label_smoothing: 0.05' '  name: muon' '  lr: 0.008'; do has many.yaml "$line"; done
trains many.yaml reader
expect 0 grep -q '^augment:' many.yaml
checks=$((checks + 1))
! grep -q 'probability' many.yaml || fail "half of few pictures stay as they are"
expect 0 "$captrain" gen text --out plenty --count 10600 --seed 5 --charset 01 --length 1 --width 16 --height 16 --style plain
expect 0 "$captrain" init plenty
has plenty.yaml '  probability: 0.5'
trains plenty.yaml reader

mkdir gray
for label in 00 01 10 11; do # black, of 16x8 pixels
    printf '\211PNG\r\n\032\n\000\000\000\015IHDR\000\000\000\020\000\000\000\010\010\000\000\000\000\325\035\040\113' >gray/$label.png
    printf '\000\000\000\014IDAT\170\332\143\140\030\034\000\000\000\210\000\001\164\270\071\147\000\000\000\000IEND\256\102\140\202' >>gray/$label.png
done
expect 0 "$captrain" init gray
has gray.yaml '  channels: 1'

# --- a label file, labels of several lengths, pictures of several sizes; validation beside it ---
mkdir -p lines/train lines/valid
for set in train valid; do # ${#set}: another seed for each
    expect 0 "$captrain" gen text --out lines/$set --count 4 --seed ${#set} --charset xyz --length 2 --width 30 --height 20 --force
    expect 0 "$captrain" gen text --out lines/$set --count 6 --seed 1${#set} --charset xyz --length 5-6 --width 200 --height 80 --force
    (cd lines/$set && for f in *.png; do printf '%s\t%s\n' "$f" "${f%%_*}"; done >gt.txt)
done
expect 0 "$captrain" init lines
prints 'labels from lines/train/gt.txt'
for line in '  train: lines/train' '  val: lines/valid' '  height: 64' '  width: 160' '  size_rule: fit_height' '  charset: xyz'; do has lines.yaml "$line"; done
trains lines.yaml crnn-small
mv lines/train/gt.txt lines/list_train.txt
mv lines/valid/gt.txt lines/list_val.txt
mkdir lines/images
cp lines/train/*.png lines/images
cp lines/valid/*.png lines/images
expect 0 "$captrain" init lines/list_train.txt
has list_train.yaml '  val: lines/list_val.txt'
trains list_train.yaml crnn-small
expect 0 "$captrain" init lines --labels list_train.txt --out named.yaml
has named.yaml '  labels: list_train.txt'

# --- narrow pictures with long labels get the height, or the width, that their labels need ---
expect 0 "$captrain" gen text --out narrowed --count 4 --seed 2 --charset 1 --length 12 --width 40 --height 40
expect 0 "$captrain" gen text --out narrowed --count 4 --seed 2 --charset 2 --length 11 --width 40 --height 40 --force
expect 0 "$captrain" init narrowed
has narrowed.yaml '  height: 93'
trains narrowed.yaml crnn-small

# --- the other tasks, by their own label files ---
expect 0 "$captrain" gen slider --out sliders --count 6 --seed 1
expect 0 "$captrain" init sliders
prints 'labels from sliders/labels/all_labels.json'
trains sliders.yaml slider-small
expect 0 "$captrain" gen gestures --out gestures --count 10 --seed 3 --glosses 4 --signers 2 --length 1-2 --size 32
expect 0 "$captrain" init gestures
has gestures.yaml '  train: gestures/train'
has gestures.yaml '  val: gestures/dev'
expect 0 grep -q 'Not used here: gestures/test' gestures.yaml
trains gestures.yaml tfnet-small

# --- what check refuses, and what could not be trained with ---
refused() { # DATA PATTERN
    expect 1 "$captrain" init "$1" --out never.yaml
    says "$2"
    [ ! -e never.yaml ] || fail "$1: a configuration was written"
}
mkdir empty
refused empty 'no PNG, JPEG, BMP or WebP pictures in this folder'
refused nowhere 'nowhere: '
cp -r "my pictures #1" spoilt
printf 'no picture' >spoilt/abab_1.png
refused spoilt '1 file cannot be read; nothing is written (`captrain check`'
rm spoilt/abab_1.png
printf '%s\n' "$(cd spoilt && ls | head -n 5 | sed 's/$/,a/')" >spoilt/labels.csv
refused spoilt 'all 5 usable samples have the label "a"'
printf '%s\n' "$(cd spoilt && ls ./*.png | head -n 5 | sed 's,^./,,; s/$/,/' | awk '{ print $0 NR }')" >spoilt/labels.csv
refused spoilt 'training would fail: 7 of 12 training samples cannot be used'
rm spoilt/labels.csv
printf '%s\n' "$(cd spoilt && ls | sed 's/$/;x/')" >spoilt/words.csv
refused spoilt 'words.csv: a list of pictures that is not read'
rm spoilt/words.csv
(cd spoilt && n=0 && for f in *.png; do n=$((n + 1)); mv "$f" word_$n.png; done)
refused spoilt 'all 12 usable samples have the label "word", taken from the names of the files'
expect 2 "$captrain" init synth:text --out never.yaml
says 'synth:text is drawn'
expect 2 "$captrain" init "my pictures #1" --out never.yaml --backend nonsense
expect 2 "$captrain" init
expect 1 "$captrain" init "my pictures #1" --out nowhere/c.yaml
finish
