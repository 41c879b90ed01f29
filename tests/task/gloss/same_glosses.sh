#!/bin/sh
# A clip is read alike whatever it stands beside: by eval one at a time and eight at a time, in a folder where the clips have other
# names and so another order, and by predict alone.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
cd "$work" || exit 99
expect 0 "$captrain" gen gestures --out set --count 30 --seed 5 --glosses 6 --signers 2 --length 1-3 --size 32
cat >tiny.yaml <<YAML
name: clips
model: {name: tfnet-small, width: 0.5, hidden: 16}
data: {train: set/train, val: set/dev, height: 32, width: 32, crop: 28, mean: [0.5], std: [0.5]}
optimizer: {lr: 3e-3}
train: {batch_size: 4, epochs: 2, workers: 0}
YAML
expect 0 tiny run --quiet

# wrong JSON: what eval read wrongly, sorted: clip, glosses, confidence
wrong() {
    tr -d '\n' <"$1" | sed 's/.*"wrong": \[//' | tr '{' '\n' |
        sed -n 's/.*"file": "[^"]*\/\([^"/]*\)".*"predicted": "\([^"]*\)".*"confidence": \([-+.e0-9]*\).*/\1;\2;\3/p' | sort
}
# read_alone JSON: the same of what predict says
read_alone() {
    tr -d '\n' <"$1" | sed 's/"file"/\n"file"/g' |
        sed -n 's/"file": "[^"]*\/\([^"/]*\)",  *"glosses": \[\([^]]*\)\],  *"confidence": \([-+.e0-9]*\).*/\1;\2;\3/p' |
        sed 's/", *"/ /g; s/; *"/;/; s/" *;/;/; s/; *;/;;/' | sort
}
# alike WHAT A B: every row of A is in B, the confidence within 1e-5
alike() {
    checks=$((checks + 1))
    awk -F';' 'NR == FNR { glosses[$1] = $2; sure[$1] = $3; next }
        { n++; d = $3 - sure[$1]; if (!($1 in sure) || $2 != glosses[$1] || d > 1e-5 || d < -1e-5) { print; bad = 1 } }
        END { exit bad || n < 10 }' "$3" "$2" >rows || fail "$1: other glosses or confidence: $(head -n 3 rows)"
}

expect 0 "$captrain" eval run set/train --json --threads 1 --batch 1
mv out eval1
expect 0 "$captrain" eval run set/train --json --threads 1 --batch 8
mv out eval8
expect 0 "$captrain" predict run set/train/*/* --json --threads 1
mv out together
wrong eval1 >one
wrong eval8 >eight
read_alone together >predicted
alike 'batches of 1 and 8' one eight
alike 'batches of 8 and 1' eight one
alike 'eval and predict' eight predicted
# what one clip is taken for another would show
checks=$((checks + 1))
cut -d';' -f3 predicted | sort -g | awk 'NR > 1 && $1 - last > 2e-5 { apart++ } { last = $1 } END { exit !(apart > NR / 2) }' ||
    fail "confidences are alike: $(cut -d';' -f3 predicted | tr '\n' ' ')"
for clip in train-00001 train-00011 train-00020; do
    expect 0 "$captrain" predict run set/train/*/$clip --json --threads 1
    read_alone out >>alone
done
checks=$((checks + 1))
grep -E '^train-000(01|11|20);' predicted | cmp -s - alone || fail "predict of one says $(cat alone)"

# --- other names: the last becomes the first ---
mkdir -p other/train
for clip in set/train/*/*; do
    signer=${clip%/*}
    id=${clip##*-}
    mkdir -p "other/train/${signer##*/}"
    cp -r "$clip" "other/train/${signer##*/}/train-$(printf '%05d' $((1000 - $(echo "$id" | sed 's/^0*//'))))"
done
awk 'BEGIN { FS = OFS = "," } NR > 1 { $1 = sprintf("train-%05d", 1000 - substr($1, 7)) } { print }' set/train.csv >other/train.csv
for batch in 1 8; do
    expect 0 "$captrain" eval run other/train --json --threads 1 --batch $batch
    wrong out | awk -F';' '{ printf "train-%05d;%s;%s\n", 1000 - substr($1, 7), $2, $3 }' | sort >renamed
    alike "other names, batches of $batch" one renamed
    alike "other names, batches of $batch" renamed one
done
finish
