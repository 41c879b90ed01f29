#!/bin/sh
# Lengths of clips: T frames give ceil(T/4) time steps in check, plan, training, eval and predict, from 1 frame to 300; labels
# that just fit train with losses above 0, those that do not are named before the first step.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
cd "$work" || exit 99
expect 0 "$captrain" gen gestures --out source --count 20 --seed 5 --glosses 5 --signers 2 --length 1-3 --size 32
# 40 pictures, to be the frames of clips: 0 to 39
mkdir pictures
find source/train -name '*.jpg' | sort | head -n 40 | awk '{ print "cp " $0 " pictures/" NR - 1 ".jpg" }' | sh

# clip SET ID FRAMES GLOSSES: one more clip, and its row
clip() {
    mkdir -p "$1/A/$2"
    [ -f "$1.csv" ] || echo 'Number,Translator,Gloss' >"$1.csv"
    echo "$2,A,$4" >>"$1.csv"
    awk -v n="$3" -v dir="$1/A/$2" 'BEGIN { for (i = 0; i < n; i++) printf "ln pictures/%d.jpg %s/%05d.jpg\n", (n + i) % 40, dir, i + 1 }' | sh
}
# label N: N words, no two alike side by side
label() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s%s", i ? "/" : "", substr("abcde", i % 5 + 1, 1) }'; }

# as many glosses as there are steps, 8 at most
lengths='1 2 3 4 5 7 8 9 11 12 13 31 32 33 63 64 65 127 128 129 299 300'
[ -z "${CT_QUICK-}" ] || lengths='1 2 3 4 5 7 8 9 15 16 17 300'
total=0 clips=2
for n in $lengths; do
    steps=$(((n + 3) / 4)) total=$((total + (n + 3) / 4)) clips=$((clips + 1))
    clip set "t$n" "$n" "$(label $((steps < 8 ? steps : 8)))"
done
# equal neighbours need a step between them: 3 steps, and 5
clip set twice 12 a/a
clip set thrice 17 b/b/b
total=$((total + 3 + 5))
cat >tiny.yaml <<YAML
name: lengths
model: {name: tfnet-small, width: 0.5, hidden: 8}
data: {train: set, val: "", val_fraction: 0, height: 32, width: 32, mean: [0.5], std: [0.5]}
schedule: {name: constant}
train: {batch_size: 4, epochs: 1, workers: 0}
log: {interval_steps: 1}
YAML

# --- check, plan, predict ---
expect 0 "$captrain" check set --config tiny.yaml --json
prints '"frames_least":1,"frames_most":300,'
prints "\"steps\":$total,\"infeasible\":0"
for n in 1 3 4 5 299 300; do
    expect 0 "$captrain" plan --model tfnet-small --batch 1 --frames $(((n + 3) / 4 * 4 + 12)) --height 32 --width 32 --json
    prints "\"time_steps\":$(((n + 3) / 4)),"
done
# of a training the longest: 300 frames as a multiple of data.frames_step, 16, are 304
expect 0 "$captrain" plan tiny.yaml --json
prints '"time_steps":76,.*"frames":316,'

# --- training: every step has each loss, above 0 ---
# finite RUN: seven losses in every step, each a number above 0 that is not large
finite() {
    checks=$((checks + 1))
    grep '"event":"step"' "$1/metrics.jsonl" | sed 's/.*"losses":{\([^}]*\)}.*/\1/' | tr ',' '\n' |
        awk -F: -v run="$1" '!($2 + 0 > 0 && $2 + 0 < 1000) { print run ": " $0; bad = 1 } END { exit bad || NR < 7 || NR % 7 }' ||
        fail "losses of $1"
    checks=$((checks + 1))
    if grep '"infeasible":[1-9]' "$1/metrics.jsonl"; then fail "$1 has infeasible clips"; fi
}
expect 0 tiny run
finite run
expect 0 tiny single --set train.batch_size=1 --quiet
finite single
expect 0 tiny tempo --set augment.tempo=0.2 --set train.epochs=2 --quiet
finite tempo
expect 0 tiny mask --set loss.kd_mask=true --set train.steps=2 --quiet
finite mask

