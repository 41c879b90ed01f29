#!/bin/sh
# Every JSON document the program writes satisfies its schema in doc/json, and would not, were it another (tests/json/check_schema).
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
schemas=$CT_SRCDIR/doc/json
check=$CT_BUILDDIR/tests/json/check_schema

# documents NAME FILE...: whole files; lines NAME FILE...: of one document a line
documents() {
    name=$1
    shift
    expect 0 "$check" "$schemas/$name.schema.json" "$@"
    used="$used $name"
}
lines() {
    name=$1
    shift
    expect 0 "$check" --lines "$schemas/$name.schema.json" "$@"
    used="$used $name"
}
used='common'

# json NAME COMMAND...: what the command prints
json() {
    name=$1
    shift
    expect 0 "$captrain" "$@" --json
    mv "$work/out" "$work/json"
    documents "$name" "$work/json"
}

# events NAME...: the journal of the last run has each of these
events() {
    for event in "$@"; do
        checks=$((checks + 1))
        grep -q "^{\"event\":\"$event\"," "$work/$run/metrics.jsonl" || fail "$run/metrics.jsonl has no event '$event'"
    done
}

# written RUN: the files of a run
written() {
    run=$1
    lines metrics "$work/$run/metrics.jsonl"
    [ ! -e "$work/$run/receipt.json" ] || documents receipt "$work/$run/receipt.json"
    [ ! -e "$work/$run/result.json" ] || documents result "$work/$run/result.json"
    [ ! -e "$work/$run/choices.json" ] || documents choices "$work/$run/choices.json"
}

# --- training: every event, both kinds of model, with and without a validation set, with measured choices ---
cp -r "$CT_SRCDIR/tests/old/0.1/run-cnn" "$CT_SRCDIR/tests/old/0.1/run-crnn" "$work"
chmod -R u+w "$work"
for run in run-cnn run-crnn; do
    written $run
    events signal
    expect 0 "$captrain" train --out "$work/$run" --resume --quiet --backend cpu
    written $run
    events start step epoch eval checkpoint resume end
done
expect 0 tiny blind --set data.synth.val_count=0 --quiet
written blind
expect 0 tiny tested --set data.test=synth:text --set train.precision=bf16 --tune auto --quiet
written tested
bad="--set optimizer.lr=100 --set optimizer.name=sgd --set optimizer.weight_decay=10 --set schedule.name=constant --set train.epochs=40"
# shellcheck disable=SC2086
expect 1 tiny bad $bad --set train.nan_policy=skip --set train.nan_limit=3 --quiet
written bad
events numeric
# black pictures: there is nothing to learn from
mkdir "$work/black"
for label in 00 01 10 11 02 20 12 21; do
    printf '\211PNG\r\n\032\n\000\000\000\015IHDR\000\000\000\020\000\000\000\010\010\000\000\000\000\325\035\040\113' >"$work/black/$label.png"
    printf '\000\000\000\014IDAT\170\332\143\140\030\034\000\000\000\210\000\001\164\270\071\147\000\000\000\000IEND\256\102\140\202' >>"$work/black/$label.png"
done
expect 0 tiny black --set "data.train=$work/black" --set 'data.label_separator=' --set augment.probability=0 --set train.epochs=2 --set train.steps=2 --quiet
written black
events zero_gradient
# branches that start as nothing are no fault
expect 0 tiny reader --set model.name=reader --set model.width=0.25 --set model.hidden=8 --set train.steps=3
checks=$((checks + 1))
if grep -q 'zero_gradient' "$work/reader/metrics.jsonl"; then fail "$(grep zero_gradient "$work/reader/metrics.jsonl")"; fi

# --- enough validation pictures for a temperature: the run says it, and the model goes by it ---
expect 0 tiny sure --set data.synth.val_count=120 --quiet
written sure
events calibration
checks=$((checks + 1))
grep -q '^  "calibration": {$' "$work/sure/result.json" || fail "result.json has no calibration"
json eval eval "$work/sure" "$CT_SRCDIR/tests/old/0.1/pictures" --threads 1
checks=$((checks + 1))
[ "$(sed -n 's/^    "temperature": \([0-9.]*\),$/\1/p' "$work/sure/result.json")" = "$(sed -n 's/^  "temperature": \([0-9.]*\),$/\1/p' "$work/json")" ] ||
    fail "eval goes by another temperature than result.json has"
