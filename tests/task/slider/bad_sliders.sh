#!/bin/sh
# Slider folders with something wrong in them: every fault is named with its file, by check, training and evaluation.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
config=$CT_SRCDIR/tests/task/slider/slider.yaml

# entry NAME GAP PIECE MORE: an entry of all_labels.json
entry() {
    printf '{"paths":{"composite":"captchas/%s"},"labels":{"bg_gap_center":[%s],"comp_piece_center":[%s]}%s}' \
        "$1" "$2" "$3" "$4"
}

# spoil NAME: a folder of its own, whose labels are read from stdin, one entry a line
spoil() {
    rm -rf "${work:?}/$1"
    cp -r "$work/drawn" "$work/$1"
    { echo '['; sed '$!s/$/,/'; echo ']'; } >"$work/$1/labels/all_labels.json"
}

# refused DIR PATTERN...: check, training and evaluation all say so
refused() {
    dir=$work/$1
    shift
    expect 1 "$captrain" check "$dir" --config "$config"
    for pattern in "$@"; do prints "$pattern"; done
    expect 1 "$captrain" train "$config" --threads 1 --out "$work/none" --set "data.train=$dir" --quiet
    for pattern in "$@"; do says "$pattern"; done
}

expect 0 "$captrain" gen slider --out "$work/drawn" --count 8 --seed 6 --width 320 --height 160
mkdir "$work/plain"
n=0
for file in "$work/drawn"/captchas/*.png; do
    n=$((n + 1))
    cp "$file" "$work/plain/$n.png"
done

# --- names ---
mkdir "$work/named"
cp "$work/plain/1.png" "$work/named/Pic0001_Bgx200Bgy80_Sdx40Sdy80_0a1b2c3d.png"
cp "$work/plain/2.png" "$work/named/Pic0002_Bgx9000Bgy80_Sdx40Sdy80_0a1b2c3d.png"
cp "$work/plain/3.png" "$work/named/Pic0003_Bgx40Bgy80_Sdx40Sdy80_0a1b2c3d.png"
cp "$work/plain/4.png" "$work/named/Pic0004_Bgx200Bgy20_Sdx40Sdy140_0a1b2c3d.png"
cp "$work/plain/5.png" "$work/named/Pic0005_Bgx200_Sdx40Sdy140.png"
refused named 'Pic0002.*: the gap at 9000, 80 is outside of the picture (320x160 pixels)' \
    'Pic0003.*: the gap at 40, 80 and the piece at 40, 80 overlap' 'Pic0004.*: in different rows' \
    'Pic0005_Bgx200_Sdx40Sdy140.png: has no label'

# --- JSON ---
rm "$work/drawn"/captchas/*.png
cp "$work/plain"/[12345678].png "$work/drawn/captchas"
mv "$work/drawn/captchas/1.png" "$work/drawn/captchas/Pic0001_Bgx200Bgy80_Sdx40Sdy80_0a1b2c3d.png"
{
    entry Pic0001_Bgx200Bgy80_Sdx40Sdy80_0a1b2c3d.png 202,80 40,80 ''; echo
    entry 2.png 200,80 40,80 ',"image_size":{"width":512,"height":256}'; echo
    entry 3.png 200,80 40,80 ',"augmented_labels":{"fake_gaps":[{"center":[201,80]}]}'; echo
    entry 4.png 0.6,0.5 40,80 ''; echo
    entry 5.png 200,80 40 ''; echo
    printf '{"sample_id":"6","labels":{"bg_gap_center":[200,80],"comp_piece_center":[40,80],"gap_pose":{"angle":0.02}}}\n'
    printf '{"sample_id":"7"}\n'
    entry absent.png 200,80 40,80 ''; echo
} | spoil faults
refused faults 'Pic0001.*: its name says gap 200, 80 and piece 40, 80, its label gap 202, 80' \
    '2.png: its label is for a picture of 512x256 pixels (image_size), the picture has 320x160' \
    '3.png: a fake gap at 201, 80 is on the gap' '4.png: .*shares of the picture' \
    '5.png: labels.comp_piece_center is not \[x, y\] in pixels' "6.png: .*has 'angle', whose unit is not said" \
    "7.png: its label has no 'labels'" '8.png: not in .*all_labels.json' 'absent.png: entry 8 of .*no such picture'
expect 1 "$captrain" check "$work/faults" --config "$config" --json
for word in name units fake label unreadable; do prints "\"$word\":[1-9]"; done
mv "$work/out" "$work/check.json"
expect 0 "$CT_BUILDDIR/tests/json/check_schema" "$CT_SRCDIR/doc/json/check.schema.json" "$work/check.json"

# --- files that are no such folders ---
cp -r "$work/faults" "$work/half"
head -c 200 "$work/faults/labels/all_labels.json" >"$work/half/labels/all_labels.json"
expect 1 "$captrain" check "$work/half" --config "$config"
says 'half/labels/all_labels.json:[0-9]*:[0-9]*: not valid JSON'
mkdir -p "$work/npy/images/train"
: >"$work/npy/images/train/images_0000.npy"
expect 1 "$captrain" check "$work/npy" --config "$config"
says 'holds preprocessed batches (images/train/images_0000.npy).*captchas/ and labels/all_labels.json'
refused plain '1.png: has no label: its name is not like Pic0001_'
expect 0 "$captrain" gen text --out "$work/texts" --count 4 --seed 1
refused texts 'has no label: its name is not like Pic0001_'
expect 1 tiny none --set "data.train=$work/faults" --quiet
says 'faults: holds samples for slider models, not for text models'

# --- the whole: one background on both sides, places on a grid ---
rm -rf "$work/grid" "$work/val"
mkdir "$work/grid" "$work/val"
n=0
for a in 0 1 2 3 4; do
    for b in 1 2 3 4 5; do
        cp "$work/plain/1.png" "$work/grid/Pic0001_Bgx200Bgy80_Sdx40Sdy80_00000$a$b.png"
    done
done
cp "$work/plain/2.png" "$work/val/Pic0001_Bgx180Bgy80_Sdx40Sdy80_0a1b2c3d.png"
cp "$work/plain/3.png" "$work/val/Pic0007_Bgx190Bgy81_Sdx40Sdy81_0a1b2c3d.png"
expect 1 "$captrain" check "$work/grid" --config "$config"
prints 'places on a grid: 25 samples such as Pic0001.*00000.*\.png have 1 places'
expect 1 "$captrain" check "$work/grid" --config "$config" --set "data.val=$work/val"
prints 'training/Pic0001.* validation/Pic0001_Bgx180'
prints 'backgrounds (Pic numbers) are in both training and validation'

# --- a split keeps backgrounds whole ---
rm -rf "$work/one"
mkdir "$work/one"
cp "$work/plain/1.png" "$work/one/Pic0001_Bgx200Bgy80_Sdx40Sdy80_0a1b2c3d.png"
cp "$work/plain/2.png" "$work/one/Pic0001_Bgx201Bgy80_Sdx41Sdy80_0a1b2c3e.png"
expect 1 "$captrain" train "$config" --threads 1 --out "$work/none" --set "data.train=$work/one" --quiet
says 'data.val_fraction: .*all 2 samples belong together'

# --- a picture so thin that no cell lies within it: 400x2 pixels ---
mkdir "$work/thin"
{
    printf '\211PNG\015\012\032\012\000\000\000\015IHDR\000\000\001\220\000\000\000\002\001\000\000\000\000\136\035\267\235'
    printf '\000\000\000\017IDATx\332cXE2\140\040\135\013\000\073\341Bi7\330\012\247\000\000\000\000IEND\256B\140\202'
} >"$work/thin/Pic0001_Bgx200Bgy1_Sdx40Sdy1_0a1b2c3d.png"
refused thin 'Pic0001_Bgx200Bgy1_.*: of 400x2 pixels 128x1 would be left in 128x64, which is too thin to be read'
expect 0 "$captrain" train "$config" --threads 1 --out "$work/any" --set train.steps=1 --quiet
expect 1 "$captrain" predict "$work/any" "$work/thin" --threads 1
says 'Pic0001_Bgx200Bgy1_.*too thin to be read'
finish
