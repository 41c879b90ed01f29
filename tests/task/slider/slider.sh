#!/bin/sh
# The slider task from outside: pictures as files, training, resuming, evaluation, prediction, report, bench.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
config=$CT_SRCDIR/tests/task/slider/slider.yaml

# train DIR OPTIONS...: trains slider.yaml into $work/DIR
train() {
    dir=$1
    shift
    "$captrain" train "$config" --threads 1 --out "$work/$dir" "$@"
}

# contains FILE PATTERN...: each basic regular expression is in a file of $work
contains() {
    file=$1
    shift
    for pattern in "$@"; do
        checks=$((checks + 1))
        grep -aq -e "$pattern" "$work/$file" || fail "$file does not have '$pattern'"
    done
}

# document NAME FILE: a file of $work satisfies its schema
document() {
    expect 0 "$CT_BUILDDIR/tests/json/check_schema" "$CT_SRCDIR/doc/json/$1.schema.json" "$work/$2"
}

# --- pictures ---
expect 0 "$captrain" gen slider --out "$work/drawn" --count 24 --seed 5 --threads 2
expect 0 "$captrain" check "$work/drawn" --config "$config"
prints 'samples: 24, usable: 24'
prints '^backgrounds: '

# --- training: drawn pictures, validation, a test set of files ---
expect 0 train run --set "data.test=$work/drawn"
says 'slider-small, .* -> gap and piece'
numbers='"mae_px":[0-9.e-]*,"rmse_px":[0-9.e-]*,.*"losses":{"heat":[0-9.e-]*,"offset":[0-9.e-]*,"angle":.*"row_emd"'
contains run/metrics.jsonl "^{\"event\":\"step\",.*$numbers" "^{\"event\":\"eval\",.*$numbers"
contains run/result.json '"hit_le_5px"' '"original": {' '"distance_median_px"' '"by_confusion": {' '"by_style": {' '"test": {'
contains run/report.html '>Error<' '>Hits<' 'Samples by error' 'Error over position' 'Furthest off' 'Drawn by lot' \
    'Nearest' '<img' 'slider_late'
document result run/result.json
# the prior of the heatmaps is there: the loss of the heatmaps begins small
first=$(sed -n 's/^{"event":"step","time":[^,]*,"step":2,.*"heat":\([0-9.]*\),.*/\1/p' "$work/run/metrics.jsonl")
checks=$((checks + 1))
awk -v a="$first" 'BEGIN { exit !(a != "" && a + 0 < 20) }' || fail "the loss of the heatmaps begins with '$first'"

# --- eval, predict ---
expect 0 "$captrain" eval "$work/run" "$work/drawn" --threads 1 --json
mv "$work/out" "$work/eval.json"
document eval eval.json
expect 0 "$captrain" eval "$work/run" "$work/drawn" --threads 1
prints '^samples  *24$'
prints '^distance within '
expect 1 "$captrain" predict "$work/run" "$work/drawn/captchas" "$config" --threads 1 --json
mv "$work/out" "$work/predict.json"
document predict predict.json
contains predict.json '"gap_confidence"' '"angle_deg"' '"error"'
expect 0 "$captrain" predict "$work/run" "$work/drawn/captchas" --threads 1
prints 'captchas/Pic[0-9]*_Bgx[0-9A-Za-z_.]*	[0-9.-]* [0-9.-]*	[0-9.-]* [0-9.-]*	[0-9.-]*	[01]\.[0-9]*$'
checks=$((checks + 1))
[ "$(wc -l <"$work/out")" -eq 24 ] || fail "predictions of $(wc -l <"$work/out") pictures, not 24"

# --- the same bits: workers, a stop in between, new pictures in every epoch ---
fresh='--set data.synth.fresh=true --set schedule.name=constant --quiet'
# shellcheck disable=SC2086
{
    expect 0 train w0 $fresh --set train.workers=0
    expect 0 train w1 $fresh --set train.workers=1
    expect 0 train w4 $fresh --set train.workers=4
    expect 0 train parts $fresh --set train.epochs=50 --set train.steps=5
    expect 0 train parts $fresh --resume --set train.epochs=50 --set train.steps=12
    expect 0 train whole $fresh --set train.epochs=50 --set train.steps=12
}
same weights_hash w0 w1
same weights_hash w0 w4
same weights_hash parts whole

