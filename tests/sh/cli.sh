#!/bin/sh
# The command line from outside: verbs, options, exit codes, help, generated data.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"

# --- help and usage ---
expect 0 "$captrain" --version
prints '^captrain [0-9]'
expect 0 "$captrain" --help
for verb in train eval predict gen check import-torch export plan bench tune profile selftest doctor monitor help; do
    prints "^  $verb "
done
for verb in train eval predict gen check import-torch export plan bench tune profile selftest doctor monitor help; do
    expect 0 "$captrain" "$verb" --help
    prints "^captrain $verb"
    expect 0 "$captrain" --help "$verb"
done
expect 0 "$captrain" help config
prints 'train.batch_size'
expect 0 "$captrain" help man
prints '^\.TH CAPTRAIN 1'
prints 'batch_size'
prints 'CAPTRAIN_CACHE_DIR'
expect 2 "$captrain" nonsense
says "unknown verb 'nonsense'; see captrain --help"
expect 2 "$captrain" trian
says "unknown verb 'trian'; did you mean 'train'?"
expect 2 "$captrain" evaluate model data
says "did you mean 'eval'?"
expect 2 "$captrain" my.yaml
says "did you mean 'captrain train my.yaml'?"
expect 0 "$captrain" -V
prints '^captrain [0-9]'
expect 0 "$captrain" plan -h
prints '^captrain plan'
expect 2 "$captrain" help nonsense
expect 2 "$captrain" help evaluate
says "did you mean 'eval'?"
expect 0 "$captrain" help train.epochs
prints '^train.epochs = '
checks=$((checks + 1))
[ "$(grep -c ' = ' "$work/out")" -eq 1 ] || fail "help on one key tells of others"
expect 0 "$captrain" help augment
prints '^augment.shift = '
checks=$((checks + 1))
if grep -q '^train' "$work/out"; then fail "help augment prints keys of train"; fi
expect 2 "$captrain" train --nonsense
says "unknown option '--nonsense'; see captrain train --help"
expect 2 "$captrain" train --epochs 3
says "train.epochs is a configuration key: --set train.epochs=\.\.\."
expect 2 "$captrain" train --batch-size=64
says "unknown option '--batch-size'; train.batch_size is a configuration key"
expect 2 "$captrain" eval --jsno a b
says "unknown option '--jsno'; did you mean '--json'?"
expect 2 "$captrain" train a b
says "one word too many: 'b'"
expect 2 "$captrain" eval onlymodel
says 'needs MODEL DATA'
expect 2 "$captrain" bench textcnn --batch
says 'needs a value'
expect 2 "$captrain" bench textcnn --batch 0
says 'whole number from 1'
expect 2 "$captrain" bench textcnn --batch 1.5
expect 2 "$captrain" --threads -1 bench textcnn
expect 2 "$captrain" train --set nonsense
says 'KEY=VALUE'
expect 2 "$captrain" --quiet --verbose doctor
says 'exclude each other'
expect 2 "$captrain" gen nonsense --out "$work/x"
expect 2 "$captrain" gen text
says 'needs --out'

# --- backends ---
expect 2 "$captrain" bench textcnn-small --backend nonsense
says 'nonsense'
expect 2 "$captrain" --backend cuda bench textcnn-small
says 'cuda'
expect 2 "$captrain" gen text --out "$work/x" --backend cpu
says 'means nothing here'
expect 2 "$captrain" check "$work" --backend cpu
says 'backend needs --config'
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

# --- output that cannot be written is a failure ---
if [ -w /dev/full ]; then
    checks=$((checks + 1))
    "$captrain" help config >/dev/full 2>"$work/err"
    [ $? -eq 1 ] || fail "help to a full device does not exit 1"
fi

# --- gen: count, names, pure function of the seed, no overwriting ---
expect 0 "$captrain" gen text --style list
prints '^plain '
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
expect 1 "$captrain" gen text --out "$work/a" --count 12 --seed 5
says "$work/a"
expect 0 "$captrain" gen text --out "$work/a" --count 12 --seed 5 --force
expect 0 "$captrain" gen text --out "$work/d" --count 4 --charset ab --length 2-6 --width 90 --height 30
expect 2 "$captrain" gen text --out "$work/e" --style nonsense

# --- check ---
expect 0 "$captrain" check "$work/a"
prints '12'
expect 0 "$captrain" check "$work/a" --json
expect 1 "$captrain" check "$work/a" --config quickstart --set data.length=5 --set data.synth.length=5
expect 2 "$captrain" check "$work/a" --config quickstart --set data.lenght=5
says 'data.length'
expect 1 "$captrain" check "$work/a" --config quickstart --set data.charset=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ --set train.last_batch=drop --set train.batch_size=9999
says 'leaves no batch'

chars=data.charset=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ
expect 0 "$captrain" check "$work/a" --config quickstart --set "$chars" --set pin_memory=true
says 'note: .*pin_memory'
expect 1 "$captrain" check "$work/a" --config quickstart --set "$chars" --set train.backend=cuda
says 'cuda'
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
expect 2 "$captrain" plan --model nonsense
says 'nonsense'
expect 0 "$captrain" bench textcnn-small --batch 4 --steps 2 --warmup 1 --json
for key in model batch params ms_per_step samples_per_s peak_bytes backend precision threads; do
    prints "\"$key\""
done
finish
