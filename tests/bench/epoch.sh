#!/bin/sh
# From the start of the program to the end of its epochs: `captrain train` of textcnn over a folder of PNGs, and any other programs that do
# the same, in turns; prints rows of a Markdown table with medians. See doc/performance.md.
#
#   tests/bench/epoch.sh [-r ROUNDS] [-e EPOCHS] [-b BATCH] [-a 'ARGUMENTS'] FOLDER [NAME=COMMAND...]
#
#   -r      rounds, default 3
#   -e      epochs of a run, default 1
#   -b      samples of a batch, default 64
#   -a      more arguments for `captrain train`, e.g. '--backend cuda --set train.precision=bf16'
#   FOLDER  pictures named LABEL_NUMBER.png, all labels of one length and from 0-9A-Z: captrain gen text --out FOLDER --count 50000
#
# In COMMAND, {folder} {epochs} {batch} are replaced, e.g.
#   'torch=python3 tests/bench/epoch.py {folder} --epochs {epochs} --batch {batch} --device cuda --precision bf16'
# captrain runs twice in each round: without its packed copy of the folder, which it then makes, and with it. CAPTRAIN names the program
# (default ./captrain). Wall times and resident sets are taken from outside, by the process that starts each run.
set -eu

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2
    exit 2
}

rounds=3 epochs=1 batch=64 arguments=''
while getopts r:e:b:a: opt; do
    case $opt in
    r) rounds=$OPTARG ;;
    e) epochs=$OPTARG ;;
    b) batch=$OPTARG ;;
    a) arguments=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] && [ "$rounds" -ge 1 ] && [ "$epochs" -ge 1 ] || usage
folder=$(cd "$1" && pwd)
shift
captrain=${CAPTRAIN:-./captrain}
here=$(dirname "$0")
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
CAPTRAIN_CACHE_DIR=$work/cache
export CAPTRAIN_CACHE_DIR

cat > "$work/epoch.yaml" <<YAML
name: epoch
model: {name: textcnn}
data: {train: $folder, charset: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", val_fraction: 0}
train: {epochs: $epochs, batch_size: $batch}
optimizer: {lr: 0.001, weight_decay: 0.01}
YAML

# once NUMBER NAME COMMAND: a line "NUMBER seconds kB" in $work/results
once() {
    if ! measured=$(python3 "$here/child.py" "$work/out" "$work/err" "$3"); then
        echo "$0: failed: $3" >&2
        tail -n 20 "$work/err" >&2
        exit 1
    fi
    echo "$1 $measured" >> "$work/results"
    echo "round $round: $2: ${measured% *} s, ${measured#* } kB" >&2
}

: > "$work/results"
round=1
while [ "$round" -le "$rounds" ]; do
    rm -rf "$work/cache"
    once 0 'captrain, first time' "$captrain train $work/epoch.yaml --quiet --out $work/run-$round-a $arguments"
    once 1 'captrain' "$captrain train $work/epoch.yaml --quiet --out $work/run-$round-b $arguments"
    n=2
    for peer in "$@"; do
        once $n "${peer%%=*}" "$(printf '%s\n' "${peer#*=}" | sed -e "s|{folder}|$folder|g" -e "s/{epochs}/$epochs/g" -e "s/{batch}/$batch/g")"
        n=$((n + 1))
    done
    rm -rf "$work"/run-*
    round=$((round + 1))
done

# median NUMBER COLUMN
median() {
    awk -v p="$1" -v c="$2" '$1 == p { print $c }' "$work/results" | sort -g |
        awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

echo "| program | seconds | RSS MB |"
echo "|---|---|---|"
n=0
for name in 'captrain, packing the folder' captrain "$@"; do
    awk "BEGIN { printf \"| %s | %.2f | %.0f |\\n\", \"${name%%=*}\", $(median $n 2), $(median $n 3) * 1024e-6 }"
    n=$((n + 1))
done