# kd RUN: what the distillations of the first step cost
kd() { grep -m1 '"event":"step"' "$1/metrics.jsonl" | sed 's/.*"kd1":\([^,}]*\),"kd2":\([^,}]*\).*/\1 \2/'; }
# clips of one batch that are unlike have padding, which the mask leaves out; a clip that is alone has none
expect 0 tiny alone --set train.batch_size=1 --set data.frames_step=4 --set train.steps=1 --quiet
expect 0 tiny masked --set train.batch_size=1 --set data.frames_step=4 --set train.steps=1 --set loss.kd_mask=true --quiet
checks=$((checks + 2))
echo "$(kd alone) $(kd masked)" | awk '{ exit !(NF == 4 && ($1 - $3)^2 < 1e-10 * $1^2 && ($2 - $4)^2 < 1e-10 * $2^2) }' ||
    fail "kd_mask changes a clip without padding: $(kd alone), $(kd masked)"
echo "$(kd run) $(kd mask)" | awk '{ exit !(NF == 4 && $1 != $3 && $2 != $4) }' || fail "kd_mask changes nothing: $(kd run), $(kd mask)"

# --- eval and predict: the same steps, whatever a clip stands beside ---
expect 0 "$captrain" eval run/checkpoints/last.safetensors set --json --threads 1 --batch 4
prints "\"samples\": $clips,"
expect 0 "$captrain" predict run set/A/* --json --threads 1
tr -d ' \n' <out | sed 's/},{/\n/g' | sed 's/.*"frames":\([0-9]*\),"steps":\([0-9]*\).*/\1 \2/' >steps
checks=$((checks + 1))
awk -v n=$clips '$2 != int(($1 + 3) / 4) { bad = 1 } END { exit bad || NR != n }' steps || fail "predict: frames and steps are $(tr '\n' ';' <steps)"
expect 0 "$captrain" check set --config tiny.yaml --set data.max_frames=50 --json
prints '"frames_most":50,'

# --- labels that do not fit: one gloss too many, one step between equal ones too few ---
cp set.csv whole.csv
clip set long4 4 a/b
clip set long16 16 a/b/c/d/e
clip set again 8 a/a
clip set often 16 b/b/b
expect 1 tiny none
for what in 'A/long4: its 2 glosses need 2 time steps, its 4 frames give 1' \
    'A/long16: its 5 glosses need 5 time steps, its 16 frames give 4' 'A/again: its 2 glosses need 3 time steps, its 8 frames give 2' \
    'A/often: its 3 glosses need 5 time steps, its 16 frames give 4'; do
    says "$what"
done
checks=$((checks + 1))
if [ -e none/metrics.jsonl ] && grep -q '"event":"step"' none/metrics.jsonl; then fail 'a step was made'; fi
expect 1 "$captrain" check set --config tiny.yaml
prints 'A/often'
expect 0 tiny left --set data.max_bad=4
says 'A/again'
same weights_hash run left
expect 1 "$captrain" eval run set --json --threads 1
says 'A/often: its 3 glosses need 5 time steps'
# --- a gloss more than the longest label may have ---
rm -r set/A/long4 set/A/long16 set/A/again set/A/often
sed "s|^t300,A,.*|t300,A,$(label 75)|" whole.csv >set.csv
expect 0 tiny most --set train.batch_size=1 --set augment.tempo=0.2 --quiet # which never takes a step that is needed
finite most
sed "s|^t300,A,.*|t300,A,$(label 76)|" whole.csv >set.csv
expect 1 tiny none
says 'A/t300: its 76 glosses need 76 time steps, its 300 frames give 75'
finish
