#!/bin/sh
# Training from outside: run directory, results, workers, resume, signals, damage, a full disk, bad numbers, and using the model.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
# glibc fills memory that is given out and given back, so what nobody wrote is not 0 by luck.
export MALLOC_PERTURB_=165

# has FILE: in the run directory
has() {
    checks=$((checks + 1))
    [ -s "$work/$1" ] || fail "$1 is missing or empty"
}

# --- a run and what it leaves ---
expect 0 tiny run
says '[0-9,]* parameters'
says 'epoch 2: training loss [0-9.]*, validation loss'
for f in config.yaml metrics.jsonl run.log report.html result.json checkpoints/last.safetensors checkpoints/best.safetensors \
    tensorboard/captrain.tfevents; do
    has "run/$f"
done
for key in string_accuracy char_accuracy epochs steps seconds samples_per_s peak_bytes weights_hash; do
    checks=$((checks + 1))
    [ -n "$(value $key run)" ] || fail "result.json has no $key"
done
checks=$((checks + 1))
grep -q '"resumed_from_steps": \[\]' "$work/run/result.json" || fail "resumed_from_steps is not []"
checks=$((checks + 1))
if grep -q -i -e 'src="http' -e 'href="http' -e '<script' "$work/run/report.html"; then fail "report.html is not self-contained"; fi

# run.log begins with what its reader wants to know; what operators do stands behind
checks=$((checks + 1))
sed -n 1p "$work/run/run.log" | grep -q ' captrain [0-9.]*, run directory ' || fail "run.log begins with: $(sed -n 1p "$work/run/run.log")"
checks=$((checks + 1))
awk '/ validation loss / { epoch = NR } /what the operators do \(receipt.json\)/ { receipt = NR } / memory .* planned / { memory = NR }
    END { exit !(memory && memory < receipt && receipt < epoch) }' "$work/run/run.log" || fail 'the receipt is not between header and first epoch'

# --- an occupied directory ---
expect 2 tiny run
says 'holds a run already'

# --- --resume on a finished run rewrites result.json; with no checkpoint it starts anew and says so ---
hash=$(value weights_hash run)
rm "$work/run/result.json"
expect 0 tiny run --resume
says 'all 2 epochs are done'
prints "captrain predict $work/run IMAGE"
checks=$((checks + 1))
[ "$(value weights_hash run)" = "$hash" ] || fail "resuming a finished run changed its weights"
expect 0 tiny fresh --resume --set train.epochs=1
says 'starting anew'
expect 2 "$captrain" train "$work/tiny.yaml" --resume
says 'give --out'
# --init is for the beginning of a run
expect 0 tiny run --resume --init "$work/run/checkpoints/best.safetensors"
says 'is not used: the run goes on from its own weights'

# --- what may change on resume, and what not ---
expect 2 tiny run --resume --set optimizer.lr=0.5 --set train.batch_size=8
says 'optimizer.lr (0.001 -> 0.5)'
says 'train.batch_size (16 -> 8)'
says "start from its weights: --init $work/run"
expect 2 tiny run --resume --set data.synth.seed=9
says 'data.synth.seed'
expect 0 tiny run --resume --set train.workers=3 --set log.interval_steps=1

# --- the number of workers changes nothing; neither does recomputation ---
for w in 0 1 4; do
    expect 0 tiny "workers$w" --set train.workers=$w --quiet
    same weights_hash run "workers$w"
done
expect 0 tiny recompute --set train.recompute=all --quiet
same weights_hash run recompute

# --- train.steps ends within an epoch; raising it goes on from there as if it had not ended (constant learning rate) ---
flat="--set schedule.name=constant --quiet"
# shellcheck disable=SC2086
{
    expect 0 tiny flat $flat --set train.steps=11
    expect 0 tiny parts $flat --set train.steps=3
    expect 0 tiny parts $flat --set train.steps=11 --resume
}
same weights_hash flat parts
checks=$((checks + 1))
tr -d ' \n' <"$work/parts/result.json" | grep -q '"resumed_from_steps":\[3\]' || fail "resumed_from_steps is not [3]"

# --- an evaluation in the middle of an epoch is named as one ---
expect 0 tiny middle --set train.steps=3
says 'best weights (within epoch 1, step 3)'
checks=$((checks + 1))
grep -q 'within epoch 1, step 3' "$work/middle/report.html" || fail "report.html does not say when the best weights were reached"

# --- accumulation, the last smaller group and batch, and a resume between ---
for last in keep drop; do
    a="--set train.accumulate=3 --set train.last_batch=$last --set schedule.name=constant --quiet"
    # shellcheck disable=SC2086
    {
        expect 0 tiny acc_$last $a --set train.steps=5
        expect 0 tiny accp_$last $a --set train.steps=2
        expect 0 tiny accp_$last $a --set train.steps=5 --resume
    }
    same weights_hash acc_$last accp_$last
done

# --- signals: finish the step, save, and say by the exit code which it was ---
for sig in INT:130 TERM:143 USR1:75 HUP:129; do
    name=${sig%:*} code=${sig#*:}
    rm -rf "$work/sig"
    # perl gives the child default handlers: a shell without job control starts background commands with SIGINT ignored
    perl -e '$SIG{INT} = $SIG{HUP} = "DEFAULT"; exec @ARGV' "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/sig" --set train.epochs=2000 \
        --set checkpoint.every_epochs=0 >"$work/out" 2>"$work/err" &
    pid=$!
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -q '"event":"step"' "$work/sig/metrics.jsonl" 2>/dev/null && break
        sleep 0.25
    done
    kill -s "$name" $pid
    wait $pid
    got=$?
    checks=$((checks + 1))
    [ $got -eq "$code" ] || fail "SIG$name: exit $got instead of $code"
    says "stopped by SIG$name after step [0-9]* and saved; captrain train --out $work/sig --resume goes on"
    has sig/checkpoints/last.safetensors
done
# under nohup a closed terminal is nothing to it
rm -rf "$work/sig"
perl -e '$SIG{HUP} = "IGNORE"; exec @ARGV' "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/sig" --set train.epochs=2000 \
    >"$work/out" 2>"$work/err" &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    grep -q '"event":"step"' "$work/sig/metrics.jsonl" 2>/dev/null && break
    sleep 0.25
done
kill -s HUP $pid
before=$(wc -l <"$work/sig/metrics.jsonl")
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ "$(wc -l <"$work/sig/metrics.jsonl")" -gt "$before" ] && break
    sleep 0.25
