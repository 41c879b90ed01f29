#!/bin/sh
# Folders that would be trained on something else than their labels, or on nothing: each is refused before a step is made.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

expect 0 "$captrain" gen text --out "$work/good" --count 24 --seed 3 --width 40 --height 16 --charset 0123 --length 2
# folder NAME: a copy of the good one
folder() {
    rm -rf "${work:?}/$1"
    cp -r "$work/good" "$work/$1"
}
n=0
# train FOLDER [ARG...]: into a fresh run directory
train() {
    data=$1
    shift
    n=$((n + 1))
    tiny "run$n" --set "data.train=$data" --set data.charset= --set data.val_fraction=0.25 --set train.epochs=1 "$@"
}
# untrained: no step was made by the last training
untrained() {
    checks=$((checks + 1))
    [ ! -e "$work/run$n/metrics.jsonl" ] || fail "a training was begun"
}
expect 0 train "$work/good"
one=$(find "$work/good" -name '*.png' | LC_ALL=C sort | head -n 1)

# --- a control character in a label: by name, and by label file ---
folder tab
cp "$one" "$work/tab/$(printf '0\t1_99.png')"
expect 1 train "$work/tab"
says 'U+0009'
says '1_99.png'
untrained
expect 1 "$captrain" check "$work/tab" --config "$work/tiny.yaml" --set data.charset=
prints 'U+0009'
folder csv
(cd "$work/csv" && for f in *.png; do printf '%s,%s\r\r\n' "$f" "${f%%_*}"; done >labels.csv)
expect 1 train "$work/csv"
says 'U+000D'
untrained
expect 1 "$captrain" check "$work/csv"
prints 'U+000D'

# --- a label file that is there by name but is no file ---
for what in link pipe folder; do
    folder odd
    case $what in
    link) ln -s nowhere "$work/odd/labels.csv" ;;
    pipe) mkfifo "$work/odd/labels.csv" ;;
    folder) mkdir "$work/odd/labels.csv" ;;
    esac
    expect 1 timeout 20 "$captrain" train "$work/tiny.yaml" --out "$work/odd-run" --set "data.train=$work/odd" --set data.charset=
    says 'labels.csv'
    expect 1 timeout 20 "$captrain" check "$work/odd"
    says 'labels.csv'
done
# a link to a file is a file
folder odd
(cd "$work/odd" && for f in *.png; do printf '%s,%s\n' "$f" "${f%%_*}"; done >"$work/list.csv" && ln -s ../list.csv labels.csv)
expect 0 train "$work/odd"

