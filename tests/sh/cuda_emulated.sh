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

# --- operators: all but the direct convolutions, whose many cases take minutes here; a call of each stands for them. Depthwise ones
# are quick: all of their cases, and each direction must take tens of each type. Batch norms of a whole group are the CPU's alone ---
operators=$(sed -n 's/^CT_OP([A-Z0-9_]*, "\([a-z0-9_]*\)".*/\1/p' "$CT_SRCDIR/src/ops/ops.def" | grep -v -e '^conv2d' -e '^reshape$' \
    -e '^group_sum$' -e '^batchnorm_moments' -e '^batchnorm_joint')
[ -z "${CT_QUICK:-}" ] || operators="batchnorm softmax_xent lstm"
for op in $operators; do
    expect 0 "$captrain" selftest --backend cuda --op "$op"
    prints 'cuda.kernel\|cuda.lt'
    prints ', 0 failed'
done
window='stride_h=2 stride_w=1 pad_h=1 pad_w=2 dil_h=1 dil_w=2 groups=2'
for call in "conv2d{$window}(f32[2,7,9,4], f32[6,3,3,2], f32[6])" \
    "conv2d_dgrad{$window in_h=7 in_w=9}(bf16[2,4,9,6], bf16[6,3,3,2])" \
    "conv2d_wgrad{$window ker_h=3 ker_w=3}(f16[2,7,9,4], f16[2,4,9,6])"; do
    expect 0 "$captrain" selftest --backend cuda --case "$call"
    prints 'cuda.direct'
    prints ', 0 failed'
done

# --- cuDNN's and cuBLASLt's stand-ins check what they are given: scratch at 256 bytes and no less than was asked for ---
for op in conv2d conv2d_dgrad conv2d_wgrad; do
    expect 0 "$captrain" selftest --backend cuda --op $op --impl cuda.dnn
    for type in f32 bf16 f16; do prints "$op  *cuda.dnn  *$type  *-ED  *[1-9][0-9]* .*ok"; done
    prints ', 0 failed'
    expect 0 "$captrain" selftest --backend cuda --op $op --impl cuda.depthwise
    for type in f32 bf16 f16; do prints "$op  *cuda.depthwise  *$type  *-ED  *[1-9][0-9] .*ok"; done
    prints ', 0 failed'
    [ $op != conv2d_dgrad ] || continue
    expect 0 "$captrain" selftest --backend cuda --op $op --impl cuda.few
    for type in f32 bf16 f16; do prints "$op  *cuda.few  *$type  *-ED  *[1-9][0-9] .*ok"; done
    prints ', 0 failed'
done

# --- with --variants each engine and algorithm of a library is tested, not only what is chosen; a wrong one is named, and its line repeats it ---
expect 0 "$captrain" selftest --backend cuda --op conv2d_dgrad --impl cuda.dnn --variants
for type in f32 bf16 f16; do prints "conv2d_dgrad  *cuda.dnn variants  *$type  *-ED  *[1-9][0-9]* .*ok"; done
prints ', 0 failed'
EMULATE_WRONG=dnn-3
export EMULATE_WRONG
set -- --backend cuda --seed 1 --data ints --case \
    'conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}(bf16[2,5,6,8], bf16[16,3,3,8], -)'
expect 0 "$captrain" selftest --impl cuda.dnn "$@"
expect 1 "$captrain" selftest --impl cuda.dnn --variants "$@"
prints '^FAIL: conv2d cuda.dnn:eng3/k0=4 bf16: output 0\[0\] is '
prints '^REPRO: captrain selftest --backend cuda --seed 1 --impl cuda.dnn:eng3/k0=4 --data ints --case '
says 'selftest: 1 of [1-9][0-9]* cases failed; first: conv2d cuda.dnn:eng3/k0=4: output'
line=$(sed -n 's/^REPRO: captrain //p' "$work/out")
expect 1 eval "\"\$captrain\" $line"
prints '1 cases: 0 passed, 0 warnings, 1 failed'
unset EMULATE_WRONG

# --- a training: same seed, same data; sums have another order, so losses agree to rounding ---
small="--set model.width=0.25 --set data.height=16 --set data.width=40 --set train.steps=6 --set log.interval_steps=1"
# shellcheck disable=SC2086
expect 0 tiny cuda $small --backend cuda
# shellcheck disable=SC2086
expect 0 tiny cpu $small --backend cpu
losses() { sed -n 's/.*"event": *"step".*"loss": *\([0-9.e+-]*\).*/\1/p' "$work/$1/metrics.jsonl"; }
# losses_agree DIR DIR SHARE: the steps' losses differ by at most that share
losses_agree() {
    checks=$((checks + 1))
    losses "$1" > "$work/a"
    losses "$2" > "$work/b"
    paste "$work/a" "$work/b" |
        awk -v share="$3" '{ d = $1 - $2; if (d < 0) d = -d; if (d > share * $2) bad = 1; n++ } END { exit bad || n < 3 }' ||
        fail "losses differ: $(paste "$work/a" "$work/b")"
}
losses_agree cuda cpu 1e-3

# --- in 16 bits the images have 8 channels in place of 1 on this backend, and the training is the same ---
short="$small --set train.steps=3"
# shellcheck disable=SC2086
expect 0 "$captrain" plan "$work/tiny.yaml" $small --backend cuda --set train.precision=bf16
prints 'channels       1 padded with zeros to 8 for features.0'
prints 'fit_channels'
# shellcheck disable=SC2086
expect 0 "$captrain" plan "$work/tiny.yaml" $small --backend cpu --set train.precision=bf16
checks=$((checks + 1))
! grep -q -e 'padded' -e 'fit_channels' "$work/out" || fail "the CPU pads channels"
# shellcheck disable=SC2086
expect 0 tiny cuda16 $short --backend cuda --set train.precision=bf16
# shellcheck disable=SC2086
expect 0 tiny cpu16 $short --backend cpu --set train.precision=bf16
losses_agree cuda16 cpu16 0.02

