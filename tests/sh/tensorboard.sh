#!/bin/sh
# What a run tells TensorBoard, read by TensorBoard itself: keys, metrics, pictures; once each, however often the run was
# killed and resumed, and an end only where it ended.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

python=${PYTHON3:-python3}
"$python" -c 'import tensorboard.plugins.hparams.list_session_groups' 2>/dev/null || {
    echo 'skipped: no python3 with tensorboard'
    exit 77
}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
# look: into $work/out
look() { expect 0 "$python" "$CT_SRCDIR/tests/tensorboard/look.py" "$work"; }
# counts N PATTERN: lines of it
counts() {
    checks=$((checks + 1))
    found=$(grep -c -e "$2" "$work/out")
    [ "$found" -eq "$1" ] || fail "$found lines '$2' instead of $1"
}

# the learning rate does not depend on how long a run is, so that it may go on for longer
echo 'schedule: {name: constant}' >>"$work/tiny.yaml"

# --- two runs beside each other ---
expect 0 tiny a --quiet
expect 0 tiny b --quiet --set optimizer.lr=0.25 --set train.deterministic=false --set model.width=0.25
look
counts 1 '^keys 1[0-9][0-9]$'
prints '^differs optimizer.lr$'
prints '^differs model.width$'
prints '^differs train.deterministic$'
counts 3 '^differs '
prints '^metric val/string_accuracy$'
prints '^metric val/loss$'
counts 2 '^session [ab]/tensorboard STATUS_SUCCESS in order$'
prints '^value a/tensorboard optimizer.lr 0.001$'
prints '^value b/tensorboard optimizer.lr 0.25$'
prints '^value a/tensorboard train.deterministic True$'
prints '^value b/tensorboard train.deterministic False$'
prints '^value a/tensorboard model.name textcnn-small$'
prints '^value a/tensorboard train.epochs 2.0$'
counts 16 '^picture a/tensorboard trained with 0 40 16 1 trained with/[01][0-9] [0-3][0-3]$'
wrong=$(value string_accuracy a | awk '{ n = int(30 * (1 - $1) + 0.5); print (n > 16 ? 16 : n) }')
counts "$wrong" '^picture a/tensorboard wrong 14 40 16 1 wrong/[01][0-9] [0-3]* read as [0-3]*$'

# --- a run that goes on from its end, and to a later one ---
expect 0 tiny a --quiet --resume
expect 0 tiny b --quiet --resume --set train.epochs=3 --set optimizer.lr=0.25 --set train.deterministic=false --set model.width=0.25
look
for run in a b; do prints "^told $run/tensorboard session_start_info \[0\]$"; done
prints '^told a/tensorboard session_end_info \[14\]$'
prints '^told b/tensorboard session_end_info \[21\]$'
counts 16 '^picture b/tensorboard trained with 0 '
counts "$wrong" '^picture a/tensorboard wrong 14 '
counts 0 '^picture b/tensorboard wrong 14 '

# --- stopped and killed: no end; then resumed to one ---
rm -rf "$work/a" "$work/b"
"$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/c" --set train.epochs=500 --set checkpoint.every_steps=5 --quiet \
    >"$work/out" 2>"$work/err" </dev/null &
pid=$!
for _ in $(seq 200); do [ -s "$work/c/checkpoints/last.safetensors" ] && break; sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
look
counts 1 '^session c/tensorboard STATUS_UNKNOWN '
counts 1 '^told c/tensorboard session_start_info \[0\]$'
expect 0 tiny c --quiet --resume --set train.epochs=500 --set train.steps=60 --set checkpoint.every_steps=5
look
counts 1 '^session c/tensorboard STATUS_SUCCESS in order$'
counts 1 '^told c/tensorboard session_start_info \[0\]$'
counts 16 '^picture c/tensorboard trained with 0 '

# --- a file that was lost begins anew where the run goes on; a run without TensorBoard has none ---
echo 'something else altogether' >"$work/c/tensorboard/captrain.tfevents"
expect 0 tiny c --quiet --resume --set train.epochs=500 --set train.steps=70 --set checkpoint.every_steps=5
rm "$work/c/tensorboard/captrain.tfevents.damaged"
look
counts 1 '^told c/tensorboard session_start_info \[[1-9][0-9]*\]$'
counts 16 '^picture c/tensorboard trained with [1-9]'
expect 0 tiny d --quiet --set log.tensorboard=false
checks=$((checks + 1))
[ ! -e "$work/d/tensorboard" ] || fail 'a folder for TensorBoard though log.tensorboard is false'
finish
