#!/bin/sh
# Models that give points or read clips as ONNX, from outside: every one leaves, is proved, and is refused with the name of what was
# changed in it; and what ONNX Runtime reads with the lines of doc/onnx.md, where it is.
. "${CT_SRCDIR:?}/tests/sh/onnx_util.sh"

steps=40 epochs=20 sizes="slider hrnet-w32" samples=16 opsets="11 20"
[ -z "${CT_QUICK-}" ] || { steps=10 epochs=12 sizes=slider samples=6 opsets=17; }
# What clips are read as is compared with ONNX Runtime's readings without sanitizers alone.
[ -z "${CT_SANITIZERS-}" ] || epochs=2
"$captrain" gen gestures --out set --count 40 --seed 3 --glosses 3 --signers 2 --length 1-2 --size 32 -q || fail "gen gestures"
cat >points.yaml <<YAML
name: points
model: {name: slider-small, width: 0.25}
data: {train: synth:slider, height: 128, width: 224, mean: [0.6], std: [0.3], synth: {count: 160, val_count: 16}}
optimizer: {lr: 3e-3}
train: {batch_size: 16, steps: $steps, epochs: 9, workers: 0}
YAML
cat >clips.yaml <<YAML
name: clips
model: {name: tfnet-small, width: 0.5, hidden: 32}
data: {train: set/train, val: set/test, height: 32, width: 32, crop: 24, mean: [0.5], std: [0.5]}
optimizer: {lr: 5e-3, clip_grad_norm: 1}
schedule: {name: constant}
loss: {kd_weight: 0}
train: {batch_size: 4, epochs: $epochs, workers: 0}
YAML
mkdir -p runs
for name in points clips; do
    "$captrain" train $name.yaml --threads 1 --out runs/$name -q || fail "a short training of $name"
done
for name in $sizes; do
    "$captrain" train points.yaml --set model.name="$name" \
        --set train.steps=12 --set train.batch_size=2 --set data.synth.val_count=4 --threads 1 --out "runs/$name" -q || fail "a few steps of $name"
done
"$captrain" train clips.yaml --set model.name=tfnet --set model.width=0.125 --set model.hidden=16 --set train.steps=1 --threads 1 \
    --out runs/tfnet -q || fail "a step of tfnet"

# --- the proof ---
for name in points clips $sizes tfnet; do
    "$captrain" export "runs/$name" --format onnx --out "$name.onnx" --prove 16 >out 2>&1 || { cat out; fail "export of $name"; }
    grep -q "read as the model reads them" out || fail "export of $name does not say what it checked"
done
for name in points clips; do
    "$captrain" export "runs/$name" --format onnx --no-fold --normalise outside --out "$name.2.onnx" --prove 4 -q ||
        fail "export of $name with its norms"
    "$captrain" export "runs/$name" --check "$name.2.onnx" --prove 4 -q || fail "$name.2.onnx, which was just written, is refused"
done
"$captrain" export runs/clips --check clips.onnx >out 2>&1
grep -q "clips (set/test) are read" out || { cat out; fail "the clips of the proof"; }
refused "ddddocr has no use for slider-small" runs/points --for ddddocr --out d.onnx
refused "it is not what export writes of this model" runs/tfnet --check clips.onnx

# --- what was changed is named ---
at=$(LC_ALL=C grep -obUa 'fpn_sm.0.conv.weightJ' points.onnx | head -n 1 | cut -d: -f1)
[ -n "$at" ] || fail "no weight found in the file"
cp points.onnx w.onnx
printf '\101\101\101' | dd of=w.onnx bs=1 seek=$((at + 400)) conv=notrunc 2>dd.log
refused "w.onnx: initializer fpn_sm.0.conv.weight" runs/points --check w.onnx
LC_ALL=C sed 's/half_pixel/half_pixeL/' points.onnx >n.onnx
refused "n.onnx: node fuse.0.up" runs/points --check n.onnx
LC_ALL=C sed 's/Sqrt/Relu/' clips.onnx >n.onnx
refused "n.onnx: node spectrum" runs/clips --check n.onnx
LC_ALL=C sed 's/heat_piece_logit/heat_Piece_logit/g' points.onnx >n.onnx
refused "n.onnx: output heat_piece_logit" runs/points --check n.onnx
# where the run's own clips are gone, others are drawn
mv set/test set/gone
"$captrain" export runs/clips --check clips.onnx --prove 4 >out 2>&1 || { cat out; fail "a proof with drawn clips"; }
grep -q "synth:gestures, as the run's own clips set/test are not here" out || { cat out; fail "the proof does not say that its clips are drawn"; }
mv set/gone set/test

# --- what ONNX Runtime reads ---
seen="" few=runs/tfnet
for name in $sizes; do few="$few runs/$name"; done
# Programs with sanitizers round otherwise, and what a few epochs of clips come to may be one reading for all.
able="runs/points runs/clips"
[ -z "${CT_SANITIZERS-}" ] || { able=runs/points few="$few runs/clips"; }
for python in python3 ${CT_PYTHONS:-}; do
    # Lists of several words.
    # shellcheck disable=SC2086
    "$python" "$CT_SRCDIR/tests/onnx/tasks.py" "$captrain" work "$CT_SRCDIR/doc/onnx.md" $able --untrained $few \
        --samples $samples --size 224x100 --clips set/train --opset $opsets --threads 1 --scores "$CT_BUILDDIR/tests/pickle/scores"
    case $? in
    0) seen="$seen $python" ;;
    77) ;;
    *) fail "other answers" ;;
    esac
done
[ -n "$seen" ] || echo "left out: ONNX Runtime's answers"
