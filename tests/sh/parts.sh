#!/bin/sh
# train.parts, from outside: any number of processes trains the same bits.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/group_util.sh"
cd "$work" || exit 99
CAPTRAIN_BACKEND_PATH=$CT_BUILDDIR/.libs OMP_WAIT_POLICY=passive
# What is left at the end is the MPI library's.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export CAPTRAIN_BACKEND_PATH OMP_WAIT_POLICY ASAN_OPTIONS
several='2 4'
[ -e "$CT_BUILDDIR/.libs/captrain-mpi.so" ] || several=
case ${CT_SANITIZERS:-} in *thread*) several= ;; esac # the MPI libraries were not built for it
"$captrain" launch -n 2 --dry-run train > "$work/out" 2> "$work/err" || several=
[ -n "$several" ] || echo "one process alone: no MPI engine"

cat > small.yaml << 'EOF2'
name: small
model: {name: textcnn-small, hidden: 16, dropout: 0.3}
data: {train: 'synth:text', height: 20, width: 60, cache: false, synth: {count: 75, val_count: 21}}
train: {batch_size: 16, parts: 4, epochs: 2, workers: 1}
optimizer: {name: sgd, lr: 0.05, ema_decay: 0.9, momentum: 0.9, weight_decay: 0.001}
schedule: {name: constant}
log: {interval_steps: 1}
EOF2

# numbers RUN: all that its steps and evaluations counted, without times
numbers() {
    sed -n 's/"\(samples_per_s\|steps_per_s\|data_s\|compute_s\|comm_s\|comm_wait_s\|seconds\|time\|slowest_rank\|elapsed\)":[^,}]*//g
            /"event":"\(step\|eval\|epoch\)"/p' "$1/metrics.jsonl" | sed 's/"device":{[^}]*}//; s/,\{2,\}/,/g; s/,}/}/'
}

# same WHAT A B
same() {
    checks=$((checks + 1))
    [ "$2" = "$3" ] || fail "$1: '$2' and '$3'"
}

# alike NAME ARGUMENTS...: by 1 thread, 3 threads, and several processes
alike() {
    name=$1
    shift
    expect 0 "$captrain" train small.yaml --out "$name.1" --threads 1 "$@"
    expect 0 "$captrain" train small.yaml --out "$name.t" --threads 3 "$@"
    same "$name: threads" "$(value "$name.t" weights_hash)" "$(value "$name.1" weights_hash)"
    numbers "$name.1" > want
    [ -s want ] || fail "$name: no events"
    for n in $several; do
        expect 0 timeout 120 "$captrain" launch -n "$n" train small.yaml --threads 1 --out "$work/$name.$n" "$@"
        same "$name: processes" "$(value "$name.$n" processes)" "$n"
        same "$name: weights of $n processes" "$(value "$name.$n" weights_hash)" "$(value "$name.1" weights_hash)"
        checks=$((checks + 1))
        numbers "$name.$n" > got
        cmp -s want got || fail "$name: $n processes count otherwise: $(diff want got | head -4)"
    done
}

# 54 training samples of one epoch: the last batch has 6, of which a part of 8 may have none
alike plain
alike eight --set train.parts=8 --set data.synth.count=19 --set train.epochs=1
if [ -z "${CT_QUICK:-}" ]; then
    alike half --set train.precision=fp16 --set train.epochs=1
    alike muon --set optimizer.name=muon --set optimizer.lr=1e-3 --set train.epochs=1
    alike wide --set model.name=crnn-small --set data.height=32 --set data.size_rule=fit_height --set train.steps=5
    alike deep --set model.name=resnet18 --set model.hidden=0 --set model.dropout=0 --set model.width=0.25 --set train.steps=3
    alike smaller --set model.name=crnn-small --set train.parts=8 --set data.synth.count=19 --set train.progressive.epochs=1
fi

# --- a run goes on with another number of processes ---
go_on() {
    n=$1
    shift
    if [ "$n" = 1 ] || [ -z "$several" ]; then expect 0 "$captrain" train small.yaml --threads 1 "$@"
    else expect 0 timeout 120 "$captrain" launch -n "$n" train small.yaml --threads 1 "$@"; fi
}
expect 0 "$captrain" train small.yaml --out whole --set train.steps=9 --set train.epochs=9
go_on 1 --out "$work/cut" --set train.steps=3 --set train.epochs=9
go_on 2 --out "$work/cut" --set train.steps=6 --set train.epochs=9 --resume
go_on 4 --out "$work/cut" --set train.steps=9 --set train.epochs=9 --resume
same "a run that went on" "$(value cut weights_hash)" "$(value whole weights_hash)"
same "steps of it" "$(value cut steps)" 9
[ -z "$several" ] || same "processes of its parts" "$(tr -d ' \n' < cut/result.json | sed 's/.*"resumed_with":\[\([^]]*\)\].*/\1/')" 1,2,4
expect 2 "$captrain" train small.yaml --out cut --set train.steps=12 --set train.epochs=9 --set train.parts=2 --resume
says 'train.parts (4 -> 2)'

# --- it is the parts that decide ---
expect 0 "$captrain" train small.yaml --out two --set train.parts=2
checks=$((checks + 1))
[ "$(value two weights_hash)" != "$(value plain.1 weights_hash)" ] || fail "batch norms of two parts see what those of four see"
says '^  parts      2 of 8 samples each, and batch norms see those; any power of two up to 2 processes trains the same bits'

# --- what cannot be ---
refused() {
    text=$1
    shift
    expect 2 "$captrain" train small.yaml --out none "$@"
    says "$text"
    checks=$((checks + 1))
    [ ! -e none/config.yaml ] || fail "a run was begun"
}
refused 'train.parts: must be a power of two (got 3)' --set train.parts=3
refused 'train.batch_size: 18 samples cannot be cut into 4 equal parts; 20 can' --set train.batch_size=18
refused 'make train.batch_size 2 times as large in place of train.accumulate' --set train.accumulate=2
refused 'it needs train.deterministic' --set train.deterministic=false
if [ -n "$several" ]; then
    expect 2 timeout 60 "$captrain" launch -n 4 train small.yaml --out "$work/none" --set train.parts=2
    says 'train.parts: 2 parts cannot be shared evenly by 4 processes: start 1, 2, 4, ... of them, at most 2'
    expect 2 timeout 60 "$captrain" launch -n 3 train small.yaml --out "$work/none"
    says 'train.parts: 4 parts cannot be shared evenly by 3 processes'
fi

# --- what is planned is a part ---
expect 0 "$captrain" plan small.yaml
prints '^parts          4 of 4 samples, shown is the last'
number() { "$captrain" plan small.yaml --set "train.parts=$1" --json | sed 's/.*"'"$2"'": *\([0-9]*\).*/\1/'; }
same "plan --json" "$(number 4 parts) $(number 0 parts)" "4 1"
checks=$((checks + 1))
[ "$(number 4 activations_lower_bound)" -lt "$(number 0 activations_lower_bound)" ] || fail "parts save no memory"
expect 0 "$captrain" profile small.yaml --steps 4
finish
