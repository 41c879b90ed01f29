#!/bin/sh
# Training a model that reads texts of any length on pictures of mixed sizes: the same bits whatever the workers, recomputation, interruptions;
# and using the model.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

# pictures of three widths, labels of 1 to 3 characters
mkdir "$work/d"
for width in 60 90 150; do
    expect 0 "$captrain" gen text --out "$work/w" --count 25 --seed "$width" --charset 012 --length 1-3 --width "$width" --height 40 --style plain --force
    for i in "$work"/w/*.png; do
        name=${i##*/}
        mv "$i" "$work/d/${name%.png}_$width.png"
    done
done
cat >"$work/tiny.yaml" <<YAML
name: tiny-ctc
model: {name: crnn-small, width: 0.125, hidden: 12}
data: {train: $work/d, val_fraction: 0.2, height: 16, width: 64, size_rule: fit_height, width_step: 16}
augment: {shift: 1, noise: 0.05}
optimizer: {ema_decay: 0.9}
train: {batch_size: 8, epochs: 3, workers: 1}
log: {interval_steps: 2}
YAML

expect 0 tiny run
says 'crnn-small, [0-9,]* parameters, 16x64x1 pixels'
for key in string_accuracy char_accuracy cer steps weights_hash; do
    checks=$((checks + 1))
    [ -n "$(value $key run)" ] || fail "result.json has no $key"
done

# --- nothing but the seed decides ---
for w in 0 1 4; do
    expect 0 tiny "workers$w" --set train.workers=$w --quiet
    same weights_hash run "workers$w"
done
expect 0 tiny recompute --set train.recompute=all --quiet
same weights_hash run recompute
expect 0 tiny seed --set train.seed=8 --quiet
checks=$((checks + 1))
[ "$(value weights_hash run)" != "$(value weights_hash seed)" ] || fail "train.seed changes nothing"

# --- stopped after every step of an epoch and continued; groups of micro-steps that mix widths ---
for opts in "--set train.last_batch=keep" "--set train.progressive.epochs=0.5" "--set train.last_batch=drop" "--set train.accumulate=3" "--set train.accumulate=2 --set train.precision=bf16"; do
    o="$opts --set schedule.name=constant --quiet"
    rm -rf "$work/whole" "$work/parts"
    # shellcheck disable=SC2086
    expect 0 tiny whole $o --set train.steps=9
    for n in 1 2 4 5 8 9; do
        # shellcheck disable=SC2086
        expect 0 tiny parts $o --set train.steps=$n --resume
    done
    same weights_hash whole parts
done

# --- smaller pictures first ---
expect 0 tiny smaller --set train.progressive.epochs=0.5
says '  smaller    16x32 pixels in the first [1-9][0-9]* steps'
checks=$((checks + 1))
[ "$(value weights_hash run)" != "$(value weights_hash smaller)" ] || fail "train.progressive changes nothing"
expect 0 tiny smaller-workers --set train.progressive.epochs=0.5 --set train.workers=3 --quiet
same weights_hash smaller smaller-workers
expect 0 tiny whole-width --set train.progressive.width=0.75
says 'train.progressive.width has no effect: train.progressive.epochs is 0'
same weights_hash run whole-width
expect 2 tiny reader --set model.name=reader --set data.height=32 --set train.progressive.epochs=1 --set train.progressive.height=0.5
says "train.progressive: reader with pictures of 16x[0-9]* pixels: .*fold.conv.weight"
expect 2 "$captrain" plan "$work/tiny.yaml" --set model.name=reader --set data.height=32 --set train.progressive.epochs=1 --set train.progressive.height=0.5
says "train.progressive: reader with pictures of 16x[0-9]* pixels: .*fold.conv.weight"
expect 0 "$captrain" plan "$work/tiny.yaml" --set train.progressive.epochs=0.5
prints '^smaller        16x32 pixels in the first [1-9][0-9]* steps'
expect 0 "$captrain" profile "$work/tiny.yaml" --set train.progressive.epochs=0.5 --steps 2 --threads 1
prints '^of whole pictures; the first [1-9][0-9]* steps of a training see 16x32 pixels'
expect 2 tiny smaller --resume --set train.progressive.epochs=0.25
says 'would train differently.*train.progressive.epochs (0.5 -> 0.25)'

# --- killed at any moment and resumed ---
kills=6 epochs=40
[ -n "${CT_QUICK-}" ] && kills=2 epochs=10
opts="--set train.epochs=$epochs --set checkpoint.every_steps=4 --set train.workers=2 --quiet"
rm -rf "$work/whole"
start=$(date +%s%N)
# shellcheck disable=SC2086
expect 0 tiny whole $opts
took=$((($(date +%s%N) - start) / 1000000)) # ms
killed=0 tries=0
while [ $killed -lt $kills ] && [ $tries -lt $((kills * 5)) ]; do
    tries=$((tries + 1))
    delay=$(awk -v ms=$took -v k=$tries 'BEGIN { printf "%.3f", 0.05 + ms / 1000 * (0.02 + 0.3 * ((k * 0.618034) % 1)) }')
    # shellcheck disable=SC2086
    "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/cut" $opts --resume >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    sleep "$delay"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    got=$?
    checks=$((checks + 1))
    if [ $got -eq 137 ]; then
        killed=$((killed + 1))
    elif [ $got -eq 0 ]; then
        same weights_hash whole cut
        rm -rf "$work/cut"
    else
        fail "exit $got after $delay s"
        break
    fi
done
# shellcheck disable=SC2086
expect 0 tiny cut $opts --resume
same weights_hash whole cut
same string_accuracy whole cut
checks=$((checks + 1))
[ "$killed" -ge $kills ] || fail "only $killed of $kills kills met a running training"

# --- plan, eval, predict ---
expect 0 "$captrain" plan "$work/tiny.yaml" --threads 1
prints 'time steps of 4 classes'
prints 'ctc_loss'
prints '^widths  *[23], '
model=$work/run/checkpoints/best.safetensors
expect 0 "$captrain" eval "$model" "$work/d" --json --threads 1
prints '"samples": 75'
prints '"cer"'
expect 0 "$captrain" predict "$model" "$work"/d/*_60.png "$work"/d/*_150.png --threads 1
checks=$((checks + 1))
[ "$(wc -l <"$work/out")" -eq 50 ] || fail "50 pictures, $(wc -l <"$work/out") lines"

# --- what does not fit ---
expect 2 tiny bad --set loss.name=softmax
says 'loss.name: softmax does not suit model.name: crnn-small'
expect 1 tiny bad --set model.name=textcnn-small
says 'a fixed-length model needs labels of one length'
expect 2 tiny bad --set model.name=textcnn-small --set data.train=synth:text --set data.charset=012
says 'fit_height gives images of several widths'
finish
