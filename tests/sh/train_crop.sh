#!/bin/sh
# data.crop from outside: a model that sees a square of each image trains to the same bits whatever the workers and over a
# resume, and eval, predict and the run itself agree about the square in the middle.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
epochs=10
[ -z "${CT_QUICK:-}" ] || epochs=2
cat >"$work/tiny.yaml" <<YAML
name: crop
model: {name: textcnn-small, width: 0.5, hidden: 32}
data:
  train: synth:text
  charset: "0123"
  height: 24
  width: 28
  crop: 20
  synth: {style: plain, count: 600, val_count: 100, length: 1}
optimizer: {ema_decay: 0.9, lr: 3e-3}
schedule: {name: constant}
train: {batch_size: 20, epochs: $epochs, workers: 0}
log: {interval_steps: 5}
YAML

# number KEY: a number of the JSON object in $work/out
number() { sed -n "s/^  \"$1\": \([-0-9.e]*\),\{0,1\}\$/\1/p" "$work/out" | head -1; }

# equal WHAT A B
equal() {
    checks=$((checks + 1))
    [ -n "$2" ] && [ "$2" = "$3" ] || fail "$1: '$2' and '$3'"
}

expect 0 tiny run
says '20x20x1 pixels'
hash=$(value weights_hash run)

# --- the crop is part of what weights follow from, and workers and interruptions are not ---
expect 0 tiny workers --set train.workers=3 --quiet
same weights_hash run workers
expect 0 tiny parts --set train.steps=13 --quiet
expect 0 tiny parts --resume --quiet
same weights_hash run parts
expect 0 tiny whole --set data.crop=0 --set data.height=20 --set data.width=20 --quiet
checks=$((checks + 1))
[ "$(value weights_hash whole)" != "$hash" ] || fail "crops of 24 x 28 pixels train to the weights of 20 x 20 pixels"
expect 2 tiny parts --resume --set data.crop=16
says 'data.crop (20 -> 16)'

# --- the square in the middle, each time the same ---
model=$work/run/checkpoints/best.safetensors
expect 0 "$captrain" gen text --out "$work/set" --count 60 --seed 7 --charset 0123 --length 1 --width 28 --height 24 --style plain
expect 0 "$captrain" eval "$model" "$work/set" --json --threads 1 --batch 7
share=$(number string_accuracy)
expect 0 "$captrain" eval "$model" "$work/set" --json --threads 2 --batch 60
equal 'eval in another batch' "$(number string_accuracy)" "$share"
expect 0 "$captrain" predict "$model" "$work/set" --threads 1
right=$(awk -F '\t' '{ n = split($1, p, "/"); split(p[n], q, "_"); if (q[1] "" == $2 "") ok++ } END { print ok / NR }' "$work/out")
checks=$((checks + 1))
awk -v a="$right" -v b="$share" 'BEGIN { d = a - b; exit !(d < 1e-6 && d > -1e-6) }' ||
    fail "predict reads $right of the pictures, eval says $share"
cp "$work/out" "$work/all"
one=$(ls "$work"/set/*.png | head -1)
expect 0 "$captrain" predict "$model" "$one" --threads 1
equal 'a picture alone' "$(cat "$work/out")" "$(grep -F "$one" "$work/all")"
if [ -z "${CT_QUICK:-}" ]; then
    checks=$((checks + 1))
    awk -v b="$share" 'BEGIN { exit !(b > 0.8) }' || fail "the model reads $share of what is in the middle"
fi
expect 0 "$captrain" eval "$model" synth:text --json --threads 1

# --- where there is no such thing ---
expect 2 tiny no --set data.crop=25
says 'data.crop is 25 but data.height is 24'
expect 2 tiny no --set model.name=crnn-small
says 'data.crop: model.name: crnn-small reads images of any width'
expect 2 tiny no --set data.size_rule=letterbox
says 'data.crop: data.size_rule: letterbox pads images'
expect 2 tiny no --set augment.flip=0.5
says 'augment.flip: .*mirrored characters are other characters'
finish
