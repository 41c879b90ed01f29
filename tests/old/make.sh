#!/bin/sh
# Makes the files of one release that later versions must read: tests/old/make.sh CAPTRAIN VERSION
#
# Run once, with the program of that release, whose two configurations stand in tests/old/VERSION/ already; the files go there,
# too. What is there is not overwritten. See tests/old/README.md.
set -eu
[ $# = 2 ] || { sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,5p; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
captrain=$1 to=$here/$2
. "$here/../regress/machine.sh"
[ ! -e "$to/expected.csv" ] || { echo "$to/expected.csv exists" >&2; exit 1; }
case $("$captrain" --version) in
"captrain $2".*) ;;
*) echo "$captrain is $("$captrain" --version), not of $2" >&2; exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$to"/*.yaml "$work"
cd "$work"
OMP_WAIT_POLICY=passive CAPTRAIN_CACHE_DIR=$work/cache
export OMP_WAIT_POLICY CAPTRAIN_CACHE_DIR

# value KEY FILE: a number or text of a JSON file, one key a line
value() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$2" | head -n 1; }

# interrupted NAME OPTION...: a run that SIGTERM stopped after 250 steps or more, in the middle of an epoch
interrupted() {
    name=$1
    shift
    for _ in 1 2 3 4 5 6 7 8; do
        rm -rf "$name"
        "$captrain" train "$name.yaml" --out "$name" --quiet "$@" &
        pid=$!
        until grep -q '"event":"step".*"step":250,' "$name/metrics.jsonl" 2>/dev/null; do sleep 0.01; done
        kill -TERM $pid
        if wait $pid; then continue; fi
        step=$(sed -n 's/.*"event":"signal".*"step":\([0-9]*\).*/\1/p' "$name/metrics.jsonl")
        [ -z "$step" ] || [ $((step % 38)) = 0 ] || return 0
    done
    echo "$name could not be interrupted within an epoch" >&2
    exit 1
}

# one copy of the newest checkpoint will do; only the packed cache of a folder is small enough to keep
kept() {
    rm -rf "$1"/checkpoints/step-* "$1/report.html" "$1/examples" "$1/tensorboard"
    cp -r "$1" "$to/run-$1"
}

# expectations: lines "kernels,what,value", as the release itself computes them with the kernels in use
expectations() {
    k=$(kernels "$captrain")
    for name in cnn crnn; do
        rm -rf resumed cache
        cp -r "$to/run-$name" resumed
        "$captrain" train --out resumed --resume --quiet
        echo "$k,$name resumed weights_hash,$(value weights_hash resumed/result.json)"
        echo "$k,$name resumed string_accuracy,$(value string_accuracy resumed/result.json)"
        "$captrain" eval "$to/run-$name" "$to/pictures" --json --threads 1 > eval.json
        for key in strings_right edits loss; do echo "$k,$name pictures $key,$(value $key eval.json)"; done
        "$captrain" predict "$to/run-$name" "$to"/pictures/*.png --threads 1 |
            awk -F '\t' -v k="$k" -v name=$name '{ n = split($1, p, "/"); print k "," name " reads " p[n] "," $2 }'
    done
    "$captrain" train crnn.yaml --out tuned --tune choices.json --set train.steps=5 --quiet
    echo "$k,choices weights_hash,$(value weights_hash tuned/result.json)"
    rm -rf tuned
}

"$captrain" gen text --style simple --charset 01 --length 2 --width 64 --height 32 --count 12 --seed 9 --out "$to/pictures" --quiet
pin "$captrain"
"$captrain" tune crnn.yaml --threads 1 --out choices.json > /dev/null
cp choices.json "$to"
interrupted cnn
kept cnn
interrupted crnn --tune choices.json
kept crnn
rm -rf cache
"$captrain" eval cnn "$to/pictures" > /dev/null
mkdir "$to/cache"
cp cache/data/*.ctpack "$to/cache"

expectations > "$work/expected"
(unset CAPTRAIN_KERNELS OPENBLAS_CORETYPE; expectations) >> "$work/expected"
{ echo "kernels,what,value"; LC_ALL=C sort -u "$work/expected"; } > "$to/expected.csv"
