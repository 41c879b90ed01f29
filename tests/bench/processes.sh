#!/bin/sh
# One process with N threads beside N processes with one, in turns, and beside PyTorch's DistributedDataParallel, on pictures drawn
# before: a row of a Markdown table for each round. See doc/performance.md. "at the end": what was waited for where nothing is summed
# before the step's last gradient is there. The last two columns are of one process: 4 parts beside 4 micro-steps.
#
#   tests/bench/processes.sh [-n N] [-r ROUNDS] [-s STEPS] [-p PEER_TORCH.PY] MODEL BATCH
#
#   -n   processes, default 2
#   -r   rounds, default 3
#   -s   steps of a training, default 30; the first five do not count
#   -p   the peer, a script with the interface that tests/bench/ddp.py uses; without one its column stays empty
# CAPTRAIN names the program (default ./captrain). Pictures are drawn texts of 60x160 pixels.
set -eu

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2
    exit 2
}

n=2 rounds=3 steps=30 peer=
while getopts n:r:s:p: opt; do
    case $opt in
    n) n=$OPTARG ;;
    r) rounds=$OPTARG ;;
    s) steps=$OPTARG ;;
    p) peer=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 2 ] && [ "$rounds" -ge 1 ] || usage
captrain=${CAPTRAIN:-./captrain} model=$1 batch=$2
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
here=$(dirname "$0")

echo "{model: {name: $model}, data: {train: 'synth:text', height: 60, width: 160}}" > "$work/config.yaml"
set -- --set "train.batch_size=$batch" --set "train.steps=$steps" --set log.interval_steps=1 \
    --set log.tensorboard=false --set checkpoint.every_epochs=0 --set data.synth.count=$((batch * 8)) --set data.synth.val_count=16 \
    --set train.workers=1

# trained RUN COMMAND...: what its steps took, as "MS SAMPLES_PER_S COMM_MS WAIT_MS"
trained() {
    run=$work/$1
    shift
    rm -rf "$run"
    "$@" --out "$run" > "$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 1
    }
    python3 - "$run/metrics.jsonl" "$batch" << 'EOF'
import json, statistics, sys
steps = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "step"][5:]
s = statistics.median(1 / e["steps_per_s"] for e in steps)
mean = lambda key: 1000 * statistics.median(e.get(key, 0) for e in steps)
print("%.1f %.1f %.1f %.1f" % (1000 * s, int(sys.argv[2]) / s, mean("comm_s"), mean("comm_wait_s")))
EOF
}

echo "| model, batch | $n threads, ms | $n processes, ms | sums, ms | waited, ms | ratio | at the end, ms | PyTorch DDP, ms | ratio | parts: 4, ms | of accumulate: 4 |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for round in $(seq "$rounds"); do
    one=$(trained "one$round" "$captrain" train "$work/config.yaml" --threads "$n" "$@")
    many=$(trained "many$round" "$captrain" launch -n "$n" train "$work/config.yaml" --threads 1 "$@")
    late=$(trained "late$round" "$captrain" launch -n "$n" train "$work/config.yaml" --threads 1 "$@" --set group.bucket_mb=0)
    parts=$(trained "parts$round" "$captrain" train "$work/config.yaml" --threads "$n" "$@" --set train.parts=4)
    micro=$(trained "micro$round" "$captrain" train "$work/config.yaml" --threads "$n" "$@" --set train.accumulate=4 \
        --set "train.batch_size=$((batch / 4))")
    other=-
    [ -z "$peer" ] || other=$(python3 "$here/ddp.py" -n "$n" --peer "$peer" --batch "$batch" "$model" | sed -n 's/.*"ms_per_step": \([0-9.]*\).*/\1/p')
    echo "$one $many $late $parts $micro $other" | awk -v what="$model, $batch" '{
        printf "| %s | %s | %s | %s | %s | %.2f | %s | %s | %s | %s | %.2f |\n", what, $1, $5, $7, $8, $1 / $5, $12, $21,
            $21 == "-" ? "-" : sprintf("%.2f", $21 / $5), $13, $13 / $17 }'
done
