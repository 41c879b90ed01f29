#!/bin/sh
# gen --like: what is drawn can be read by the model it is like, also where the default characters could not.
. "$(dirname "$0")/lib.sh"
cat >"$work/c.yaml" <<END
model: {name: textcnn-small, width: 0.25}
data: {train: synth:text, charset: XYZ, height: 24, width: 48, synth: {style: plain, count: 32, val_count: 16, length: 3}}
train: {epochs: 1, batch_size: 16, threads: 1}
END
expect 0 "$captrain" train "$work/c.yaml" --out "$work/run"
expect 0 "$captrain" gen text --out "$work/other" --count 10 --length 3 --width 48 --height 24
expect 1 "$captrain" eval "$work/run" "$work/other"
says 'is not in the charset'
for like in run c.yaml run/checkpoints/best.safetensors; do
    expect 0 "$captrain" gen text --out "$work/drawn" --count 10 --seed 3 --like "$work/$like" --force
    expect 0 "$captrain" eval "$work/run" "$work/drawn" --json
    prints '"samples": *10'
    expect 0 "$captrain" check "$work/drawn"
    prints ' 48 x 24  *10$'
done
# what is given goes first
expect 0 "$captrain" gen text --out "$work/given" --count 4 --like "$work/run" --charset X --length 2
for f in "$work"/given/*.png; do case ${f##*/} in XX_*) ;; *) fail "$f is drawn" ;; esac; done
expect 2 "$captrain" gen slider --out "$work/s" --count 1 --like "$work/run"
says 'does not depend on a model'
expect 2 "$captrain" gen text --out "$work/none" --like "$work/nowhere"
finish
