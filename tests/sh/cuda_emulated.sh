#!/bin/sh
# The CUDA backend on an emulated card: every kernel against the reference, and a training that agrees with the CPU's.
if [ -n "${CT_SANITIZERS:-}" ]; then
    echo "skipped: sanitizers do not know the emulator's fibers"
    exit 77
fi
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

CAPTRAIN_BACKEND_PATH="${CT_BUILDDIR:?}/tests/emulate/.libs"
export CAPTRAIN_BACKEND_PATH

# --- operators ---
if [ -n "${CT_QUICK:-}" ]; then
    expect 0 "$captrain" selftest --backend cuda --op batchnorm
    expect 0 "$captrain" selftest --backend cuda --op softmax_xent
else
    expect 0 "$captrain" selftest --backend cuda
fi
prints 'cuda.kernel'
prints ', 0 failed'

# --- a training: same seed, same data; sums have another order, so losses agree to rounding ---
small="--set model.width=0.25 --set data.height=16 --set data.width=40 --set train.steps=6 --set log.interval_steps=1"
# shellcheck disable=SC2086
expect 0 tiny cuda $small --backend cuda
# shellcheck disable=SC2086
expect 0 tiny cpu $small --backend cpu
checks=$((checks + 1))
losses() { sed -n 's/.*"event": *"step".*"loss": *\([0-9.e+-]*\).*/\1/p' "$work/$1/metrics.jsonl"; }
losses cuda > "$work/a"
losses cpu > "$work/b"
paste "$work/a" "$work/b" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-3 * $2) bad = 1; n++ } END { exit bad || n < 3 }' ||
    fail "losses differ: $(paste "$work/a" "$work/b")"

finish
