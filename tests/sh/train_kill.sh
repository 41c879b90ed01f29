#!/bin/sh
# A run killed with SIGKILL at seeded random moments and resumed each time ends with the weights of the run that was let alone.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

kills=15 epochs=60
[ -n "${CT_QUICK-}" ] && kills=4 epochs=12
opts="--set train.epochs=$epochs --set checkpoint.every_steps=5 --set train.workers=2 --quiet"

expect 0 tiny warm --quiet --set train.epochs=1 # the pictures are drawn and cached before anything is timed
# shellcheck disable=SC2086
killed $kills 'weights_hash string_accuracy steps' $opts
finish
