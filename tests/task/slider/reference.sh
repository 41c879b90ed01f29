#!/bin/sh
# The reference's own files are read unchanged: keys have a meaning or are named with the reason, a misspelt one is an
# error.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
files=$CT_SRCDIR/tests/task/slider/reference

# plans FILE: what a training with it would do
plans() {
    expect "$1" "$captrain" plan "$2" --threads 1 --set model.name=slider-small --set data.train=synth:slider \
        --set train.backend=cpu --set train.batch_size=1
}

for name in training_config loss_early loss_late preprocessing_config; do
    plans 0 "$files/$name.yaml"
    cp "$work/err" "$work/$name.notes"
    # every key of the last level, misspelt, one by one
    sed -n 's/^ *\([a-z_0-9]*\): [^{ ].*/\1/p' "$files/$name.yaml" | sort -u >"$work/keys"
    while read -r key; do
        sed "0,/^\( *\)$key: /s//\1${key}q: /" "$files/$name.yaml" >"$work/misspelt.yaml"
        plans 2 "$work/misspelt.yaml"
        case $name/$key in
        preprocessing_config/raw_dir | preprocessing_config/processed_dir | preprocessing_config/image_pattern) ;;
        *) says "unknown key '[a-z_.]*${key}q'" ;;
        esac
    done <<KEYS
$(grep -v -e '^raw_dir$' -e '^processed_dir$' -e '^image_pattern$' "$work/keys")
KEYS
done

# says_in FILE PATTERN
says_in() {
    checks=$((checks + 1))
    grep -q -e "$2" "$work/$1.notes" || fail "$1.yaml: no note '$2'"
}
says_in training_config 'model.input_channels: counts the mask'
says_in training_config 'sched.warmup_epochs: is no warm-up .*warm_restarts'
says_in training_config 'model.model_path is not used'
says_in loss_early 'loss.name is slider_early'
says_in loss_late 'padding_bce.eps is not used'
expect 0 "$captrain" plan "$files/training_config.yaml" --threads 1 --set data.train=synth:slider --set train.backend=cpu \
    --set train.batch_size=1
prints 'bf16\['
expect 0 "$captrain" plan "$files/loss_early.yaml" --threads 1 --set model.name=slider-small
checks=$((checks + 1))
if grep -q heat_rows "$work/out"; then fail "the early loss has rows"; fi

# a model of another task says what it does not read
expect 0 "$captrain" plan "$files/preprocessing_config.yaml" --threads 1
says 'letterbox.target_size has no effect: only slider models'
finish
