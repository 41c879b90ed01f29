#!/bin/sh
# Pictures of mixed sizes with labels of different lengths: `captrain check`, buckets, time steps, any script.
. "$(dirname "$0")/lib.sh"

# d: mixed widths, labels of 2 to 6 characters
mkdir "$work/d"
for width in 60 90 150; do
    expect 0 "$captrain" gen text --out "$work/w" --count 8 --seed "$width" --charset abc --length 2-6 --width "$width" --height 40 --force
    for i in "$work"/w/*.png; do
        name=${i##*/}
        mv "$i" "$work/d/${name%.png}_$width.png"
    done
done

# --- without a configuration: what is there ---
expect 0 "$captrain" check "$work/d"
prints 'samples: 24, usable: 24'
prints 'charset, 3 characters: "abc"'

# --- a model of fixed length does not take labels of several ---
cat >"$work/ctc.yaml" <<END
model: {name: crnn-small}
data: {train: x, height: 32, width: 128, size_rule: fit_height}
END
expect 1 "$captrain" check "$work/d" --config "$work/ctc.yaml" --set model.name=textcnn-small
prints 'NOT GOOD: .*fixed-length model'

# --- a CTC model does; the buckets are multiples of data.width_step at height 32: 48, 72 and 120 pixels of picture ---
ctc="--config $work/ctc.yaml"
# shellcheck disable=SC2086
expect 0 "$captrain" check "$work/d" $ctc --set data.max_bad=24
prints '^buckets'
prints '^ *64  *[0-9]*  *25.0 %'
prints '^ *96  *[0-9]*  *25.0 %'
prints '^ *128  *[0-9]*  *6.2 %'
prints '^time steps (CTC): [0-9]* of 24 labels'
# shellcheck disable=SC2086
expect 0 "$captrain" check "$work/d" $ctc --set data.width_step=8 --set data.max_bad=24
prints '^ *48  *[0-9]*  *0.0 %'

# --- a label longer than its picture: named, counted, tolerated on demand ---
one=$(for i in "$work"/d/*_60.png; do echo "$i"; break; done)
cp "$one" "$work/d/aabbccaabbccaabbccaabbcc_1.png"
# shellcheck disable=SC2086
expect 1 "$captrain" check "$work/d" $ctc
prints "aabbccaabbccaabbccaabbcc_1.png: label 'aabbccaabbccaabbccaabbcc' needs 36 time steps, the image of 48 pixels gives [0-9]"
prints 'NOT GOOD: training would fail'
# shellcheck disable=SC2086
expect 0 "$captrain" check "$work/d" $ctc --set data.max_bad=25 --json
prints '"steps": *[1-9]'
prints '"kind": *"steps"'
prints '"buckets": *\[{'
prints '"time_steps": *\[{'
# shellcheck disable=SC2086
expect 1 "$captrain" check "$work/d" $ctc --set data.length=5
prints 'has 24 characters, at most 5 are possible'
rm "$work/d/aabbccaabbccaabbccaabbcc_1.png"

# --- keys that do not fit each other ---
# shellcheck disable=SC2086
expect 2 "$captrain" check "$work/d" $ctc --set data.min_width=129
says 'data.min_width is 129 but data.width is 128'
# shellcheck disable=SC2086
expect 0 "$captrain" check "$work/d" $ctc --set data.size_rule=resize --set data.width_step=8 --set data.max_bad=24
says 'data.width_step.*fit_height'

# --- Chinese labels, in names and in a label file ---
mkdir "$work/zh" "$work/zl" "$work/zl/images"
n=0
for i in "$work"/d/*_150.png; do
    n=$((n + 1))
    case $((n % 3)) in
    0) text=中国 ;;
    1) text=国文字中 ;;
    *) text=文 ;;
    esac
    cp "$i" "$work/zh/${text}_$n.png"
    cp "$i" "$work/zl/images/$n.png"
    printf '%s\t%s\n' "$n.png" "$text" >>"$work/zl/labels.tsv"
done
for folder in zh zl; do
    # shellcheck disable=SC2086
    expect 0 "$captrain" check "$work/$folder" $ctc
    prints 'samples: 8, usable: 8'
    prints 'charset, 4 characters: "中国字文"'
done
finish
