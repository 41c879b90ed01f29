#!/bin/sh
# The command line from outside, where it is more than words (those are cases of tests/cli): this machine, output that
# cannot be written, generated data, data judged as a training would, plans.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"

# --- this machine; what is printed of wrong words and options stands in tests/cli ---
expect 0 "$captrain" doctor
prints 'backend cpu'
prints 'backend cuda.*not available'
expect 0 "$captrain" doctor --json
prints '"findings"'
expect 0 "$captrain" doctor
prints '^cache directory *'"$work"
if grep -q 'avx2' "$work/out"; then
    # a kernel set pinned below the processor's is warned about
    expect 0 env OPENBLAS_CORETYPE=Nehalem "$captrain" doctor
    prints 'WARNING: OPENBLAS_CORETYPE'
fi

# --- a backend that neither build nor machine is for is not spoken of unless asked ---
if [ ! -e /proc/driver/nvidia ]; then
    expect 0 env CAPTRAIN_BACKEND_PATH="$work/none" "$captrain" selftest --op l2_normalize
    checks=$((checks + 1))
    if grep -q cuda "$work/out" "$work/err"; then fail "selftest speaks of a backend that is not there"; fi
    expect 2 env CAPTRAIN_BACKEND_PATH="$work/none" "$captrain" --backend cuda selftest --op l2_normalize
    says 'no plug-in'
fi

# --- output that cannot be written is a failure ---
if [ -w /dev/full ]; then
    checks=$((checks + 1))
    "$captrain" help config >/dev/full 2>"$work/err"
    [ $? -eq 1 ] || fail "help to a full device does not exit 1"
fi

# --- gen: count, names, pure function of the seed, no overwriting ---
expect 0 "$captrain" gen text --out "$work/a" --count 12 --seed 5
checks=$((checks + 1))
[ "$(find "$work/a" -name '*.png' | wc -l)" -eq 12 ] || fail "gen did not write 12 files"
expect 0 "$captrain" --threads 3 gen text --out "$work/b" --count 12 --seed 5
expect 0 diff -r "$work/a" "$work/b"
expect 0 "$captrain" gen text --out "$work/c" --count 12 --seed 6
expect 1 diff -rq "$work/a" "$work/c"
expect 0 "$captrain" gen text --out "$work/s0" --count 2 --seed 0
expect 0 "$captrain" gen text --out "$work/s1" --count 2 --seed 1
expect 1 diff -rq "$work/s0" "$work/s1"
expect 0 "$captrain" gen text --out "$work/d" --count 4 --charset ab --length 2-6 --width 90 --height 30

# --- check ---
expect 0 "$captrain" check "$work/a"
prints '12'
chars=data.charset=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ
for i in "$work"/a/*.png; do cp "$i" "${i%.png}_again.png"; done
expect 0 "$captrain" check "$work/a" --config quickstart --set "$chars" --set data.val_fraction=0.5
says 'are also in the training set'

# --- plan touches no tensor and prints the same peak as bench plans for ---
expect 0 "$captrain" plan --model textcnn --batch 64 --json
prints '"peak_bytes"'
expect 0 "$captrain" plan --model textcnn --batch 64
prints 'conv2d'
prints '19,\{0,1\}072,\{0,1\}400'
expect 0 "$captrain" plan quickstart
expect 0 "$captrain" plan quickstart --set pin_memory=true
says 'note: .*pin_memory'
expect 0 "$captrain" bench textcnn-small --batch 4 --steps 2 --warmup 1 --json
for key in model batch params ms_per_step samples_per_s peak_bytes backend precision threads; do
    prints "\"$key\""
done
finish
