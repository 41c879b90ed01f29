#!/bin/sh
# captrain race: several seeds of ours and of another program to one target; what is finished is not run again; what is wrong is told.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
equal() {
    checks=$((checks + 1))
    [ "$2" = "$3" ] || fail "$1: '$2' instead of '$3'"
}
number() { sed -n "s/^ *\"$1\": \([^,]*\),\{0,1\}\$/\1/p" "$2"; }
cd "$work" || exit 99

# --- eval.every_steps changes nothing of the training, and goes on where it was interrupted ---
steady() { tiny "$@" --quiet --set train.epochs=3 --set schedule.name=constant; }
expect 0 steady whole
expect 0 steady cut --set eval.every_steps=2
same weights_hash whole cut
equal 'validations' "$(grep -c '"event":"eval"' cut/metrics.jsonl)" 12 # 10 steps of every second, and the ends of two epochs of 7 steps
expect 0 steady part --set eval.every_steps=2 --set train.steps=9
expect 0 steady part --set eval.every_steps=2 --set train.steps=0 --resume
same weights_hash cut part
# the step that ended the first part is scored there, and was none of the second's
grep '"event":"eval"' cut/metrics.jsonl | sed 's/.*"step":\([0-9]*\),.*"loss":\([^,]*\),.*/\1 \2/' >one
grep '"event":"eval"' part/metrics.jsonl | sed 's/.*"step":\([0-9]*\),.*"loss":\([^,]*\),.*/\1 \2/' | grep -v '^9 ' >two
checks=$((checks + 1))
cmp -s one two || fail "a run that was resumed validates otherwise: $(diff one two)"

# --- train.target ends a run; one that asks for more goes on to the same weights ---
easy=$(sed -n '/"event":"eval"/s/.*"step":6,.*"char_accuracy":\([^,]*\),.*/\1/p' cut/metrics.jsonl)
first=$(grep '"event":"eval"' cut/metrics.jsonl | sed 's/.*"step":\([0-9]*\),.*"char_accuracy":\([^,]*\),.*/\1 \2/' | awk -v e="$easy" '$2 >= e { print $1; exit }')
expect 0 steady aim --set eval.every_steps=2 --set "train.target=char_accuracy=$easy"
equal 'reached' "$(number reached aim/result.json)" true
equal 'step of the target' "$(number step aim/result.json)" "$first"
equal 'samples of the target' "$(number samples aim/result.json | head -1)" "$(sed -n "s/.*\"step\":$first,.*\"seen\":\([0-9]*\).*/\1/p" cut/metrics.jsonl)"
equal 'steps' "$(value steps aim)" "$first"
expect 0 steady aim --set eval.every_steps=2 --set train.target=char_accuracy=1 --resume
equal 'not reached' "$(number reached aim/result.json)" false
same weights_hash whole aim
expect 2 tiny bad --set train.target=char_accuracy
says "train.target: wants METRIC=VALUE, as in string_accuracy=0.99 (got 'char_accuracy')"
expect 2 tiny bad --set train.target=chr_accuracy=1
says "no metric 'chr_accuracy'; did you mean 'char_accuracy'?"
expect 2 tiny bad --set train.target=cer=0.1 --set data.synth.val_count=0
says 'train.target needs validation data'

# --- a race with another program: it is slower with every seed, and never gets as far with the third ---
cat >other.sh <<'SH'
echo 'begins'
echo '{"seconds": 1.5, "samples": 64, "steps": 1, "metric": 0.1}'
[ "$1" = 3 ] || echo "{\"seconds\": $1, \"eval_seconds\": 0.25, \"samples\": 128, \"steps\": 2, \"metric\": $2}"
echo '{"seconds": 99, "samples": 640, "steps": 10, "metric": 0.05}'
SH
race() { "$captrain" race tiny.yaml --threads 1 --every 2 --target "char_accuracy=$easy" --set train.epochs=3 --set schedule.name=constant --out race "$@"; }
expect 0 race --seeds 2 --command 'sh other.sh {seed} {target}'
prints '^target: characters right .* on the validation set$'
prints '^tiny  *1  yes '
prints '^command  *2  yes  *2.0  *0.2  *128  *2 '
prints '^command  *2 of 2  *1.5 +- 0.7 (1.0 to 2.0)'
equal 'lines of race.csv' "$(wc -l <race/race.csv)" 5
for seed in 1 2; do
    checks=$((checks + 1))
    [ -e race/tiny/seed-$seed/report.html ] || fail "seed $seed has no report"
    equal 'seed' "$(sed -n 's/^  seed: \([0-9]*\).*/\1/p' race/tiny/seed-$seed/config.yaml | tail -1)" "$seed"
