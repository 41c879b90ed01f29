#!/bin/sh
# A reader from few labelled pictures: it learns on drawn ones that look like yours, then on yours: doc/recipes/few.md.
#   few.sh LABELLED OUT [UNLABELLED] [--charset CHARS] [--test FOLDER] [-- OPTIONS...]
# LABELLED: folder of some 25 to 500 pictures whose labels captrain finds. OUT: folder for the style, the configuration and the two runs.
# UNLABELLED: folder of more pictures of that kind, which only say what pictures look like; default LABELLED. --charset: all characters
# there may be, where the labelled pictures have not all of them. --test: labelled pictures to be scored before and after. OPTIONS go to
# both trainings (--threads 4), e.g. a short trial: -- --set train.steps=20
# CAPTRAIN names the program, if it is not in the path. A part that is finished is not done again.
set -eu

usage() {
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

labelled='' out='' unlabelled='' charset='' tested=''
while [ $# -gt 0 ]; do
    case $1 in
    --) shift; break ;;
    --charset | --test)
        [ $# -ge 2 ] || usage
        if [ "$1" = --charset ]; then charset=$2; else tested=$2; fi
        shift
        ;;
    -*) usage ;;
    *)
        if [ -z "$labelled" ]; then labelled=$1
        elif [ -z "$out" ]; then out=$1
        elif [ -z "$unlabelled" ]; then unlabelled=$1
        else usage; fi
        ;;
    esac
    shift
done
[ -n "$out" ] || usage
: "${unlabelled:=$labelled}"
captrain=${CAPTRAIN:-captrain}
mkdir -p "$out"

# What the labelled pictures say: size, characters, lengths of labels.
[ -e "$out/real.yaml" ] || "$captrain" init "$labelled" --out "$out/real.yaml"
said=$("$captrain" check "$labelled" --json | tr -d '\n')
case $said in
*'"lengths":{"'*) ;;
*) "$captrain" check "$labelled"; exit 1 ;;
esac
lengths=$(printf '%s\n' "$said" | sed 's/.*"lengths":{//; s/}.*//' | tr ',' '\n' | sed 's/^[^0-9]*\([0-9]*\).*/\1/' | sort -n)
shortest=$(printf '%s\n' "$lengths" | head -n 1)
longest=$(printf '%s\n' "$lengths" | tail -n 1)
if [ -n "$charset" ]; then all="data.charset=$charset"
else # the configuration has it; of JSON's escapes those that a charset may have
    all=
    charset=$(printf '%s\n' "$said" | sed 's/.*"charset":"//; s/"[,}].*//; s/\\\(["\\]\)/\1/g')
fi

# What all of them look like.
[ -e "$out/style.yaml" ] || "$captrain" fit-style "$unlabelled" --charset "$charset" --length "$shortest-$longest" --out "$out/style.yaml"

# A run that was interrupted goes on, one that is complete does nothing.
run() {
    dir=$1
    shift
    if [ -e "$dir/config.yaml" ]; then set -- "$@" --resume; fi
    "$captrain" train "$out/real.yaml" --out "$dir" ${all:+--set "$all"} "$@"
}

run "$out/drawn" --set data.train=synth:text --set "data.synth.style=$out/style.yaml" --set data.synth.fresh=true --set data.synth.count=8000 \
    --set data.synth.val_count=500 --set "data.synth.length_min=$shortest" --set "data.synth.length_max=$longest" \
    --set train.batch_size=32 --set train.epochs=4 "$@"
if [ -e "$out/tuned/config.yaml" ]; then run "$out/tuned" "$@"
else run "$out/tuned" --init "$out/drawn/checkpoints/best.safetensors" "$@"; fi

for part in drawn tuned; do
    [ -n "$tested" ] || break
    echo "$part:"
    "$captrain" eval "$out/$part" "$tested"
done