# --- a captured step gives the bits of an uncaptured one ---
# shellcheck disable=SC2086
expect 0 tiny eager $small --backend cuda --set train.graph=false
same weights_hash cuda eager
# shellcheck disable=SC2086
CAPTRAIN_VERBOSE=plan expect 0 tiny seen $small --backend cuda
says 'nodes captured'

# --- the order in which blocks are done is chance on a card, and changes no bit ---
EMULATE_FALLING=1
export EMULATE_FALLING
# shellcheck disable=SC2086
expect 0 tiny falling $small --backend cuda
same weights_hash cuda falling
unset EMULATE_FALLING

# --- nor does the size of the card change one: grids and the parts of sums are functions of shapes ---
EMULATE_SMS=132
export EMULATE_SMS
expect 0 "$captrain" doctor
prints '132 multiprocessors'
# shellcheck disable=SC2086
expect 0 tiny large $small --backend cuda
same weights_hash cuda large
for sms in 132 7; do
    EMULATE_SMS=$sms
    # shellcheck disable=SC2086
    expect 0 tiny "crnn-$sms" $short --backend cuda --set train.precision=bf16 --set model.name=crnn --set data.height=32 --set train.batch_size=4 --set train.deterministic=true
done
same weights_hash crnn-132 crnn-7
unset EMULATE_SMS
checks=$((checks + 1))
! grep -n 'sms\b\|multiProcessorCount' "$CT_SRCDIR"/backends/cuda/*.cu "$CT_SRCDIR"/backends/cuda/*.cuh || fail "a kernel looks at the number of multiprocessors"

# --- what a step asks of the card: 154 calls once for textcnn, 673 for resnet50, in bf16 (a whole one has as many as this small one, but
# for the biases of linear layers, which are calls of their own where rows are not aligned or sums split: two and one here) ---
# calls_at_most N MODEL [ARGS...]
calls_at_most() {
    most=$1 model=$2
    shift 2
    EMULATE_SHOW=1
    export EMULATE_SHOW
    # shellcheck disable=SC2086
    expect 0 tiny "calls-$model" $small --backend cuda --set train.precision=bf16 --set model.name="$model" --set model.width=0.1 \
        --set optimizer.ema_decay=0 "$@"
    unset EMULATE_SHOW
    checks=$((checks + 1))
    calls=$(sed -n 's/^emulated card: a graph of \([0-9]*\) calls$/\1/p' "$work/err" | sort -n | tail -1)
    [ "${calls:-999}" -le "$most" ] || fail "a step of $model is $calls calls"
}
calls_at_most 84 textcnn
calls_at_most 384 resnet50 --set model.hidden=0 --set data.height=32 --set data.width=32 --set train.batch_size=4

# --- the receipt: what the libraries compute is as asked; what they refuse is done by plain loops, with a warning, and train.strict refuses
# it; kernels of ours use no matrix units ---
# shellcheck disable=SC2086
expect 0 tiny strict $small --backend cuda --set train.precision=bf16 --set train.strict=true
checks=$((checks + 1))
! grep -q 'plain loops' "$work/err" || fail "plain loops are warned of where the libraries take all"
checks=$((checks + 1))
! grep -q 'cuda.few' "$work/strict/receipt.json" || fail "a strict run has convolutions without matrix units"
checks=$((checks + 1))
grep -q 'cuda.few' "$work/cuda16/receipt.json" || fail "the first convolution of a bf16 run is not cuda.few"
EMULATE_WRONG=dnn
export EMULATE_WRONG
# shellcheck disable=SC2086
expect 2 tiny refused $small --backend cuda --set train.strict=true
says 'train.strict: conv2d by cuda.direct, node .*: the yardstick, plain loops, is taken: the library refuses'
# shellcheck disable=SC2086
expect 0 "$captrain" plan "$work/tiny.yaml" $small --backend cuda
says "node '.*' (and others) runs as cuda.direct, plain loops that are hundreds of times slower than a library: cuDNN has no plan"
unset EMULATE_WRONG
expect 0 "$captrain" plan --model crnn --batch 2 --backend cuda --precision bf16
prints 'lstm by cuda.kernel (node .*): bf16 was asked for, factors are multiplied as fp32'
# Of more samples it is matrix units that multiply, and more exactly than was asked for.
expect 0 "$captrain" plan --model crnn --batch 32 --backend cuda --precision bf16
prints 'cuda.mma'
checks=$((checks + 1))
! grep -q 'lstm by ' "$work/out" || fail "an LSTM on matrix units is a fault"

# --- cards before compute capability 8.0 have neither bf16 nor tf32, and say so ---
EMULATE_CAPABILITY=61
export EMULATE_CAPABILITY
expect 1 "$captrain" plan --model textcnn-small --batch 2 --backend cuda --precision bf16
says 'bf16 needs compute capability 8.0, which this card has not; fp16 does without'
expect 1 "$captrain" plan --model textcnn-small --batch 2 --backend cuda --precision tf32
says 'tf32 needs compute capability 8.0; emulated card has 6.1: use fp32 or fp16'
expect 0 "$captrain" plan --model textcnn-small --batch 2 --backend cuda --precision fp16
unset EMULATE_CAPABILITY

finish
