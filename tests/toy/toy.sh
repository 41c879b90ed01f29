#!/bin/sh
# A task that the library does not know, from outside (tests/toy/toy.h): trains, resumes, evaluates, predicts, reports,
# benches.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
captrain=$CT_BUILDDIR/tests/toy/captrain-toy
dot=$CT_SRCDIR/tests/toy/dot.yaml

# train DIR OPTIONS...: trains dot.yaml into $work/DIR
train() {
    dir=$1
    shift
    "$captrain" train "$dot" --threads 1 --out "$work/$dir" "$@"
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

# at_most VALUE LIMIT WHAT
at_most() {
    checks=$((checks + 1))
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 <= b) }' || fail "$3 is '$1', more than $2"
}

# every EVENT: the numbers "rmse_px" in the journal of $work/run, one a line
every() {
    sed -n "s/^{\"event\":\"$1\",.*\"rmse_px\":\([0-9.e+-]*\)[,}].*/\1/p" "$work/run/metrics.jsonl"
}

# --- nobody in the library knows the task ---
checks=$((checks + 1))
if grep -rnE 'dotnet|synth:dot|toy_(task|model)|"dot"' "$CT_SRCDIR/src" "$CT_SRCDIR/backends"; then
    fail "the library knows the toy task"
fi
expect 2 "$CT_BUILDDIR/captrain" bench dotnet
says "no model 'dotnet'"

# --- pictures as files, and what is wrong with some ---
expect 0 "$captrain" gen dot --out "$work/dots" --count 40 --seed 7
expect 0 "$captrain" gen dot --out "$work/dots2" --count 40 --seed 7 --threads 3
checks=$((checks + 1))
diff -r "$work/dots" "$work/dots2" || fail "pictures depend on the number of threads"
expect 2 "$captrain" gen dots --out "$work/no"
says 'the kinds are: text, slider, gestures, dot'
expect 0 "$captrain" check "$work/dots" --config "$dot"
prints 'samples: 40, usable: 40'
cp -r "$work/dots" "$work/bad"
sed -i 's/^\(dot_000003.png\),.*/\1,12.5 8.5/; s/^\(dot_000005.png\),.*/\1,33 8.5 1/' "$work/bad/labels.csv"
expect 1 "$captrain" check "$work/bad" --config "$dot"
prints "dot_000003.png: the label '12.5 8.5' is not 'X Y B'"
prints "dot_000005.png: the dot at '33 8.5 1' is outside of the picture"

# --- training ---
size=
[ -z "${CT_QUICK:-}" ] || size='--set data.synth.count=320 --set data.synth.val_count=64 --set train.epochs=3
    --set log.interval_steps=5'
# shellcheck disable=SC2086
expect 0 train run $size --set train.steps=100000 --set data.test=synth:dot
says 'dotnet, [0-9,]* parameters, 32x32x1 pixels -> a point, 2 classes'
says 'distance [0-9.]* px, brightness [0-9.]* %'
metrics='"rmse_px":[0-9.e-]*,"bright_accuracy":[0-9.e-]*,.*"losses":{"point":[0-9.e-]*,"bright":[0-9.e-]*}'
contains run/metrics.jsonl "^{\"event\":\"step\",.*$metrics" "^{\"event\":\"eval\",.*$metrics"
contains run/result.json '"rmse_px"' '"bright_accuracy"' '"test": {'
contains run/report.html '>Loss<' '>Distance<' '>Brightness<' 'Errors of the model' 'Furthest off' '<img' \
    'point+bright' 'distance from the dot, validation' '>Terms of the loss, training<' '>point<' '>bright<'
contains run/tensorboard/captrain.tfevents train/rmse_px val/rmse_px train/losses/point val/losses/bright
# the loss is what its terms weigh
checks=$((checks + 1))
number='\([0-9.e-]*\)'
evals="^{\"event\":\"eval\",.*\"loss\":$number,.*\"point\":$number,\"bright\":$number}.*"
sed -n "s/$evals/\1 \2 \3/p" "$work/run/metrics.jsonl" |
    awk '{ d = $1 - $2 - 0.5 * $3; if (d < 0) d = -d; if (d > 1e-5 * $1) bad = 1 } END { exit bad || NR < 3 }' ||
    fail "loss is not point + 0.5 bright"
# the best model is the one with the smallest distance
least=$(every eval | sort -g | head -1)
checks=$((checks + 1))
best=$(value rmse_px run)
[ -n "$least" ] && [ "$best" = "$least" ] || fail "the best model has $best px, the least is $least"

# --- eval on samples that training has not seen ---
expect 0 "$captrain" eval "$work/run" synth:dot --json --threads 1
for key in samples loss rmse_px bright_accuracy worst_px bright_right; do prints "\"$key\": [0-9]"; done
if [ -z "${CT_QUICK:-}" ]; then
    at_most "$(sed -n 's/^ *"rmse_px": \([0-9.e-]*\),$/\1/p' "$work/out")" 1 'the distance of unseen dots'
    # Labels that stayed where they were would still average to the right place, but be off here: by 1.4 px or more, and
    # those of mirrored pictures by more
    off=$(every step | tail -12 | awk '{ s += $1 } END { print s / NR }')
    at_most "$off" 1 'the distance in training, where pictures move'
fi
expect 0 "$captrain" eval "$work/run" "$work/dots" --threads 1
prints '^samples  *40$'
prints '^distance  *[0-9.]* px'

