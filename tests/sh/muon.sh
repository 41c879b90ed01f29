#!/bin/sh
# optimizer.name: muon and optimizer.groups, from outside: any threads and workers, resume, freezing, accumulation, bf16.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
muon='--set optimizer.name=muon --set optimizer.lr=2e-3'

# shellcheck disable=SC2086 # words are wanted
expect 0 tiny run $muon --set train.workers=0
expect 0 "$captrain" train "$work/tiny.yaml" --threads 2 --out "$work/two" $muon
same weights_hash run two
expect 0 tiny adamw --set optimizer.lr=2e-3
checks=$((checks + 1))
[ "$(value weights_hash adamw)" != "$(value weights_hash run)" ] || fail 'muon trains as adamw does'

# killed and resumed it ends with the same bits, groups or not
killed 2 'weights_hash string_accuracy' $muon --quiet --set checkpoint.every_steps=3 \
    --set 'optimizer.groups=[fc lr=0.5 decay=0, features.4 by=adamw]' --set schedule.name=one_cycle --set model.init=dirac

# frozen parts stay, micro-steps and 16 bits go through
expect 0 tiny frozen $muon --set 'train.freeze=[features.0]' --set train.accumulate=2 --set train.precision=bf16 \
    --set optimizer.clip_grad_norm=1
says 'frozen .* parameter tensors'

# what cannot be is said
expect 2 tiny wrong $muon --set 'optimizer.groups=[rnn lr=2]'
says "optimizer.groups: 'rnn' matches no parameter"
expect 2 tiny wrong --set 'optimizer.groups=[fc by=muon]'
says 'by= is for optimizer.name: muon alone'
expect 2 tiny wrong --set 'optimizer.groups=[fc rate=2]'
says "optimizer.groups: 'rate=2' is none of"
expect 0 tiny idle --set optimizer.muon.steps=3 --set train.epochs=1
says 'optimizer.muon.steps has no effect: optimizer.name is not muon'
finish
