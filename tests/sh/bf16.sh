#!/bin/sh
# bf16 as arithmetic on the CPU: its implementations against the reference with the instruction emulated, whatever the processor;
# trainings that compute in nothing else (train.strict), same bits for any number of threads, killed and resumed, evaluated and used.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

# --- the operators, products emulated: of words, and of tiles ---
export CAPTRAIN_KERNELS
for CAPTRAIN_KERNELS in basebf16 baseamx; do
    for op in conv2d conv2d_dgrad conv2d_wgrad linear linear_dgrad linear_wgrad; do
        expect 0 "$captrain" selftest --backend cpu --op $op --impl cpu.bf16
        prints "^$op  *cpu.bf16  *bf16  *-ED .* ok\$"
        prints "refused: cpu.bf16: operands of bf16 alone"
    done
done
expect 0 "$captrain" selftest --backend cpu --op conv2d --impl cpu.winograd16
prints 'refused: cpu.winograd16: with these loops transforms would take longer than they save'
CAPTRAIN_KERNELS=basebf16
for op in conv2d conv2d_dgrad conv2d_wgrad; do
    expect 0 "$captrain" selftest --backend cpu --op $op --impl cpu.winograd16
    prints "^$op  *cpu.winograd16  *bf16  *--D .* ok\$"
done

# --- products of f32 by tiles, emulated ---
CAPTRAIN_KERNELS=baseamx
for op in conv2d conv2d_dgrad conv2d_wgrad linear linear_dgrad linear_wgrad; do
    [ -z "${CT_QUICK:-}" ] || [ $op = linear ] || continue
    expect 0 "$captrain" selftest --backend cpu --op $op --impl cpu.split
    prints "^$op  *cpu.split  *f32  *-ED .* ok\$"
    prints "refused: cpu.split: f32 alone"
done

# --- where a processor has no such products it is said, and strict refuses ---
CAPTRAIN_KERNELS=base
expect 0 "$captrain" selftest --backend cpu --op conv2d --impl cpu.bf16
prints 'refused: cpu.bf16: this processor, or the set of loops asked for, has no products of bf16 (AVX512-BF16, AMX)'
expect 0 "$captrain" selftest --backend cpu --op linear --impl cpu.split
prints 'refused: cpu.split: this processor, or the set of loops asked for, multiplies no tiles (AMX)'
wide="--quiet --set train.precision=bf16 --set model.width=2"
# shellcheck disable=SC2086
expect 2 tiny no $wide --set train.strict=true
says 'train.strict: conv2d by cpu\.[a-z0-9]*, .*: bf16 was asked for, factors are multiplied as fp32'

# --- where there are some, all heavy operators of a model with more than a few channels have them ---
CAPTRAIN_KERNELS=basebf16
short="$wide --set train.strict=true --set train.steps=6"
# shellcheck disable=SC2086
expect 0 tiny one $short
checks=$((checks + 4))
receipt=$work/one/receipt.json
grep -q '"impl": "cpu.bf16"' "$receipt" || fail "no product of bf16"
grep -q '"impl": "cpu.winograd16"' "$receipt" || fail "no Winograd of bf16"
grep -q '"math": "bf16"' "$receipt" || fail "the receipt tells of no factors of bf16"
if grep -q '"fault": "' "$receipt"; then fail "a fault in the receipt of a strict run"; fi
# shellcheck disable=SC2086
expect 0 "$captrain" train "$work/tiny.yaml" --threads 3 --out "$work/three" $short
same weights_hash one three
CAPTRAIN_KERNELS=baseamx
# shellcheck disable=SC2086
expect 0 tiny tiles $short
# shellcheck disable=SC2086
expect 0 "$captrain" train "$work/tiny.yaml" --threads 2 --out "$work/tiles2" $short
same weights_hash tiles tiles2
CAPTRAIN_KERNELS=basebf16
# shellcheck disable=SC2086
expect 0 tiny exact $short --set train.exact=true
checks=$((checks + 1))
if grep -q winograd "$work/exact/receipt.json"; then fail "exact has taken Winograd"; fi

# --- killed and resumed, then used; with what the processor has, the emulation is slow ---
unset CAPTRAIN_KERNELS
kills=3 epochs=12
[ -n "${CT_QUICK-}" ] && kills=1 epochs=6
# shellcheck disable=SC2086
expect 0 tiny warm $wide --set train.epochs=1
# shellcheck disable=SC2086
killed $kills 'weights_hash string_accuracy steps' $wide --set train.epochs=$epochs --set checkpoint.every_steps=5
expect 0 "$captrain" gen text --like "$work/whole" --out "$work/set" --count 12 --seed 5 --quiet
expect 0 "$captrain" eval "$work/whole" "$work/set" --threads 1 --json
prints '"samples": *12'
expect 0 "$captrain" predict "$work/whole" "$work/set" --threads 1
finish