expect 0 "$captrain" predict "$work/sure" "$CT_SRCDIR/tests/old/0.1/pictures" --threads 1 --jsonl
prints '"calibrated":true'
mv "$work/out" "$work/json"
lines predict-line "$work/json"

# --- a few are enough for it, but not to measure it too; of 9 nothing can be said ---
expect 0 tiny few --set data.synth.val_count=10 --quiet
written few
events calibration
checks=$((checks + 3))
grep -q '^    "fitted": 10,$' "$work/few/result.json" || fail "result.json does not say that 10 pictures were fitted on"
[ "$(grep -c '^    "ece_[a-z]*": null,$' "$work/few/result.json")" = 2 ] || fail "an error of calibration that nobody measured"
grep -q '"bins": \[\]' "$work/few/result.json" || fail "bins without pictures"
expect 0 tiny fewer --set data.synth.val_count=9 --quiet
checks=$((checks + 1))
! grep -q '"calibration"' "$work/fewer/result.json" "$work/fewer/metrics.jsonl" || fail "a temperature from 9 pictures"

# --- using models: both kinds, both decoders, a file that is none; data with every kind of issue ---
pictures=$CT_SRCDIR/tests/old/0.1/pictures
json eval eval "$work/run-cnn" "$pictures" --threads 1
json eval eval "$work/run-crnn" "$pictures" --threads 1
json eval eval "$work/run-crnn" "$pictures" --threads 1 --decoder beam
json predict predict "$work/run-cnn" "$pictures" --threads 1
expect 1 "$captrain" predict "$work/run-crnn" "$pictures" "$work/tiny.yaml" --threads 1 --json
mv "$work/out" "$work/json"
documents predict "$work/json"
for option in '' '--reject-below 0.9'; do
    # shellcheck disable=SC2086
    expect 1 "$captrain" predict "$work/run-crnn" "$pictures" "$work/tiny.yaml" --threads 1 --jsonl $option
    mv "$work/out" "$work/json"
    lines predict-line "$work/json"
done
json check check "$pictures"
cp -r "$pictures" "$work/mixed"
chmod -R u+w "$work/mixed"
cp "$work/mixed/00_000006.png" "$work/mixed/01_again.png"
cp "$work/mixed/00_000006.png" "$work/mixed/0z_other.png"
cp "$work/mixed/00_000006.png" "$work/mixed/00000000000000000000_long.png"
cp "$work/tiny.yaml" "$work/mixed/00_text.png"
cp "$work/tiny.yaml" "$work/mixed"
expect 1 "$captrain" check "$work/mixed" --config "$CT_SRCDIR/tests/old/0.1/crnn.yaml" --json
for part in '"unreadable":1' '"charset":1' '"steps":1' '"kind":"steps"' '"different_labels":true' '"time_steps":\[{' '"buckets":\[{'; do prints "$part"; done
mv "$work/out" "$work/json"
documents check "$work/json"

