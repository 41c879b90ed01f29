#!/bin/sh
# A model with CTC in use: eval and predict with both decoders, on pictures of several widths.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
epochs=20
[ -n "${CT_QUICK:-}" ] && epochs=2
cat >"$work/ctc.yaml" <<YAML
name: use-ctc
model: {name: crnn-small, width: 0.25, hidden: 16, dropout: 0}
data:
  train: synth:text
  charset: "01"
  height: 16
  width: 64
  size_rule: fit_height
  width_step: 16
  synth: {style: plain, count: 96, val_count: 24, length_min: 1, length_max: 3}
eval: {select_by: cer}
optimizer: {lr: 0.01}
train: {batch_size: 8, epochs: $epochs, workers: 0, threads: 1}
YAML

# number KEY: a number of the JSON object in $work/out
number() { sed -n "s/^  \"$1\": \([-0-9.e]*\),\{0,1\}\$/\1/p" "$work/out" | head -1; }

# equal WHAT A B
equal() {
    checks=$((checks + 1))
    [ -n "$2" ] && [ "$2" = "$3" ] || fail "$1: '$2' and '$3'"
}

# right: lines of $work/out (file, text, confidence) whose text is the file's label
right() { awk -F '\t' '{ n = split($1, p, "/"); split(p[n], q, "_"); if (q[1] "" == $2 "") ok++ } END { print ok + 0 }' "$work/out"; }

expect 0 "$captrain" train "$work/ctc.yaml" --out "$work/run"
says 'characters'
model=$work/run/checkpoints/best.safetensors
checks=$((checks + 1))
grep -q '"cer": [0-9]' "$work/run/result.json" || fail "result.json has no cer"
checks=$((checks + 1))
grep -q '"event":"eval".*"cer":[0-9]' "$work/run/metrics.jsonl" || fail "metrics.jsonl has no cer"
for text in 'character error rate' 'Edits by kind' 'insertions' 'Wrong, validation' 'Throughput'; do
    checks=$((checks + 1))
    grep -q "$text" "$work/run/report.html" || fail "report.html does not say '$text'"
done

# labelled pictures of three shapes
expect 0 "$captrain" gen text --out "$work/set" --count 20 --seed 7 --charset 01 --length 1-3 --width 64 --height 16
expect 0 "$captrain" gen text --out "$work/narrow" --count 6 --seed 8 --charset 01 --length 1 --width 40 --height 16
expect 0 "$captrain" gen text --out "$work/wide" --count 6 --seed 9 --charset 01 --length 2-3 --width 200 --height 40
cp "$work"/narrow/*.png "$work"/wide/*.png "$work/set"
ls "$work"/set/*.png >"$work/files"
count=$(wc -l <"$work/files" | tr -d ' ')
for decoder in greedy 'beam --beam-width 5'; do
    # shellcheck disable=SC2086
    expect 0 "$captrain" eval "$model" "$work/set" --json --threads 1 --batch 7 --decoder $decoder
    prints "\"decoder\": \"${decoder%% *}\""
    equal "samples ($decoder)" "$(number samples)" "$count"
    equal "infeasible ($decoder)" "$(number infeasible)" 0
    strings=$(number strings_right)
    equal "edits by kind ($decoder)" "$(number edits)" "$(($(number substitutions) + $(number insertions) + $(number deletions)))"
    cer=$(number cer)
    equal "cer ($decoder)" "$(awk -v e="$(number edits)" -v c="$(number chars)" -v r="$cer" 'BEGIN { d = e / c - r; print (d < 1e-9 && d > -1e-9) ? "ok" : e / c }')" ok
    # shellcheck disable=SC2086,SC2046
    expect 0 "$captrain" predict "$model" $(cat "$work/files") --threads 1 --decoder $decoder
    equal "strings right, eval and predict ($decoder)" "$strings" "$(right)"
    # shellcheck disable=SC2086,SC2046
    expect 0 "$captrain" predict "$model" $(cat "$work/files") --threads 1 --json --decoder $decoder
    prints '"char_confidence"'
done
expect 0 "$captrain" eval "$model" "$work/set" --threads 1 --decoder beam
prints 'beam of 10'
prints 'character errors'
prints 'substitutions'

# only texts as long as those it learned: the model file says it, of labels that were drawn and of those in a folder
texts() { # texts LEAST MOST
    checks=$((checks + 1))
    awk -F '\t' -v least="$1" -v most="$2" -v count="$count" 'length($2) >= least && length($2) <= most { ok++ } END { exit ok != count }' "$work/out" ||
        fail "not all texts have $1 to $2 characters"
}
for decoder in greedy beam; do
    # shellcheck disable=SC2046
    expect 0 "$captrain" predict "$model" $(cat "$work/files") --threads 1 --decoder $decoder --length trained
    texts 1 3
done
expect 0 "$captrain" train "$work/ctc.yaml" --out "$work/longer" --quiet --set "data.train=$work/wide" --set "data.val=$work/set" --set train.epochs=1 \
    --set data.synth.length_min=3 --set data.synth.length_max=4
# shellcheck disable=SC2046
expect 0 "$captrain" predict "$work/longer" $(cat "$work/files") --threads 1 --length trained
texts 2 3
expect 0 "$captrain" gen text --out "$work/drawn" --count 40 --seed 4 --like "$work/longer"
for f in "$work"/drawn/*.png; do
    checks=$((checks + 1))
    case ${f##*/} in [01][01]_* | [01][01][01]_*) ;; *) fail "gen --like draws $f" ;; esac
done
expect 0 "$captrain" export "$work/longer" --format onnx --out "$work/longer.onnx"
checks=$((checks + 1))
grep -aq 'lengths.*2-3' "$work/longer.onnx" || fail "the ONNX file does not say which lengths"

# a file that is no picture, and decoders that cannot be
expect 1 "$captrain" predict "$model" "$work/ctc.yaml" "$(head -1 "$work/files")" --threads 1
says 'ctc.yaml: none of PNG'
prints 'set/'
expect 1 "$captrain" predict "$model" "$work/ctc.yaml" --threads 1
says '1 of 1 pictures could not be read'
expect 2 "$captrain" eval "$model" "$work/set" --decoder viterbi
says "'viterbi' is neither greedy nor beam"
expect 2 "$captrain" eval "$model" "$work/set" --beam-width 3
says 'beam-width belongs to --decoder beam'
expect 2 "$captrain" eval "$model" "$work/set" --decoder beam --beam-width 0
cat >"$work/fixed.yaml" <<YAML
model: {name: textcnn-small, width: 0.5, hidden: 32}
data:
  train: synth:text
  charset: "01"
  height: 16
  width: 40
  synth: {style: plain, count: 32, val_count: 12, length: 2}
train: {batch_size: 16, epochs: 1, workers: 0, threads: 1}
YAML
expect 0 "$captrain" train "$work/fixed.yaml" --out "$work/fixed" --quiet
expect 2 "$captrain" eval "$work/fixed/checkpoints/best.safetensors" synth:text --decoder beam
says 'beam search is for CTC models'
expect 0 "$captrain" eval "$work/fixed/checkpoints/best.safetensors" synth:text --json --threads 1
prints '"cer"'
prints '"position_errors"'

# the file that PyTorch wrote, and one that is something else
expect 0 "$captrain" selftest --ctc "$CT_SRCDIR/tests/golden/ctc.safetensors" --backend cpu --threads 1
prints 'infeasible 3 '
expect 1 "$captrain" selftest --ctc "$model" --threads 1
says "no tensor 'log_probs'"
expect 2 "$captrain" selftest --ctc "$model" --golden "$model"
finish