# --- smaller pictures first: places are still those of the pictures as they are drawn, so that errors are of one size ---
small='--set schedule.name=constant --set train.progressive.epochs=1 --set train.progressive.height=0.5 --quiet'
# shellcheck disable=SC2086
{
    expect 0 train small $small --set train.steps=9
    for steps in 3 6 9; do expect 0 train small-parts $small --set train.steps=$steps --resume; done
    expect 0 train none $small --set train.steps=9 --set train.progressive.epochs=0 --set train.progressive.height=1
}
same weights_hash small small-parts
checks=$((checks + 1))
[ "$(value weights_hash small)" != "$(value weights_hash none)" ] || fail 'train.progressive changes nothing'
first=$(sed -n 's/^{"event":"step","time":[^,]*,"step":2,.*"mae_px":\([0-9.]*\),.*/\1/p' "$work/small/metrics.jsonl")
plain=$(sed -n 's/^{"event":"step","time":[^,]*,"step":2,.*"mae_px":\([0-9.]*\),.*/\1/p' "$work/none/metrics.jsonl")
checks=$((checks + 1))
awk -v a="$first" -v b="$plain" 'BEGIN { exit !(a > 0.7 * b && b > 0.7 * a) }' || fail "errors of $first pixels at first, $plain with whole pictures"

# --- killed with SIGKILL in three places, workers drawing ahead: the averaged weights, too, are those of the run let alone ---
long="$fresh --set train.epochs=50 --set train.steps=24 --set checkpoint.every_steps=4 --set train.workers=2"
# shellcheck disable=SC2086
expect 0 train alone $long
for step in 6 12 18; do
    # no function here: the signal must hit captrain, not a shell around it
    # shellcheck disable=SC2086
    "$captrain" train "$config" --threads 1 --out "$work/killed" $long --resume >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    tries=0
    until grep -aqs "\"step\":$step," "$work/killed/metrics.jsonl" || [ $tries -ge 600 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    got=$?
    checks=$((checks + 1))
    [ $got -eq 137 ] || fail "exit $got, not killed, about step $step"
done
# shellcheck disable=SC2086
expect 0 train killed $long --resume
same weights_hash alone killed
same mae_px alone killed

# --- from files: backgrounds stay on one side; other precisions and losses; which metric chooses ---
few='--set train.steps=3 --quiet'
# shellcheck disable=SC2086
{
    expect 0 train folder $few --set "data.train=$work/drawn" --set data.val_fraction=0.3
    expect 0 train bf16 $few --set train.amp=true
    expect 0 train f64 $few --set train.precision=f64
    expect 0 train early $few --set loss.name=slider_early --set eval.select_by=mae_px
    expect 0 train basic $few --set loss.name=basic --set coordinate.align=false
    expect 0 train gray $few --set data.channels=1
    expect 0 train gathered $few --set train.accumulate=2 --set train.recompute=all
}
contains bf16/result.json '"precision": "bf16"'
contains bf16/receipt.json '"asked": *"bf16"'

# --- keys that the models cannot have, weights of another task ---
# shellcheck disable=SC2086
{
    expect 2 train no $few --set data.size_rule=resize
    says 'data.size_rule: .*letterbox'
    expect 2 train no $few --set data.width=100
    says 'multiples of 32'
    expect 2 train no $few --set loss.name=ctc
    says 'loss.name: '
    expect 2 train no $few --set coordinate.downsample=8
    says 'coordinate.downsample is 8'
    expect 2 train no $few --set eval.select_by=hit_le_3px
    says "no metric 'hit_le_3px'; did you mean 'hit_le_"
    expect 2 train no $few --set data.synth.styles=neon
    says 'data.synth.styles'
    expect 2 train no $few --set data.synth.confusions=fog
    says "data.synth.confusions: there is no confusion 'fog'"
    # shellcheck disable=SC2046
    expect 2 "$captrain" gen slider --out "$work/none" --count 1 $(yes -- '--confusion none' | head -n 65)
    says '--confusion: more than 64 times'
}
expect 2 "$captrain" eval "$work/run" synth:text --threads 1
says 'synth:text makes samples for text models, not for slider models'

# --- measuring and planning ---
expect 0 "$captrain" bench slider-small --batch 2 --steps 1 --warmup 1 --threads 1
prints 'slider-small, batch 2'
expect 0 "$captrain" bench slider-small --batch 2 --steps 1 --warmup 1 --threads 1 --loss late
expect 2 "$captrain" bench slider-small --batch 2 --steps 1 --loss ctc
says 'basic, early, late'
expect 0 "$captrain" plan --model slider
prints 'heat_decode'
expect 0 "$captrain" plan "$config" --threads 1
prints 'heat_rows'
expect 0 "$captrain" export "$work/run" --out "$work/export.safetensors"
finish