done
kill -s TERM $pid
wait $pid
got=$?
checks=$((checks + 1))
[ $got -eq 143 ] || fail "an ignored SIGHUP, then SIGTERM: exit $got instead of 143"
says 'stopped by SIGTERM'

# --- damage: the previous checkpoint is used, that is said, and the end is the same ---
expect 0 tiny hurt --quiet
size=$(wc -c <"$work/hurt/checkpoints/last.safetensors")
truncate -s $((size / 2)) "$work/hurt/checkpoints/last.safetensors"
expect 0 tiny hurt --resume
says 'damaged checkpoint passed over'
says 'previous checkpoint is used'
same weights_hash run hurt
# one flipped byte in a tensor
printf '\377\376\375\374' | dd of="$work/hurt/checkpoints/last.safetensors" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
expect 0 tiny hurt --resume
says 'damaged'
same weights_hash run hurt
for f in "$work"/hurt/checkpoints/*.safetensors; do echo nothing >"$f"; done
expect 1 tiny hurt --resume
says 'none of its'

# --- a full disk (RLIMIT_FSIZE): a message, and the checkpoint before stays ---
expect 0 tiny full --set train.steps=2 --set schedule.name=constant --quiet
before=$(cksum <"$work/full/checkpoints/last.safetensors")
(
    ulimit -f 200 # blocks of 512 bytes (of 1024 in some shells): less than a checkpoint
    tiny full --resume --set schedule.name=constant >"$work/out" 2>"$work/err"
)
code=$?
checks=$((checks + 2))
[ $code -eq 1 ] || fail "full disk: exit $code instead of 1"
[ "$(cksum <"$work/full/checkpoints/last.safetensors")" = "$before" ] || fail "a full disk damaged the checkpoint"
says 'checkpoint of step\|File too large'
expect 0 tiny full --resume --set schedule.name=constant --quiet

# --- numbers that go bad ---
bad="--set optimizer.lr=100 --set optimizer.name=sgd --set optimizer.weight_decay=10 --set schedule.name=constant --set train.epochs=40 --set checkpoint.every_steps=1"
# shellcheck disable=SC2086
expect 1 tiny nan $bad
says 'NaN or infinity'
says 'step [0-9]'
says 'samples: synth:text/'
checks=$((checks + 1))
"$captrain" eval "$work/nan/checkpoints/last.safetensors" synth:text --threads 1 >/dev/null 2>"$work/err" || fail "the last good checkpoint cannot be used"
# shellcheck disable=SC2086
expect 1 tiny nanskip $bad --set train.nan_policy=skip --set train.nan_limit=3
says 'skipped: NaN or infinity'
says 'train.nan_limit'

# --- using the model: eval, predict, --init ---
model=$work/run/checkpoints/best.safetensors
expect 0 "$captrain" eval "$model" synth:text --json --threads 1
prints '"samples": 30'
prints '"string_accuracy"'
prints '"char_accuracy"'
expect 0 "$captrain" eval "$work/run/checkpoints/last.safetensors" synth:text --threads 1
prints 'string accuracy'
expect 0 "$captrain" predict "$model" "$work"/run/examples/*.png --threads 1
prints 'examples/.*	[0-3][0-3]	'
cp "$work/out" "$work/each"
# a run's folder stands for its best model, a folder of pictures for the pictures in it
expect 0 "$captrain" predict "$work/run" "$work/run/examples" --threads 1
checks=$((checks + 1))
cmp -s "$work/out" "$work/each" || fail "a folder is read differently from its files"
expect 0 "$captrain" eval "$work/run" synth:text --threads 1
prints 'string accuracy'
expect 1 "$captrain" predict "$work" "$work/run/examples" --threads 1
says 'holds no checkpoints/best.safetensors'
mkdir -p "$work/early/checkpoints"
cp "$work/run/checkpoints/last.safetensors" "$work/early/checkpoints"
expect 1 "$captrain" eval "$work/early" synth:text
says 'early: was stopped before any weights were scored.*early/checkpoints/last.safetensors has those it was saved with'
expect 0 "$captrain" eval "$work/early/checkpoints/last.safetensors" synth:text
mkdir "$work/nothing"
expect 1 "$captrain" predict "$model" "$work/nothing" --threads 1
says 'nothing: no PNG, JPEG, BMP or WebP pictures'
expect 0 tiny warmer --init "$work/run" --quiet
expect 1 "$captrain" predict "$model" "$work"/run/examples/*.png "$work/tiny.yaml" --threads 1
says 'tiny.yaml: none of PNG'
prints 'examples/'
expect 1 "$captrain" eval "$work/tiny.yaml" synth:text
expect 0 tiny warm --init "$model" --quiet
expect 0 tiny other --init "$model" --set data.charset=wxyz
says 'last layer: 0 characters taken over, 4 new (wxyz), 4 dropped (0123)'
expect 1 tiny wrong --init "$model" --set model.hidden=40
says 'does not fit model.name: textcnn-small: fc.weight (f32\[8,160\] in the file, f32\[8,200\] here)'
finish
