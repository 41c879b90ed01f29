#!/bin/sh
# Label files of every layout, good and spoilt: `check` finds them by their names, and never takes a file's name for a label.
. "$(dirname "$0")/lib.sh"

# Twelve pictures 01.png ... whose names say nothing; their labels in $work/words
expect 0 "$captrain" gen text --out "$work/drawn" --count 12 --seed 5 --charset abc --length 3 --width 48 --height 24
mkdir "$work/pictures"
n=0
for f in "$work"/drawn/*.png; do
    n=$((n + 1))
    name=$(printf '%02d.png' "$n")
    cp "$f" "$work/pictures/$name"
    label=${f##*/}
    printf '%s %s\n' "$name" "${label%%_*}" >>"$work/words"
done

# layout NAME FOLDER FORMAT [HEADER]: $work/d with pictures in FOLDER and the list NAME, whose lines are FORMAT with name and label
layout() {
    rm -rf "$work/d"
    mkdir -p "$work/d/$2"
    cp "$work"/pictures/*.png "$work/d/$2"
    [ $# -lt 4 ] || printf '%b\n' "$4" >"$work/d/$1"
    # shellcheck disable=SC2059
    while read -r name label; do printf "$3\n" "$name" "$label"; done <"$work/words" >>"$work/d/$1"
}

# good FILE: $work/d can be used, labels come from FILE
good() {
    expect 0 "$captrain" check "$work/d" --json
    prints '"train":12'
    prints '"charset":"abc"'
    prints "\"labels_from\":{\"train\":\"[^\"]*$1\""
}

layout labels.txt . '%s %s'
good labels.txt
layout labels.csv images '%s,%s' 'filename,words'
good labels.csv
layout labels.tsv . '%s\t%s' 'image_name\tgt'
good labels.tsv
layout labels.csv . '7,%s,%s' ',image_path,text'
good labels.csv
layout labels.csv . '%s,3,%s' 'img_path,width,transcription'
good labels.csv
layout gt.txt . '%s, "%s"'
good gt.txt
layout gt.txt . '%s %s'
good gt.txt
layout gt.txt test 'test/%s\t%s'
good gt.txt
layout metadata.csv . '%s,%s' 'file_name,text'
good metadata.csv
layout metadata.jsonl train '{"file_name": "train/%s", "text": "%s"}'
good metadata.jsonl
layout rec_gt_train.txt train 'train_data/rec/train/%s\t%s'
good rec_gt_train.txt

# one epoch and its evaluation, from a list of another program
cat >"$work/c.yaml" <<END
model: {name: textcnn-small, width: 0.25}
data: {height: 24, width: 48, val_fraction: 0.25}
train: {epochs: 1, batch_size: 4, threads: 1}
END
expect 0 "$captrain" train "$work/c.yaml" --set "data.train=$work/d" --out "$work/run"
expect 0 "$captrain" eval "$work/run" "$work/d"
expect 0 "$captrain" eval "$work/run" "$work/d/rec_gt_train.txt"

# MJSynth: the label is in the middle of the name
rm -rf "$work/d"
mkdir -p "$work/d/2425/1"
while read -r name label; do
    cp "$work/pictures/$name" "$work/d/2425/1/${name%.png}_${label}_454.png"
    echo "./2425/1/${name%.png}_${label}_454.png 454"
done <"$work/words" >"$work/d/annotation_train.txt"
good annotation_train.txt
sed 's/ 454$//' "$work/d/annotation_train.txt" >"$work/d/imlist.txt"
rm "$work/d/annotation_train.txt"
good imlist.txt

# --- any other name, by the key; a list instead of a folder; pictures elsewhere; absolute names ---
layout train.csv . '%s;%s' 'img;label'
expect 1 "$captrain" check "$work/d"
says 'train.csv: a list of pictures that is not read'
expect 0 "$captrain" check "$work/d" --labels train.csv --json
prints '"charset":"abc"'
cp "$work/pictures/01.png" "$work/d/not-listed.png"
expect 0 "$captrain" check "$work/d/train.csv" --json
prints '"charset":"abc"'
prints '"samples":{"train":12'
expect 0 "$captrain" check "$work/d" --config "$work/c.yaml" --set data.labels=train.csv
while read -r name label; do printf '%s\t%s\n' "$work/pictures/$name" "$label"; done <"$work/words" >"$work/elsewhere.txt"
expect 0 "$captrain" check "$work/elsewhere.txt" --config "$work/c.yaml" --set "data.root=$work/pictures"
expect 1 "$captrain" check "$work/elsewhere.txt" --config "$work/c.yaml" --set "data.root=$work/drawn"
prints 'leads out of the folder (data.root'
expect 1 "$captrain" check "$work/elsewhere.txt" --config "$work/c.yaml" --set "data.root=$work/none"
says 'data.root: .*none: is no folder'

# --- texts with blanks, commas and quotes ---
rm -rf "$work/d"
mkdir "$work/d"
cp "$work/pictures/01.png" "$work/pictures/02.png" "$work/d"
printf '01.png, "a \\"b\\", c"\n02.png, "\\\\"\n' >"$work/d/gt.txt"
expect 0 "$captrain" check "$work/d" --json
prints '"charset":" \\",\\\\abc"'
printf 'filename,words\n01.png,1,234\n02.png,"5, 6"\n' >"$work/d/labels.csv"
rm "$work/d/gt.txt"
expect 0 "$captrain" check "$work/d" --json
prints '"charset":" ,123456"'

bytes() { env printf "$@"; } # with \\xHH, which not every shell's own has

# --- spoilt: exit 1, file and line, what to do ---
spoilt() { # WHAT PATTERN
    expect 1 "$captrain" check "$work/d"
    cat "$work/out" >>"$work/err"
    says "$1"
    expect 1 "$captrain" train "$work/c.yaml" --set "data.train=$work/d" --out "$work/never"
    cat "$work/out" >>"$work/err"
    says "$1"
    [ ! -e "$work/never/checkpoints" ] || fail "it was trained"
}
printf 'filename,words\n01.png,"a\n02.png,b\n' >"$work/d/labels.csv"
spoilt 'labels.csv:2: the quote opened here is not closed'
printf 'filename,words\n01.png,"a\n02.png,"b"\n' >"$work/d/labels.csv"
spoilt 'labels.csv:2: the quote opened here is not closed: the next one, in line 3'
printf '01.png,a\n02.png,\n' >"$work/d/labels.csv"
expect 1 "$captrain" train "$work/c.yaml" --set "data.train=$work/d" --out "$work/never"
says '02.png: line 2 of the label file has no label'
expect 0 "$captrain" check "$work/d"
prints '02.png: line 2 of the label file has no label'
prints 'good: every picture can be read, but 1 of 2 samples has no usable label'
printf '01.png\n02.png\n' >"$work/d/labels.csv"
spoilt 'line 1 of the label file has no label'
printf 'file,n,text\n01.png,1,a,b\n02.png,2,c\n' >"$work/d/labels.csv"
spoilt 'labels.csv:2: 4 fields, the first line has 3; .*quotes'
printf 'file,label,text\n01.png,1,a\n' >"$work/d/labels.csv"
spoilt 'labels.csv:1: the header names two label columns, label and text'
printf '0,01.png,a\n' >"$work/d/labels.csv"
spoilt 'labels.csv:1: 3 fields and no header'
: >"$work/d/labels.csv"
spoilt 'labels.csv: lists no pictures'
printf '01.png,a\n02.png,b\nmissing.png,a\n' >"$work/d/labels.csv"
spoilt 'missing.png: named in line 3 of the label file, but there is no such file'
printf 'Bild,Wort\n01.png,a\n02.png,b\n' >"$work/d/labels.csv"
spoilt 'Bild: named in line 1 of the label file, but there is no such file; if this is a header, call its columns filename and label'
printf '01.png,a\n' >"$work/d/labels.csv"
expect 1 "$captrain" train "$work/c.yaml" --set "data.train=$work/d" --out "$work/never"
says '02.png: not in the label file'
printf '01.png, "a"\n02.png, "b\n' >"$work/d/gt.txt"
spoilt 'gt.txt: there is labels.csv, too; .*data.labels'
rm "$work/d/labels.csv"
spoilt 'gt.txt:2: the quote opened here is not closed'
rm "$work/d/gt.txt"
printf '01.png\ta\n["02.png", "03.png"]\tb\n' >"$work/d/rec_gt.txt"
spoilt 'rec_gt.txt:2: a list of alternative pictures'
rm "$work/d/rec_gt.txt"
printf '{"file_name": "01.png", "text": "a"}\n{"file_name": "02.png", "text": 7}\n' >"$work/d/metadata.jsonl"
spoilt 'metadata.jsonl:2: text is no text: a label needs quotes'
printf '{"file_name": "01.png", "text": "a"}\n{"file_name": \n' >"$work/d/metadata.jsonl"
spoilt 'metadata.jsonl:2: is no JSON object'
rm "$work/d/metadata.jsonl"
printf '01.png,a\n02.png,b\n' >"$work/d/metadata.csv"
spoilt 'metadata.csv:1: the first line is no header'
rm "$work/d/metadata.csv"
printf '[{"file_name": "01.png", "text": "a"}, {"file_name": "02.png", "text": "b"}]\n' >"$work/d/labels.json"
spoilt 'labels.json: a list of pictures that is not read'
expect 1 "$captrain" check "$work/d" --labels labels.json
says 'labels.json: a list in one piece of JSON is not read; as metadata.jsonl it has a line {"file_name"'
rm "$work/d/labels.json"

# other encodings, with the command that helps
bytes '01.png,\xd6\xd0\xb9\xfa\n02.png,\xce\xc4\xd7\xd6\n' >"$work/d/labels.csv" # GBK
spoilt "labels.csv: is not UTF-8 but, by its bytes, GBK.*iconv -f GBK -t UTF-8 '.*labels.csv' >utf8.txt && mv utf8.txt '.*labels.csv'"
bytes '01.png,\x82\xa0\x82\xa2\n02.png,\x93\xfa\x96\x7b\n' >"$work/d/labels.csv" # Shift-JIS
spoilt 'by its bytes, Shift-JIS.*iconv -f CP932'
bytes '\xff\xfe0\x001\x00.\x00p\x00n\x00g\x00,\x00a\x00\n\x00' >"$work/d/labels.csv"
spoilt 'is UTF-16; .*iconv -f UTF-16 -t UTF-8'
bytes '0\x001\x00.\x00p\x00n\x00g\x00,\x00a\x00\n\x00' >"$work/d/labels.csv"
spoilt 'is UTF-16; .*iconv -f UTF-16LE'

# --- one label for all; composed and decomposed names; what nobody sees ---
bytes '01.png,word\n02.png,word\n' >"$work/d/labels.csv"
expect 0 "$captrain" check "$work/d"
says 'all 2 usable samples have the label "word"'
bytes '01.png,\xc3\xa9\n02.png,e\xcc\x81\n' >"$work/d/labels.csv" # e with acute, one character and two
expect 0 "$captrain" check "$work/d"
prints 'charset, 1 characters: "é"$'
# labels are composed, a charset is taken as it stands: one in pieces is told so
expect 1 "$captrain" train "$work/c.yaml" --set "data.train=$work/d" --set "data.charset=$(bytes 'xe\xcc\x81')" --out "$work/never"
says "character 'é' (U+00E9) is not in the charset .*, which has it in pieces (NFD)"
expect 1 "$captrain" train "$work/c.yaml" --set "data.train=$work/d" --set data.charset=xe --out "$work/never"
says "character 'é' (U+00E9) is not in the charset \"xe\"\$"
# a mark that composes with nothing is a character of its own, and is not drawn on its neighbour
bytes '01.png,x\xcc\xb8\n02.png,q\xcc\xb8\n' >"$work/d/labels.csv"
expect 0 "$captrain" check "$work/d"
prints 'charset, 3 characters: "qx\\u{338}"$'
bytes '01.png,a\xe2\x80\x8b\n02.png,b"\n' >"$work/d/labels.csv"
expect 0 "$captrain" check "$work/d"
prints 'charset, 4 characters: "\\"ab\\u{200b}"$'
prints 'U+200B ZERO WIDTH SPACE, which nobody sees: 1 times'
# Turkish: the dotted capital and the dotless small letter fold as Unicode's simple mapping says, in every locale
bytes '01.png,\xc4\xb0I\n02.png,iI\n' >"$work/d/labels.csv"
expect 0 env LC_ALL=tr_TR.UTF-8 "$captrain" check "$work/d" --config "$work/c.yaml" --set data.letter_case=lower --set data.val_fraction=0
prints 'charset, 1 characters: "i"$'
bytes '01.png,\xc4\xb1\n02.png,i\n' >"$work/d/labels.csv"
expect 0 "$captrain" check "$work/d" --config "$work/c.yaml" --set data.letter_case=upper --set data.val_fraction=0
prints 'charset, 1 characters: "I"$'
finish
