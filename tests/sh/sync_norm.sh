#!/bin/sh
# train.sync_norm, from outside: batch norms of several processes see what one sees.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
skip() {
    echo "skipped: $*"
    exit 77
}
[ -e "$CT_BUILDDIR/.libs/captrain-mpi.so" ] || skip "configure did not build the MPI engine"
case ${CT_SANITIZERS:-} in *thread*) skip "the MPI libraries were not built for the thread sanitizer" ;; esac
CAPTRAIN_BACKEND_PATH=$CT_BUILDDIR/.libs OMP_WAIT_POLICY=passive
# What is left at the end is the MPI library's.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export CAPTRAIN_BACKEND_PATH OMP_WAIT_POLICY ASAN_OPTIONS
"$captrain" launch -n 2 --dry-run train > "$work/out" 2> "$work/err" || skip "$(tail -1 "$work/err")"
cd "$work" || exit 99

cat > small.yaml << 'EOF2'
name: small
model: {name: textcnn-small, hidden: 16, dropout: 0}
data: {train: 'synth:text', height: 20, width: 60, cache: false, synth: {count: 26, val_count: 8}}
train: {batch_size: 12, epochs: 1, workers: 1, sync_norm: true}
optimizer: {name: sgd, lr: 0.002}
schedule: {name: constant}
log: {interval_steps: 1}
EOF2

# numbers RUN: loss and norm of the gradient of each step
numbers() { sed -n 's/.*"event":"step".*"loss":\([^,]*\),.*"grad_norm":\([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }

# What rounds otherwise may put a unit of a ReLU, or the greatest of a window, on the other side: one of thousands, which changes
# a gradient by a ten-thousandth. Norms that see something else change it by hundredths.
AS_GOOD_AS_NONE=1e-3 SOMETHING=1e-2

# apart A B: the largest relative difference
apart() {
    numbers "$1" > a
    numbers "$2" > b
    paste a b | awk '{ for (i = 1; i <= 2; i++) { d = ($i - $(i + 2)) / $i; if (d < 0) d = -d; if (d > m) m = d } }
                     END { printf "%.3g\n", NR ? m : 1 }'
}

# near RUN ONE: as one process, but for rounding
near() {
    checks=$((checks + 1))
    off=$(apart "$2" "$1")
    awk -v x="$off" -v y="${limit:-$AS_GOOD_AS_NONE}" 'BEGIN { exit !(x < y) }' || fail "$1 is $off away from $2"
}

# alike NAME N...: the last of three batches has 2 samples: of three or four processes some have none of it
alike() {
    name=$1 sizes=$2
    shift 2
    expect 0 "$captrain" train small.yaml --out "$name.1" --threads 1 "$@"
    checks=$((checks + 1))
    [ "$(numbers "$name.1" | wc -l)" -ge 1 ] || fail "$name: too few steps"
    for n in $sizes; do
        expect 0 timeout 120 "$captrain" launch -n "$n" train small.yaml --threads 1 --out "$work/$name.$n" "$@"
        says 'and batch norms see all'
        near "$name.$n" "$name.1"
    done
}
alike plain '2 3 4'
# statistics of the whole batch are what makes it so
expect 0 timeout 120 "$captrain" launch -n 2 train small.yaml --threads 1 --out "$work/own" --set train.sync_norm=false
checks=$((checks + 1))
awk -v x="$(apart plain.1 own)" -v y=$SOMETHING 'BEGIN { exit !(x > y) }' || fail "norms of two processes see what one sees"

# where nothing lies within rounding of a tie, twenty steps end where one process does: rounding in f64 is 1e-16
limit=1e-10
alike exact '2' --set train.precision=f64 --set train.epochs=7 --set train.steps=20
limit=

# what is validated with: running statistics are those of one process
loss() { sed -n 's/.*"event":"eval".*"loss":\([^,]*\),.*/\1/p' "$1/metrics.jsonl" | tail -1; }
for n in 2 4; do
    checks=$((checks + 1))
    awk -v a="$(loss plain.1)" -v b="$(loss "plain.$n")" 'BEGIN { d = (a - b) / a; exit !(a > 0 && d * d < 1e-8) }' ||
        fail "validation: $(loss plain.1) and, of $n processes, $(loss "plain.$n")"
done

if [ -z "${CT_QUICK:-}" ]; then
    alike micro 4 --set train.accumulate=2 --set train.batch_size=8
    limit=3e-2 # what bf16 rounds moves a gradient by a hundredth
    alike half 2 --set train.precision=bf16 --set train.steps=1
    limit=
    alike wide 3 --set model.name=crnn-small --set data.height=32 --set data.size_rule=fit_height --set model.hidden=0
fi

refused() {
    text=$1
    shift
    expect 2 "$captrain" train small.yaml --out none "$@"
    says "$text"
}
refused "cannot wait for each other's statistics" --set train.parts=4
refused 'it wants train.recompute none' --set train.recompute=all
finish
