#!/bin/sh
# Times captrain against another program on the same machine, A B A B, and prints the medians. See doc/performance.md.
#
#   tests/bench/compare.sh [-r ROUNDS] [-s STEPS] MODEL BATCH THREADS [OTHER COMMAND...]
#
# CAPTRAIN names the program (default ./captrain). OTHER COMMAND is run as it stands; it must print one line of JSON with
# "ms_per_step" or "samples_per_s", e.g. python3 peer_torch.py bench textcnn --batch 64 --threads 2 --layout nhwc
set -eu

rounds=5
steps=10
while getopts r:s: opt; do
    case $opt in
    r) rounds=$OPTARG ;;
    s) steps=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if [ $# -lt 3 ]; then
    echo "usage: $0 [-r ROUNDS] [-s STEPS] MODEL BATCH THREADS [OTHER COMMAND...]" >&2
    exit 2
fi
model=$1 batch=$2 threads=$3
shift 3
captrain=${CAPTRAIN:-./captrain}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM

# A kernel set pinned in the environment would slow both down.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

# The number behind "$1" in the JSON on standard input.
field() {
    sed -n "s/.*\"$1\": *\([0-9.eE+-]*\).*/\1/p"
}

# Milliseconds per step of a JSON line in file $1.
milliseconds() {
    ms=$(field ms_per_step < "$1")
    if [ -z "$ms" ]; then
        rate=$(field samples_per_s < "$1")
        [ -n "$rate" ] || { echo "$0: no ms_per_step and no samples_per_s in: $(cat "$1")" >&2; exit 1; }
        ms=$(awk "BEGIN { print 1000 * $batch / $rate }")
    fi
    echo "$ms"
}

median() {
    sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

i=0
while [ "$i" -lt "$rounds" ]; do
    "$captrain" bench "$model" --batch "$batch" --threads "$threads" --steps "$steps" --json > "$dir/out"
    milliseconds "$dir/out" >> "$dir/ours"
    if [ $# -gt 0 ]; then
        "$@" > "$dir/out"
        milliseconds "$dir/out" >> "$dir/other"
    fi
    i=$((i + 1))
done

ours=$(median "$dir/ours")
echo "captrain $model batch $batch threads $threads: $ours ms per step (median of $rounds: $(tr '\n' ' ' < "$dir/ours"))"
if [ -s "$dir/other" ]; then
    other=$(median "$dir/other")
    echo "other:                                  $other ms per step (median of $rounds: $(tr '\n' ' ' < "$dir/other"))"
    awk "BEGIN { printf \"captrain takes %.2f times the other's time\\n\", $ours / $other }"
fi