# --- predict ---
expect 0 "$captrain" predict "$work/run" "$work/dots" --threads 1
prints 'dots/dot_000039.png	[0-9.-]* [0-9.-]*	[a-z]*	[01]\.[0-9]*$'
expect 0 "$captrain" predict "$work/run" "$work/dots/dot_000000.png" --json --threads 1
prints '"point": \['
prints '"bright": \(true\|false\)'
prints '"confidence": [01]\.'
if [ -z "${CT_QUICK:-}" ]; then
    # gen and data.train draw by the same hand: the first dot of seed 7 is where its label says
    tr -d ' \n' <"$work/out" | sed 's/.*"point":\[\([0-9.]*\),\([0-9.]*\)\].*/\1 \2/' >"$work/at"
    want=$(sed -n 's/^dot_000000.png,\([0-9.]* [0-9.]*\) .*/\1/p' "$work/dots/labels.csv")
    off=$(awk -v w="$want" '{ split(w, l, " "); print sqrt(($1 - l[1]) ^ 2 + ($2 - l[2]) ^ 2) }' "$work/at")
    at_most "$off" 3 "the distance of the dot in a file"
fi

# --- stopped by train.steps, or by a signal, and resumed: as if it had not been ---
short='--set data.synth.count=640 --set data.synth.val_count=64 --set schedule.name=constant --set train.epochs=100
    --quiet'
steps=1200
[ -z "${CT_QUICK:-}" ] || steps=200
# shellcheck disable=SC2086
{
    expect 0 train whole $short --set train.steps=$steps
    expect 0 train parts $short --set train.steps=57
    expect 0 train parts $short --set train.steps=$steps --resume
    "$captrain" train "$dot" --threads 1 --out "$work/killed" $short --set train.steps=$steps \
        --set log.interval_steps=5 >"$work/out" 2>"$work/err" &
}
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    grep -q '"event":"step"' "$work/killed/metrics.jsonl" 2>/dev/null && break
    sleep 0.2
done
kill -s TERM $pid
wait $pid
got=$?
checks=$((checks + 1))
[ $got -eq 143 ] || fail "SIGTERM: exit $got instead of 143"
# shellcheck disable=SC2086
expect 0 train killed $short --set train.steps=$steps --resume --set log.interval_steps=5
same weights_hash whole parts
same weights_hash whole killed

# --- from a folder, a split of it; pictures drawn anew in every epoch; other precisions ---
few='--set train.steps=6 --set data.synth.count=64 --set data.synth.val_count=16 --quiet'
# shellcheck disable=SC2086
{
    expect 0 train folder $few --set data.train="$work/dots" --set data.val_fraction=0.25
    expect 0 train fresh $few --set data.synth.fresh=true
    expect 0 train bf16 $few --set train.precision=bf16
    expect 0 train f64 $few --set train.precision=f64
    expect 0 train gathered $few --set train.accumulate=2 --set train.recompute=all
}

# --- which metric chooses ---
# shellcheck disable=SC2086
expect 0 train bright $few --set eval.select_by=bright_accuracy
# shellcheck disable=SC2086
expect 2 train misspelt $few --set eval.select_by=rmse_p
says "eval.select_by: no metric 'rmse_p'; did you mean 'rmse_px'"

# --- starting from other weights ---
expect 0 train warm --set train.steps=6 --set data.synth.count=64 --set data.synth.val_count=16 --init "$work/run"
says 'starting from the weights of .*run'
text=$CT_SRCDIR/tests/old/0.1/run-cnn
# shellcheck disable=SC2086
expect 2 train cold $few --init "$text"
says 'a model of the task text; model.name: dotnet is one of the task dot'
expect 2 "$captrain" eval "$text" synth:dot --threads 1
says 'synth:dot makes samples for dot models, not for text models'
expect 2 "$captrain" eval "$work/run" synth:text --threads 1
says 'synth:text makes samples for text models, not for dot models'
expect 2 "$captrain" eval "$work/run" "$work/dots" --decoder beam
says 'decoder'

# --- keys that the model cannot have ---
# shellcheck disable=SC2086
expect 2 train wide $few --set data.width=64
says 'data.width.*dotnet reads gray pictures of 32 x 32 pixels'
expect 2 train unknown --set model.name=dotnut
says "model.name: must be one of .*, dotnet (got 'dotnut')"
expect 2 train nothing --set data.train=synth:dots
says "no generator 'synth:dots'; there is synth:text, synth:slider, synth:gestures, synth:dot"

# shellcheck disable=SC2086
expect 2 train part $few --set data.crop=24
says 'data.crop: the place that dotnet tells is one in the whole picture'

# --- measuring and planning ---
expect 0 "$captrain" bench dotnet --batch 8 --steps 2 --threads 1
prints 'dotnet, batch 8'
expect 0 "$captrain" profile "$dot" --steps 3 --threads 1 --set data.synth.count=64 --set data.synth.val_count=0
prints 'move_points'
expect 0 "$captrain" plan "$dot" --threads 1
prints 'weighted_sum'
expect 0 "$captrain" plan --model dotnet
prints 'bright_head'
expect 0 "$captrain" export "$work/run" --out "$work/export.safetensors"
expect 0 "$captrain" export "$work/run" --format onnx --out "$work/export.onnx" --prove 50
says '50 of 50 pictures (synth:dot.*) are read as the model reads them'
finish
