#!/bin/sh
# Folders of clips with something wrong in them: every fault is named with its clip, frame or line of the label file, by
# check, training and evaluation; nothing is left out unsaid.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
cd "$work" || exit 99
expect 0 "$captrain" gen gestures --out set --count 20 --seed 5 --glosses 5 --signers 2 --length 1-3 --size 32
cat >tiny.yaml <<YAML
name: clips
model: {name: tfnet-small, width: 0.5, hidden: 8}
data: {train: set/train, val: "", val_fraction: 0, height: 32, width: 32}
train: {batch_size: 4, steps: 1, workers: 1}
YAML
head='Number,Translator,Chinese Sentences,Gloss,Note'
numbers=$(sed '1d;s/,.*//' set/train.csv)
first=$(echo "$numbers" | sed -n 1p)

# spoil NAME: a copy of the set
spoil() {
    rm -rf "${work:?}/$1"
    cp -r set "$1"
}
# clip NAME ID: its folder
clip() { ls -d "$1"/train/*/"$2"; }
# refused CODE NAME PATTERN...: check (as a training would judge it) and training say so
refused() {
    code=$1 name=$2
    shift 2
    expect "$code" "$captrain" check "$name/train" --config tiny.yaml
    cat out err >both
    for pattern in "$@"; do
        checks=$((checks + 1))
        grep -q -e "$pattern" both || fail "check does not say '$pattern'"
    done
    expect "$code" tiny "none-$name" --set "data.train=$name/train" --quiet
    for pattern in "$@"; do says "$pattern"; done
    checks=$((checks + 1))
    [ ! -e "none-$name/config.yaml" ] || fail "none-$name has become a run"
}

# --- label files ---
spoil header
sed -i 1d header/train.csv
refused 1 header "header/train.csv:1: the first line must name the columns: $head, or id|folder|signer|annotation"
spoil twice
sed -n 2p set/train.csv >>twice/train.csv
lines=$(wc -l <twice/train.csv)
refused 1 twice "twice/train.csv:$lines: $first is in line 2 already"
spoil quote
printf 'train-90001,A,"open,gloss,\n' >>quote/train.csv
refused 1 quote "quote/train.csv:$lines: the quote opened here is not closed"
spoil away
printf '../../set,A,x,gloss,\n' >>away/train.csv
refused 1 away "away/train.csv:$lines: '../../set' is no name of a clip"
spoil empty
: >empty/train.csv
refused 1 empty 'empty/train.csv:1: the first line must name the columns'
spoil none
rm none/train.csv
refused 1 none 'there is no label file for its clips (looked for none/train.csv, none/train.corpus.csv, none/train/../../train.csv, '

# --- the folder above the sets ---
for config in '' '--config tiny.yaml'; do
    # shellcheck disable=SC2086
    expect 1 "$captrain" check set $config
    says 'set: is no set of clips, but above some; name one of them: set/dev, set/test, set/train$'
done
expect 1 tiny above --set data.train=set
says 'above some; name one of them: set/dev'
mkdir outer
cp -r set outer/video
expect 1 "$captrain" check outer
says 'name one of them: outer/video/dev, outer/video/test, outer/video/train$'
# label files beside folders of pictures of another kind are nothing to go by
mkdir -p texts/a
printf 'file,text\n' >texts/a.csv
expect 1 "$captrain" check texts
says 'no PNG, JPEG, BMP or WebP pictures in this folder'

# --- what clips have not ---
expect 2 tiny stream --set data.train=synth:gestures --set data.synth.fresh=true
says 'data.synth.fresh: clips are drawn once, before the training'

# --- glosses ---
spoil bracket
sed "s|^$first,\([^,]*\),\([^,]*\),.*|$first,\1,\2,GO/SEE(you/ME,|" set/train.csv >bracket/train.csv
refused 1 bracket "$first: line 2 of bracket/train.csv: nothing closes the bracket in 'SEE(you'"

# --- rows and folders ---
spoil rows
a=$(echo "$numbers" | sed -n 2p) b=$(echo "$numbers" | sed -n 3p) c=$(echo "$numbers" | sed -n 4p) d=$(echo "$numbers" | sed -n 5p)
e=$(echo "$numbers" | sed -n 6p) f=$(echo "$numbers" | sed -n 7p)
long=$(yes g | head -180 | tr '\n' /)
awk -F, -v a="$a" -v b="$b" -v c="$c" -v long="$long" \
    '$1 == a { next } $1 == b { $0 = b ",A,x,(you)/{me}," } $1 == c { $0 = c ",A,x," long "," } { print }' \
    set/train.csv >rows/train.csv
rm -r "$(clip rows "$d")"
mv "$(clip rows "$e")" saved
: >"$(dirname "$(clip rows "$first")")/$d.mp4"
mkdir "$(dirname "$(clip rows "$first")")/$e"
rm "$(clip rows "$f")/00003.jpg"
refused 1 rows "$a: rows/train.csv has no row for it" "$b: line 3 of rows/train.csv: no gloss is left of '(you)/{me}'" \
    "$c: its 180 glosses need 359 time steps" "$f: after frame 00002.jpg comes 00004.jpg: 1 are missing"
expect 1 "$captrain" check rows/train --config tiny.yaml --json
for word in label unreadable steps; do prints "\"$word\":[1-9]"; done
mv out check.json
expect 0 "$CT_BUILDDIR/tests/json/check_schema" "$CT_SRCDIR/doc/json/check.schema.json" check.json
spoil video
signer=$(dirname "$(clip video "$first")")
rm -r "$(clip video "$first")"
: >"$signer/$first.mp4"
refused 1 video "$first.mp4: is a video; clips are folders of pictures, which .*ffmpeg"
spoil sizes
"$captrain" gen gestures --out big --count 20 --seed 5 --glosses 5 --signers 2 --length 1-3 --size 40 2>/dev/null
cp "$(clip big "$first")/00002.jpg" "$(clip sizes "$first")"
refused 1 sizes "$first.*: frame .*00002.jpg has 40x40 pixels"
expect 0 tiny tolerant --set data.train=video/train --set data.max_bad=1
says "$first.*is a video"

# --- words ---
spoil words
sed -i "s/^\($a,[^,]*,[^,]*\),[^,]*/\1,zoo/" words/train.csv
expect 0 tiny run --quiet
expect 1 "$captrain" eval run words/train --threads 1
says "$a: the word 'zoo' is not in the vocabulary"
expect 0 "$captrain" eval run words/train --labels set/train.csv --threads 1
prints '^samples  *[1-9]'
expect 1 "$captrain" eval run words/train --labels set/none.csv --threads 1
says 'set/none.csv'
expect 0 "$captrain" check words/train --labels set/train.csv --json
prints '"words":5'
expect 1 "$captrain" check words/train --labels set/train.csv/x
expect 1 "$captrain" check words/train --labels set/train.csv --config quickstart
says 'set/train.csv:1: 5 fields and no header'
checks=$((checks + 1))
grep -q '"vocab_size": 6' run/vocabulary.json || fail 'run/vocabulary.json: not 6 classes'

# --- one folder for two sets, with two label files: neither may be taken for the other's ---
sed 's/gloss/zoo/' set/train.csv >zoo.csv
expect 2 tiny no --set data.val=set/train/ --set data.val_labels=zoo.csv
says 'data.train and data.val are one folder, set/train/, but data.train_labels and data.val_labels are not one file'
expect 2 tiny no --set data.train_labels=set/train.csv --set data.test=set/train --set data.test_labels=zoo.csv
says 'data.train and data.test are one folder'
expect 0 tiny same --set data.train_labels=set/train.csv --set data.val=set/train --set data.val_labels=set/train.csv --quiet
sed "s/^\($a,[^,]*,[^,]*\),[^,]*/\1,zoo/" set/train.csv >zoo.csv
expect 1 "$captrain" eval same set/train --labels zoo.csv --threads 1
says "$a: the word 'zoo' is not in the vocabulary"

# --- whose folder it is: by the label file, however broken, or by numbered pictures in folders of folders ---
for name in words twice none; do
    expect 1 "$captrain" train quickstart --threads 1 --set "data.train=$name/train" --out no
    says 'holds samples for gloss models, not for text models'
done
expect 1 "$captrain" check none/train
says 'there is no label file for its clips (looked for none/train.csv'
expect 1 "$captrain" check twice/train
says "is in line 2 already"
cp -r none lists
printf 'a.png,AB\n' >lists/train/labels.csv
expect 1 "$captrain" check lists/train
checks=$((checks + 1))
if grep -q 'label file for its clips' err; then fail 'a folder with labels.csv is taken for clips'; fi
(cd words/train && "$captrain" check . --json) >out 2>err || fail 'check . inside of a folder of clips'
prints '"clips":17'
finish
