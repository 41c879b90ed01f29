#!/bin/sh
# Times captrain against other programs on the same machine, A B C A B C ..., and prints rows of a Markdown table: medians,
# ratios, the same from outside, memory, scaling. See doc/performance.md.
#
#   tests/bench/compare.sh [-r ROUNDS] [-s STEPS] [-t 'THREADS...'] [-a 'ARGUMENTS'] [-d DIR] [-H] MODEL BATCH [NAME=COMMAND...]
#
#   -r   rounds, default 5: medians are over rounds
#   -s   steps of the longer of the two runs of a round, default 8; the shorter one has a quarter of them, at least 1
#   -t   numbers of threads, default '1 2': a row for each
#   -a   more arguments for `captrain bench`, e.g. '--tune choices.json'
#   -d   folder that keeps every result (default: none is kept)
#   -H   print the table's head first
#
# COMMAND is a line for the shell in which {model} {batch} {threads} {steps} are replaced. It runs so many steps behind a
# warm-up that does not depend on them and prints one line of JSON with "ms_per_step" or "samples_per_s", e.g.
#   'torch nhwc=python3 peer_torch.py bench {model} --batch {batch} --threads {threads} --steps {steps} --layout nhwc'
# CAPTRAIN names the program (default ./captrain). Every run is started by python3 with nothing between, which takes its wall time
# and, from wait4(), its largest resident set. Progress goes to stderr.
set -eu

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2
    exit 2
}

rounds=5 steps=8 threads='1 2' arguments='' keep='' head=''
while getopts r:s:t:a:d:H opt; do
    case $opt in
    r) rounds=$OPTARG ;;
    s) steps=$OPTARG ;;
    t) threads=$OPTARG ;;
    a) arguments=$OPTARG ;;
    d) keep=$OPTARG ;;
    H) head=1 ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
[ "$rounds" -ge 1 ] && [ "$steps" -ge 2 ] || usage
model=$1 batch=$2
shift 2
few=$((steps / 4 > 0 ? steps / 4 : 1))
captrain=${CAPTRAIN:-./captrain}
command -v python3 > /dev/null || { echo "$0: python3 is not there" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
if [ -n "$keep" ]; then
    mkdir -p "$keep"
    work_results=$keep
else
    work_results=$work
fi
results=$work_results/$model-$batch.txt
: > "$results"

# A kernel set pinned in the environment would slow all of them down.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

# The number behind "$1" in the JSON of file $2.
field() {
    sed -n "s/.*\"$1\": *\([0-9.eE+-]*\).*/\1/p" "$2" | tail -n 1
}

# once THREADS STEPS COMMAND: runs it; sets wall (s), rss (kB) and ms (per step, as the program itself says).
once() {
    line=$(printf '%s\n' "$3" | sed -e "s/{model}/$model/g" -e "s/{batch}/$batch/g" -e "s/{threads}/$1/g" -e "s/{steps}/$2/g")
    if ! measured=$(python3 "$(dirname "$0")/child.py" "$work/out" "$work/err" "$line"); then
        echo "$0: failed: $line" >&2
        tail -n 20 "$work/err" >&2
        exit 1
    fi
    wall=${measured% *} rss=${measured#* }
    ms=$(field ms_per_step "$work/out")
    if [ -z "$ms" ]; then
        rate=$(field samples_per_s "$work/out")
        [ -n "$rate" ] || { echo "$0: no ms_per_step and no samples_per_s in: $(cat "$work/out")" >&2; exit 1; }
        ms=$(awk "BEGIN { print 1000 * $batch / $rate }")
    fi
}

# Lines of the results: program number, threads, ms inside, ms outside, kB. The longer run counts for inside and memory.
# program 0 is captrain.
turn() {
    once "$2" "$few" "$3"
    first=$wall
    once "$2" "$steps" "$3"
    outside=$(awk "BEGIN { print 1000 * ($wall - $first) / ($steps - $few) }")
    echo "$1 $2 $ms $outside $rss" >> "$results"
    echo "$model $batch, $2 threads, round $round: $4: $ms ms per step, $outside from outside, $rss kB" >&2
}

load=$(cut -d ' ' -f 1 /proc/loadavg 2> /dev/null || echo 0)
if awk "BEGIN { exit !($load > 0.5) }"; then
    echo "$0: this machine is busy (load $load): the numbers will say little" >&2
fi

ours="$captrain bench {model} --batch {batch} --threads {threads} --steps {steps} --warmup 2 --json $arguments"
round=1
while [ "$round" -le "$rounds" ]; do
    for t in $threads; do
        turn 0 "$t" "$ours" captrain
        n=1
        for peer in "$@"; do
            turn "$n" "$t" "${peer#*=}" "${peer%%=*}"
            n=$((n + 1))
        done
    done
    round=$((round + 1))
done

# median PROGRAM THREADS COLUMN
median() {
    awk -v p="$1" -v t="$2" -v c="$3" '$1 == p && $2 == t { print $c }' "$results" | sort -g |
        awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

if [ -n "$head" ]; then
    echo "| model | batch | threads | captrain ms/step | best other | its ms/step | time of captrain / other | from outside: captrain | other | ratio | captrain RSS MB | other RSS MB | scaling captrain | other |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
fi
base='' peer_base=''
for t in $threads; do
    mine=$(median 0 "$t" 3)
    [ -n "$base" ] || base=$mine
    best=0 best_ms='' n=1
    for peer in "$@"; do
        ms=$(median "$n" "$t" 3)
        if [ -z "$best_ms" ] || awk "BEGIN { exit !($ms < $best_ms) }"; then best=$n best_ms=$ms best_name=${peer%%=*}; fi
        n=$((n + 1))
    done
    if [ "$best" = 0 ]; then
        awk "BEGIN { printf \"| $model | $batch | $t | %.1f | - | - | - | %.1f | - | - | %.0f | - | %.2f | - |\\n\", $mine, $(median 0 "$t" 4), $(median 0 "$t" 5) * 1024e-6, $base / $mine }"
        continue
    fi
    [ -n "$peer_base" ] || peer_base=$best_ms
    awk "BEGIN {
        printf \"| $model | $batch | $t | %.1f | $best_name | %.1f | %.2f | %.1f | %.1f | %.2f | %.0f | %.0f | %.2f | %.2f |\\n\",
            $mine, $best_ms, $mine / $best_ms, $(median 0 "$t" 4), $(median "$best" "$t" 4),
            $(median 0 "$t" 4) / $(median "$best" "$t" 4), $(median 0 "$t" 5) * 1024e-6, $(median "$best" "$t" 5) * 1024e-6,
            $base / $mine, $peer_base / $best_ms }"
done