done
checks=$((checks + 1))
grep -q '>target<' race/race.svg && grep -q '^<svg' race/race.svg || fail 'race.svg has no line of the target'

# --- it goes on: finished seeds stay as they are, a third one comes ---
expect 2 race --seeds 2 --command 'sh other.sh {seed} {target}'
says 'race holds a race already (race.json): continue it with --resume'
before=$(cksum race/tiny/seed-1/result.json race/command/seed-1/lines.jsonl)
expect 0 race --seeds 3 --command 'sh other.sh {seed} {target}' --resume --json
equal 'finished seeds' "$(cksum race/tiny/seed-1/result.json race/command/seed-1/lines.jsonl)" "$before"
cmp -s out race/race.json || fail 'race.json is not what was printed'
checks=$((checks + 1))
equal 'target' "$(number target out)" "\"char_accuracy=$easy\""
equal 'racers that reached it, of seed 3 the command not' "$(number reached out | tail -1)" false
equal 'its last value' "$(number value out | tail -1)" 0.05
equal 'samples of our first seed' "$(number samples out | head -1)" "$(sed -n 's/^    "samples": \([0-9]*\),$/\1/p' race/tiny/seed-1/result.json | head -1)"
mean=$(number mean_seconds out | head -1)
checks=$((checks + 1))
number seconds out | head -3 | awk -v m="$mean" '{ s += $1 } END { d = s / 3 - m; exit d * d > 1e-18 }' || fail "mean_seconds $mean is none"

# --- what is not the same race, and what is none ---
expect 2 race --seeds 2 --resume
says 'there are 2 racers, and 1 are given now'
expect 2 race --seeds 2 --command 'sh other.sh {seed}' --resume
says 'is not as it was in the race in race'
expect 2 race --seeds 2 --command 'sh other.sh {seed} {target}' --resume --set optimizer.lr=0.5
says 'tiny.yaml is not as it was in the race in race'
expect 2 "$captrain" race tiny.yaml
says 'has no train.target: give --target'
expect 1 "$captrain" race
says 'needs a configuration, or --command'
expect 1 "$captrain" race --command 'exit 3' --target cer=0.1 --out none --seeds 1
says 'exit code 3 with seed 1'
expect 1 "$captrain" race --command 'echo {}' --target cer=0.1 --out none2 --seeds 1
says 'has no line'
expect 2 "$captrain" race --command 'echo {}' --target speed=0.1 --out none3
says "no task has a metric 'speed'"

# --- a signal ends it cleanly, and it goes on to the same weights ---
long() { "$captrain" race tiny.yaml --threads 1 --target char_accuracy=2 --set train.epochs=60 --seeds 2 --out long --quiet "$@"; }
"$captrain" race tiny.yaml --threads 1 --target char_accuracy=2 --set train.epochs=60 --seeds 2 --out long --quiet >out 2>err </dev/null &
pid=$!
tries=0
while ! grep -q '"event":"epoch"' long/tiny/seed-1/metrics.jsonl 2>/dev/null && [ $tries -lt 200 ]; do
    sleep 0.05
    tries=$((tries + 1))
done
kill -TERM $pid
wait $pid
equal 'exit code behind a signal' $? 143
says 'captrain race ... --out long --resume goes on'
prints '^tiny  *0 of 0 '
expect 0 long --resume
prints '^tiny  *0 of 2 '
expect 0 tiny straight --quiet --set train.epochs=60 --set train.seed=1
equal 'weights of seed 1' "$(value weights_hash long/tiny/seed-1)" "$(value weights_hash straight)"
finish
