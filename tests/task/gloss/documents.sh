#!/bin/sh
# Every JSON document about clips satisfies its schema in doc/json, and vocabulary.json is what the model knows.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
schemas=$CT_SRCDIR/doc/json
check=$CT_BUILDDIR/tests/json/check_schema
cd "$work" || exit 99
expect 0 "$captrain" gen gestures --out set --count 20 --seed 5 --glosses 5 --signers 2 --length 1-3 --size 32
cat >clips.yaml <<YAML
name: clips
model: {name: tfnet-small, width: 0.5, hidden: 8}
data: {train: set/train, val: set/dev, test: set/test, height: 32, width: 32}
train: {batch_size: 8, epochs: 2, workers: 1, threads: 1}
log: {interval_steps: 1}
YAML

# json NAME COMMAND...: what the command prints
json() {
    name=$1
    shift
    expect 0 "$captrain" "$@" --json
    cp out "$name.json"
    expect 0 "$check" "$schemas/$name.schema.json" "$name.json"
}

expect 0 "$captrain" train clips.yaml --out run --quiet
expect 0 "$check" --lines "$schemas/metrics.schema.json" run/metrics.jsonl
expect 0 "$check" "$schemas/result.schema.json" run/result.json
expect 0 "$check" "$schemas/receipt.schema.json" run/receipt.json
checks=$((checks + 2))
grep '"event":"eval"' run/metrics.jsonl | grep -q '"wer_sentence":[0-9]' || fail 'no evaluation has wer_sentence'
# of training steps, too, the three kinds of edits add up to the word error rate
grep -E '"event":"(step|epoch|eval)"' run/metrics.jsonl |
    sed 's/.*"wer":\([^,]*\),.*"substitutions":\([^,]*\),"deletions":\([^,]*\),"insertions":\([^,]*\),.*/\1 \2 \3 \4/' >kinds
awk '{ d = $1 - $2 - $3 - $4; if (!(d < 1e-9 && d > -1e-9 && NF == 4)) exit 1 } END { exit NR < 4 }' kinds ||
    fail "kinds of edits do not add up: $(head -3 kinds)"
json eval eval run set/test --threads 1
json eval eval run set/test --threads 1 --decoder beam
json predict predict run set/test/*/* --threads 1
json check check set/train
json check check set/train --config clips.yaml

# --- the vocabulary: the words of the label files, sorted by their bytes behind the blank ---
sed -n '2,$p' set/train.csv set/dev.csv set/test.csv | cut -d, -f4 | tr / '\n' | grep -v '^Gloss$' | sed 's/\r$//' |
    LC_ALL=C sort -u >words
tr -d ' \n' <run/vocabulary.json | sed 's/.*"idx2word":\["",\([^]]*\)\].*/\1/' | tr ',' '\n' | tr -d '"' >known
echo >>known
checks=$((checks + 2))
cmp -s words known || fail "vocabulary.json has $(tr '\n' ' ' <known), the label files $(tr '\n' ' ' <words)"
n=0
while read -r word; do
    n=$((n + 1))
    tr -d ' \n' <run/vocabulary.json | grep -q "\"$word\":${n}[,}]" || fail "word2idx of $word is not $n"
done <words
# another run knows no other words by it
expect 0 "$captrain" train clips.yaml --out again --set data.vocab=run/vocabulary.json --set train.steps=1 --quiet
checks=$((checks + 1))
cmp -s run/vocabulary.json again/vocabulary.json || fail 'data.vocab: vocabulary.json gives another vocabulary'
expect 1 "$captrain" train clips.yaml --out again --resume --set data.vocab=none.json
says 'data.vocab: none.json'
finish