# --- lists beside the pictures that are not read ---
mkdir "$work/words"
for f in "$work"/good/*.png; do
    n=$((n + 1))
    cp "$f" "$work/words/word_$n.png"
done
# list NAME FORMAT: a folder word_N.png with a list; FORMAT has %s for the file's name
list() {
    rm -rf "$work/listed"
    cp -r "$work/words" "$work/listed"
    (cd "$work/listed" && for f in *.png; do
        # shellcheck disable=SC2059
        printf "$2\n" "$f"
    done >"$work/the-list")
    mv "$work/the-list" "$work/listed/$1"
    expect 1 train "$work/listed"
    says "$1"
    untrained
    expect 1 "$captrain" check "$work/listed"
    says "$1"
}
list ground_truth.txt '%s, "Tiredness"'
list metadata.csv '%s,Tiredness'
list data.jsonl '{"file_name": "%s", "text": "Tiredness"}'
list rec_train.txt 'train/%s\tTiredness'
list annotations.json '"%s": "Tiredness",'
# a list in the folder above it, which names the pictures with their folder, or is of our own form and the folder is given without it
listed_above() { # NAME FORMAT FOLDER
    rm -rf "$work/above"
    mkdir "$work/above"
    cp -r "$work/words" "$work/above/$3"
    (cd "$work/above/$3" && for f in *.png; do
        # shellcheck disable=SC2059
        printf "$2\n" "$f"
    done >"../$1")
    expect 1 train "$work/above/$3"
    says "$1: a list of pictures that is not read"
    untrained
    expect 1 "$captrain" check "$work/above/$3"
    says "$1"
}
listed_above rec_gt_train.txt 'train/%s\tTiredness' train
listed_above labels.csv '%s,Tiredness' images
expect 0 train "$work/above" --set data.charset=Tirdnes
# of another folder, or of one that may be any
mv "$work/above/images" "$work/above/other"
mv "$work/above/labels.csv" "$work/above/list.csv"
sed 's,^,train/,' "$work/above/list.csv" >"$work/above/list2.csv"
expect 0 train "$work/above/other" --set data.charset=word
# a text for each picture; one that says what the name says, or that few pictures have, does not matter
rm -rf "$work/texts"
cp -r "$work/words" "$work/texts"
for f in "$work"/texts/*.png; do echo Tiredness >"${f%.png}.txt"; done
expect 1 train "$work/texts"
says 'texts/word_[0-9]*.txt: a text beside its picture that is not read'
untrained
expect 1 "$captrain" check "$work/texts"
says 'texts/word_[0-9]*.txt'
for f in "$work"/texts/*.png; do echo word >"${f%.png}.txt"; done
echo Tiredness >"$(ls "$work"/texts/*.txt | head -1)"
expect 0 train "$work/texts" --set data.charset=word
# notes that mention a picture are no list
folder notes
printf 'Pictures of last May.\nThe first is %s.\nNothing else is known.\n' "$(basename "$one")" >"$work/notes/README.txt"
expect 0 train "$work/notes"

# --- one label for all ---
expect 0 train "$work/words" --set data.charset=word
says 'all [0-9]* samples have the label "word"'
expect 0 "$captrain" check "$work/words"
says 'all [0-9]* usable samples have the label "word"'

# --- nothing that can be used: a list in GBK ---
folder gbk
(cd "$work/gbk" && for f in *.png; do printf '%s,\326\320\316\304\n' "$f"; done >labels.csv)
expect 1 "$captrain" check "$work/gbk"
says 'by its bytes, GBK; .*iconv -f GBK'
expect 1 train "$work/gbk" --set data.max_bad=1000
says 'by its bytes, GBK'

# --- names that would move the cursor of a terminal ---
esc=$(printf '\033')
# quiet_terminal FILE: nothing in it that a terminal would obey
quiet_terminal() {
    checks=$((checks + 1))
    if grep -q "$esc" "$1"; then fail "an escape reaches the terminal: $(od -c "$1" | head -5)"; fi
}
folder evil
echo 'no picture' >"$work/evil/$(printf '01_\033]0;owned\007\033[2J.png')"
expect 1 train "$work/evil"
says 'x1b]0;owned.x07'
quiet_terminal "$work/err"
quiet_terminal "$work/run$n/run.log"
expect 1 "$captrain" check "$work/evil"
prints 'x1b]0;owned.x07'
quiet_terminal "$work/out"
quiet_terminal "$work/err"
folder line
cp "$one" "$work/line/$(printf '01\ncaptrain: all is well_1.png')"
expect 1 train "$work/line"
says '01.ncaptrain: all is well_1.png: the label has the control character U+000A'
cp "$one" "$work/$(printf 'a\033[2J\nb.png')"
expect 0 "$captrain" predict "$work/run1" "$work/$(printf 'a\033[2J\nb.png')"
prints 'a.x1b.2J.nb.png'
quiet_terminal "$work/out"
# and so are names that a shell has put where they are too many
expect 2 "$captrain" check "$work/good" "$(printf 'a\033[2J.png')"
says 'one word too many: .a.x1b.2J.png'
quiet_terminal "$work/err"
expect 2 "$captrain" "$(printf '\033[2J')"
quiet_terminal "$work/err"
# eval lists what was read wrong: the name of a file, and a word of a slider label
folder wrong
for f in "$work"/wrong/*.png; do mv "$f" "$(printf '%s_\033[2J.png' "${f%.png}")"; done
expect 0 "$captrain" eval "$work/run1" "$work/wrong"
prints 'wrong (the first'
prints '_.x1b.2J.png'
quiet_terminal "$work/out"
cat >"$work/slider.yaml" <<'YAML'
name: slider
model: {name: slider-small, width: 0.25}
data: {width: 96, height: 64, val_fraction: 0.25}
train: {batch_size: 4, steps: 1, workers: 1}
YAML
expect 0 "$captrain" gen slider --out "$work/sliders" --count 8 --seed 3
expect 0 "$captrain" train "$work/slider.yaml" --out "$work/slider-run" --set "data.train=$work/sliders" --quiet
json=$work/sliders/labels/all_labels.json
sed 's/"style": *"[^"]*"/"style": "\\u001b[2J"/' "$json" >"$work/json" && mv "$work/json" "$json"
expect 0 "$captrain" eval "$work/slider-run" "$work/sliders"
prints 'x1b.2J'
quiet_terminal "$work/out"
# labels of slider pictures that are there by name but are no file
for what in link pipe folder device; do
    rm -rf "$json"
    case $what in
    link) ln -s nowhere "$json" ;;
    pipe) mkfifo "$json" ;;
    folder) mkdir "$json" ;;
    device) ln -s /dev/zero "$json" ;;
    esac
    expect 1 timeout -k 1 20 "$captrain" train "$work/slider.yaml" --out "$work/odd-run" --set "data.train=$work/sliders"
    says 'labels/all_labels.json'
    expect 1 timeout -k 1 20 "$captrain" check "$work/sliders"
    says 'labels/all_labels.json'
done
finish
