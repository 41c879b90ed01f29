#!/bin/sh
# Pre-trains on generated images, then fine-tunes on real ones: doc/recipes/finetune.md.
#   finetune.sh REAL OUT [TEST] [-- OPTIONS...]
# REAL: folder with a few hundred labelled images. OUT: folder for the two runs. TEST: folder with other labelled images, to be
# scored before and after. OPTIONS go to both trainings (--threads 4), e.g. a short trial: -- --set train.steps=20
# CAPTRAIN names the program, if it is not in the path. A part that is finished is not done again.
set -eu

usage() {
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

[ $# -ge 2 ] || usage
real=$1
out=$2
shift 2
test=
if [ $# -gt 0 ] && [ "$1" != -- ]; then
    test=$1
    shift
fi
if [ $# -gt 0 ]; then
    [ "$1" = -- ] || usage
    shift
fi
captrain=${CAPTRAIN:-captrain}
pretrained=$out/pretrain/checkpoints/best.safetensors
tuned=$out/finetune/checkpoints/best.safetensors

# What the real images are: unreadable files and characters that the generator must be told about show up here.
"$captrain" check "$real" --config finetune --set "data.train=$real"

# A run that was interrupted goes on, one that is complete does nothing.
run() {
    dir=$1
    config=$2
    shift 2
    if [ -e "$dir/config.yaml" ]; then
        "$captrain" train "$config" --out "$dir" --resume "$@"
    else
        "$captrain" train "$config" --out "$dir" "$@"
    fi
}

run "$out/pretrain" finetune-pretrain "$@"
if [ -e "$out/finetune/config.yaml" ]; then
    run "$out/finetune" finetune --set "data.train=$real" "$@"
else
    run "$out/finetune" finetune --set "data.train=$real" --init "$pretrained" "$@"
fi

if [ -n "$test" ]; then
    echo "before fine-tuning:"
    "$captrain" eval "$pretrained" "$test"
    echo "after:"
    "$captrain" eval "$tuned" "$test"
fi
