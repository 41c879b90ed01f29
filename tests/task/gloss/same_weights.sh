#!/bin/sh
# Clips give the same weights whatever the workers, what the cache holds and how often the training dies: order, crops, mirrors,
# tempo and noise are functions of seed, epoch, clip and frame.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
cd "$work" || exit 99
expect 0 "$captrain" gen gestures --out set --count 12 --seed 5 --glosses 4 --signers 2 --length 1-2 --size 32
cat >tiny.yaml <<YAML
name: clips
model: {name: tfnet-small, width: 0.25, hidden: 8}
data: {train: set/train, val: set/dev, height: 32, width: 32, crop: 28, frames_step: 16, mean: [0.5], std: [0.5]}
augment: {tempo: 0.2, flip: 0.5, noise: 0.1, brightness: 0.1}
optimizer: {ema_decay: 0.9}
schedule: {name: constant}
train: {batch_size: 4, epochs: 2, workers: 0}
YAML
first=''
for cache in pixels files false; do
    for workers in 0 1 4; do
        expect 0 tiny $cache$workers --quiet --set data.cache=$cache --set train.workers=$workers
        same weights_hash ${first:=$cache$workers} $cache$workers
    done
done
# other noise gives other weights, so it was there
expect 0 tiny still --quiet --set augment.noise=0
checks=$((checks + 1))
[ "$(value weights_hash still)" != "$(value weights_hash "$first")" ] || fail 'augment.noise changes nothing'

kills=10 epochs=10
[ -n "${CT_QUICK-}" ] && kills=3 epochs=4
killed $kills 'weights_hash wer steps' --quiet --set train.epochs=$epochs --set checkpoint.every_steps=2 --set train.workers=2 \
    --set data.cache=files
finish
