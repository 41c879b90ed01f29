#!/bin/sh
# How images get to the device makes no difference to what is trained: resident or sent, through pinned memory beside steps or not, on the
# CPU backend and on the emulated card, whose copies are put off as long as CUDA's rules allow.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

# 37 images: short last batches; some are held out, so resident rows are not the samples' places in the epoch.
small="--set model.width=0.25 --set data.synth.count=37 --set data.synth.val_count=9 --set log.interval_steps=2"

# --- CPU: resident only when told so ---
# shellcheck disable=SC2086
expect 0 tiny sent $small --backend cpu
says "are sent batch by batch: the device reads the host's memory"
# shellcheck disable=SC2086
expect 0 tiny held $small --backend cpu --set data.resident=true
says 'images *stay on the device: 37 images of 640 bytes'
same weights_hash sent held
same string_accuracy sent held
# shellcheck disable=SC2086
expect 0 tiny sent3 $small --backend cpu --set train.accumulate=2
# shellcheck disable=SC2086
expect 0 tiny held3 $small --backend cpu --set train.accumulate=2 --set data.resident=true
same weights_hash sent3 held3

# --- a folder, part of it held out, resumed with the other way ---
expect 0 "$captrain" gen text --out "$work/images" --count 40 --charset 0123 --length 2 --width 40 --height 16
folder="--set data.train=$work/images --set data.val= --set data.val_fraction=0.2 --set model.width=0.25"
# shellcheck disable=SC2086
expect 0 tiny one $folder --backend cpu
# shellcheck disable=SC2086
expect 0 tiny two $folder --backend cpu --set data.resident=true
same weights_hash one two
# shellcheck disable=SC2086
expect 0 tiny two $folder --backend cpu --resume
same weights_hash one two

# --- what cannot be resident is refused with the reason, and left to auto ---
# shellcheck disable=SC2086
expect 2 tiny fresh $small --backend cpu --set data.resident=true --set data.synth.fresh=true
says 'data.resident: true cannot be: new images are drawn in every epoch'
expect 2 "$captrain" plan "$work/tiny.yaml" --backend cpu --set data.resident=true --set data.synth.fresh=true
says 'data.resident: true cannot be'
expect 0 "$captrain" plan "$work/tiny.yaml" --backend cpu --set data.resident=true
prints '^resident  .*100 images of 640 bytes'
expect 0 "$captrain" plan "$work/tiny.yaml" --backend cpu
prints '^resident  *no images'
expect 0 "$captrain" plan "$work/tiny.yaml" --backend cpu --set data.resident=true --json
prints '"images":64000,'

# --- the emulated card: five steps, of which one is short and one is captured ---
if [ -z "${CT_SANITIZERS:-}" ]; then
    CAPTRAIN_BACKEND_PATH="${CT_BUILDDIR:?}/tests/emulate/.libs"
    export CAPTRAIN_BACKEND_PATH
    card="--set model.width=0.1 --set model.hidden=8 --set data.width=16 --set data.synth.length=1 --set train.batch_size=4"
    card="$card --set data.synth.count=18 --set data.synth.val_count=3 --set train.epochs=1 --backend cuda"
    # shellcheck disable=SC2086
    expect 0 tiny c_auto $card
    says 'stay on the device'
    EMULATE_LATE=1
    export EMULATE_LATE
    # shellcheck disable=SC2086
    expect 0 tiny l_held $card
    # shellcheck disable=SC2086
    expect 0 tiny l_sent $card --set data.resident=false
    same weights_hash c_auto l_held
    same weights_hash c_auto l_sent
    same string_accuracy c_auto l_sent
    # metrics come late, but for the same steps and with the same numbers
    # shellcheck disable=SC2086
    expect 0 tiny l_often $card --set log.interval_steps=1
    same weights_hash c_auto l_often
    # shellcheck disable=SC2086
    unset EMULATE_LATE
    expect 0 tiny c_often $card --set log.interval_steps=1 --no-graph
    EMULATE_LATE=1
    for run in c_often l_often; do
        sed -n '/"event":"step"/s/.*"step":\([0-9]*\),.*"loss":\([^,]*\),.*"lr":\([^,]*\),.*/\1 \2 \3/p' "$work/$run/metrics.jsonl" > "$work/$run.steps"
    done
    [ "$(cut -d ' ' -f 1 < "$work/l_often.steps" | tr '\n' ' ')" = '1 2 3 4 5 ' ] || fail "step events: $(cat "$work/l_often.steps")"
    cmp -s "$work/l_often.steps" "$work/c_often.steps" || fail "step events differ: $(diff "$work/l_often.steps" "$work/c_often.steps")"
    if [ -z "${CT_QUICK-}" ]; then
        unset EMULATE_LATE
        # shellcheck disable=SC2086
        expect 0 "$captrain" profile "$work/tiny.yaml" $card --steps 2 --set data.resident=false
        prints 'copy of a batch, alone (runs beside steps)'
        prints 'queueing, replayed in one piece'
        prints 'queueing, call by call'
        prints '^bound by: '
    fi
fi
finish