# --- clips ---
expect 0 "$captrain" gen gestures --out "$work/clips" --count 12 --seed 3 --glosses 4 --signers 2 --length 1-2 --size 32
cat >"$work/clips.yaml" <<YAML
model: {name: tfnet-small, width: 0.25, hidden: 8}
data: {train: $work/clips/train, val: $work/clips/dev, test: $work/clips/test, height: 32, width: 32, frames_step: 32}
train: {batch_size: 4, epochs: 1, workers: 0}
log: {interval_steps: 1}
YAML
expect 0 "$captrain" train "$work/clips.yaml" --out "$work/run-clips" --quiet --threads 2
written run-clips
events start step epoch eval checkpoint end
json eval eval "$work/run-clips" "$work/clips/train" --threads 1
json eval eval "$work/run-clips" "$work/clips/test" --threads 1 --decoder beam
expect 1 "$captrain" predict "$work/run-clips" "$work"/clips/test/*/* "$work/tiny.yaml" --threads 1 --json
mv "$work/out" "$work/json"
documents predict "$work/json"
json check check "$work/clips/train"
json check check "$work/clips/train" --config "$work/clips.yaml"
json plan plan "$work/clips.yaml"

# --- what measures and plans ---
json plan plan "$work/tiny.yaml"
json plan plan "$CT_SRCDIR/tests/old/0.1/crnn.yaml" --set train.accumulate=2 --set train.progressive.epochs=1
json plan plan --model textcnn-small --batch 4
json bench bench textcnn-small --batch 2 --steps 1 --warmup 1
json bench bench textcnn-small --batch 2 --steps 1 --warmup 1 --ops --calls
json bench bench --op 'add(f32[8], f32[8])'
json tune tune "$work/tiny.yaml" --threads 1 --out "$work/choices.json"
documents choices "$work/choices.json"
json profile profile "$work/tiny.yaml" --threads 1 --steps 2
json doctor doctor
json compare compare "$work/run-cnn" "$work/blind" "$work/bad"
json race race "$work/tiny.yaml" --target char_accuracy=0 --seeds 2 --out "$work/race" --threads 1 --quiet --command 'echo "{\"seconds\":1,\"samples\":2,\"steps\":3,\"metric\":0}"'
documents race "$work/race/race.json"
expect 0 "$captrain" monitor --backend cpu --count 2 --interval 0.05 --json
mv "$work/out" "$work/json"
lines monitor "$work/json"

# --- a device that tells what it draws ---
if [ -z "${CT_SANITIZERS:-}" ]; then # they do not know the emulator's fibers
    CAPTRAIN_BACKEND_PATH=$CT_BUILDDIR/tests/emulate/.libs
    CAPTRAIN_NVML=$CT_BUILDDIR/tests/.libs/fake_nvml.so
    CT_FAKE_NVML_THROTTLE=0x24
    export CAPTRAIN_BACKEND_PATH CAPTRAIN_NVML CT_FAKE_NVML_THROTTLE
    small="--set model.width=0.25 --set data.synth.count=4 --set data.synth.val_count=2 --set train.batch_size=2 --set train.epochs=1 --set log.interval_steps=1"
    # shellcheck disable=SC2086
    expect 0 tiny card $small --backend cuda --quiet
    written card
    checks=$((checks + 2))
    grep -q joules_per_sample "$work/card/result.json" || fail "the emulated card tells no energy"
    grep -q joules_per_sample "$work/card/metrics.jsonl" || fail "the emulated card tells no energy in its events"
    expect 0 "$captrain" monitor --backend cuda --count 1 --interval 0.01 --json
    mv "$work/out" "$work/json"
    lines monitor "$work/json"
fi

# --- no schema without a document here; what is no document is refused ---
for file in "$schemas"/*.schema.json; do
    name=${file##*/}
    checks=$((checks + 1))
    case " $used " in
    *" ${name%.schema.json} "*) ;;
    *) fail "no document was checked against $name" ;;
    esac
done
sed 's/"samples": \([0-9]*\)/"samples": "\1"/' "$work/run-cnn/result.json" >"$work/wrong.json"
expect 1 "$check" "$schemas/result.schema.json" "$work/wrong.json"
prints 'samples: "[0-9]*" is not of type'
sed '/"weights_hash"/d' "$work/run-cnn/result.json" >"$work/wrong.json"
expect 1 "$check" "$schemas/result.schema.json" "$work/wrong.json"
prints "'weights_hash' is missing"
sed 's/"char_accuracy"/"chars_accuracy"/' "$work/run-cnn/result.json" >"$work/wrong.json"
expect 1 "$check" "$schemas/result.schema.json" "$work/wrong.json"
sed 's/"event":"step"/"event":"steps"/' "$work/run-cnn/metrics.jsonl" >"$work/wrong.json"
expect 1 "$check" --lines "$schemas/metrics.schema.json" "$work/wrong.json"
expect 1 "$check" "$schemas/doctor.schema.json" "$work/run-cnn/result.json"
expect 1 "$check" "$schemas/doctor.schema.json" "$work/tiny.yaml"
expect 1 "$check" "$schemas/doctor.schema.json" "$work/absent.json"
sed 's/"required"/"requires"/' "$schemas/doctor.schema.json" >"$work/doctor.schema.json"
expect 2 "$check" "$work/doctor.schema.json" "$work/json"
prints '/requires: an unknown keyword'
finish
