#!/bin/sh
# Clips from outside: gestures as files are checked, trained, scored and read; the same weights wherever the training stopped; and
# what is wrong with a folder is named.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
cd "$work" || exit 99
expect 0 "$captrain" gen gestures --out set --count 25 --seed 3 --glosses 6 --signers 3 --length 1-3 --size 40
says 'wrote 20 clips for training, 2 for validation (dev) and 3 for a test'
cat >"$work/tiny.yaml" <<YAML
name: clips
model: {name: tfnet-small, width: 0.5, hidden: 16}
data: {train: set/train, val: set/dev, test: set/test, height: 40, width: 40, crop: 32, frames_step: 32, mean: [0.5], std: [0.5]}
augment: {tempo: 0.2, flip: 0.5}
optimizer: {lr: 1e-3}
schedule: {name: constant}
train: {batch_size: 4, epochs: 2, workers: 0}
eval: {select_by: wer_sentence}
log: {interval_steps: 1}
YAML

# --- check ---
expect 0 "$captrain" check set/train --config tiny.yaml
prints 'vocabulary: 6 words'
prints 'signers: 2'
prints 'good: training can start'
expect 0 "$captrain" check set/test --labels set/test.csv --json
prints '"infeasible":0'

# --- training ---
expect 0 tiny run
says 'samples are clips'
prints 'word error rate'
checks=$((checks + 1))
for term in ctc1 ctc2 ctc3 ctc4 ctc5 kd1 kd2; do
    grep -q "\"$term\":" run/metrics.jsonl || fail "metrics.jsonl has no $term"
done
checks=$((checks + 1))
grep -q '"vocab_size": 7' run/vocabulary.json || fail 'run/vocabulary.json: not 7 classes'
expect 0 tiny parts --set train.steps=7 --quiet
expect 0 tiny parts --resume --quiet
same weights_hash run parts
expect 0 tiny small --set train.progressive.epochs=1 --set train.progressive.width=0.75 --set train.progressive.height=0.75 --set train.steps=7
says '  smaller    24x24 pixels in the first 6 steps'
expect 0 tiny whole --set train.steps=7 --quiet
checks=$((checks + 1))
[ "$(value weights_hash whole)" != "$(value weights_hash small)" ] || fail 'train.progressive changes nothing'
for steps in 3 6 7; do
    expect 0 tiny small-parts --set train.progressive.epochs=1 --set train.progressive.width=0.75 --set train.progressive.height=0.75 \
        --set train.steps=$steps --resume --quiet
done
same weights_hash small small-parts
for key in wer wer_sentence substitutions deletions insertions; do
    checks=$((checks + 1))
    grep -q "\"$key\":" run/result.json || fail "result.json has no $key"
done
checks=$((checks + 1))
grep -q 'Word errors by length' run/report.html || fail 'report.html says nothing of lengths'
expect 0 tiny init --init run/checkpoints/best.safetensors --set train.steps=1 --quiet

# --- scoring and reading (tests/task/gloss/same_glosses.sh compares more) ---
model=run/checkpoints/best.safetensors
expect 0 "$captrain" eval "$model" set/test --json --decoder beam --threads 1
prints '"beam_width": 10'
clip=$(ls -d set/test/*/* | head -1)
expect 0 "$captrain" predict "$model" "$clip" --json --threads 1
frames=$(ls "$clip" | wc -l)
prints "\"frames\": $frames"
prints "\"steps\": $(((frames + 3) / 4))"
expect 1 "$captrain" predict "$model" set/test --threads 1
expect 1 "$captrain" predict "$model" set/train.csv --threads 1
says 'a clip is a folder of pictures'

# --- what is wrong is named ---
cp -r set bad
rm bad/train/*/train-00002/00003.jpg
head -c 300 set/train/*/train-00003/00002.jpg >"$(ls bad/train/*/train-00003/00002.jpg)"
rm -r bad/train/*/train-00004
expect 1 tiny no --set data.train=bad/train --set data.val=bad/dev --set data.test=
says 'after frame 00002.jpg comes 00004.jpg: 1 are missing'
says 'train-00003: frame .*00002.jpg: damaged JPEG'
says 'train-00004: line 5 of bad/train.csv names it, but there is no such folder'
rm bad/train.csv
expect 1 tiny no --set data.train=bad/train
says 'there is no label file for its clips (looked for bad/train.csv'
printf 'Number,Translator,Gloss\ntrain-00001,A,zoo\n' >zoo.csv
expect 1 tiny no --set data.val=set/dev --set data.val_labels=zoo.csv --set data.vocab=train
expect 2 tiny no --set loss.ctc_blank_id=6
says 'loss.ctc_blank_id'
expect 2 tiny no --set data.frames_stpe=8
says 'data.frames_step'
expect 2 tiny no --set data.size_rule=letterbox
expect 1 "$captrain" train "$CT_SRCDIR/examples/quickstart.yaml" --set data.train=set/train --out no
says 'holds samples for gloss models, not for text models'
finish
