#!/bin/sh
# How long a program takes to do next to nothing, and what it needs: `captrain --help`, `captrain predict` of one picture, and any other
# command, in turns; prints rows of a Markdown table with medians. See doc/performance.md.
#
#   tests/bench/startup.sh [-r ROUNDS] MODEL IMAGE [NAME=COMMAND...]
#
#   -r      rounds, default 11; one more, before them, is thrown away
#   MODEL   a model file of a training, e.g. runs/NAME/checkpoints/best.safetensors
#   IMAGE   a picture it can read
# CAPTRAIN names the program (default ./captrain).
set -eu

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2
    exit 2
}

rounds=11
while getopts r: opt; do
    case $opt in
    r) rounds=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] && [ "$rounds" -ge 1 ] || usage
captrain=${CAPTRAIN:-./captrain}
model=$1 image=$2
shift 2
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
here=$(dirname "$0")

# once NAME COMMAND
once() {
    if ! measured=$(python3 "$here/child.py" "$work/out" "$work/err" "$2"); then
        echo "$0: failed: $2" >&2
        tail -n 20 "$work/err" >&2
        exit 1
    fi
    [ "$round" = 0 ] || echo "$measured" >> "$work/$1"
}

# median FILE COLUMN
median() {
    awk -v c="$2" '{ print $c }' "$1" | sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

round=0
while [ "$round" -le "$rounds" ]; do
    once 1 "$captrain --help"
    once 2 "$captrain predict $model $image"
    n=3
    for other in "$@"; do
        once $n "${other#*=}"
        n=$((n + 1))
    done
    round=$((round + 1))
done

# row NUMBER NAME
row() {
    awk "BEGIN { printf \"| %s | %.0f | %.1f |\\n\", \"$2\", 1000 * $(median "$work/$1" 1), $(median "$work/$1" 2) * 1024e-6 }"
}

echo "| program | wall ms | RSS MB |"
echo "|---|---|---|"
row 1 "captrain --help"
row 2 "captrain predict, one picture"
n=3
for other in "$@"; do
    row $n "${other%%=*}"
    n=$((n + 1))
done
