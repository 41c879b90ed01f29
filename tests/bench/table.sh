#!/bin/sh
# The whole table of doc/performance.md against PyTorch: tests/bench/compare.sh for each model, the best of several installations,
# layouts and modes counting as the other side.
#
#   tests/bench/table.sh [-r ROUNDS] [-s STEPS] [-t 'THREADS...'] [-m 'MODEL:BATCH...'] [-b 'ARGUMENTS'] [-x 'ARGUMENTS']... [-a 'ARGUMENTS']
#                        [-d DIR] SCRIPT PYTHON...
#
#   SCRIPT   a program that trains the models in PyTorch, run as
#            PYTHON SCRIPT bench MODEL --batch N --threads T --layout nhwc|nchw --steps K --warmup 2
#            and printing one line of JSON with "ms_per_step"
#   PYTHON   an interpreter that has torch; several are compared at once
#   -m       default 'textcnn:64 resnet18:16 resnet50:8'
#   -b       arguments for all of them, as -a has them for captrain: -a '--backend cuda --precision bf16' -b '--device cuda --precision bf16'
#   -x       further arguments that make another variant of each, e.g. -x '--compile default'; a variant that does not run at all is
#            left out with a message
#   -r -s -t -a -d  go to compare.sh
# CAPTRAIN names the program (default ./captrain).
set -eu

usage() {
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "$0" >&2
    exit 2
}

models='textcnn:64 resnet18:16 resnet50:8' both=''
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
echo > "$work/variants"
pass=''
while getopts r:s:t:m:b:x:a:d: opt; do
    case $opt in
    r | s | t | a | d) pass="$pass -$opt '$OPTARG'" ;;
    m) models=$OPTARG ;;
    b) both=$OPTARG ;;
    x) printf '%s\n' "$OPTARG" >> "$work/variants" ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
script=$1
shift
here=$(dirname "$0")
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

# add PYTHON VERSION LAYOUT VARIANT: one more NAME=COMMAND in $work/peers, if it runs at all
add() {
    command="$1 $script bench {model} --batch {batch} --threads {threads} --layout $3 --steps {steps} --warmup 2 $both $4"
    try=$(printf '%s\n' "$command" | sed -e "s/{model}/${models%%:*}/" -e 's/{batch}/2/' -e 's/{threads}/1/' -e 's/{steps}/1/')
    if sh -c "$try" > "$work/out" 2> "$work/err" && grep -q ms_per_step "$work/out"; then
        printf '%s\n' "torch $2 $3${4:+ $4}=$command" >> "$work/peers"
    else
        echo "$0: left out, it does not run: $try" >&2
        tail -n 3 "$work/err" >&2
    fi
}

: > "$work/peers"
for python in "$@"; do
    version=$("$python" -c 'import torch; print(torch.__version__.split("+")[0])') || exit 1
    for layout in nhwc nchw; do
        while read -r variant; do add "$python" "$version" "$layout" "$variant" < /dev/null; done < "$work/variants"
    done
done
[ -s "$work/peers" ] || { echo "$0: no variant of $script runs" >&2; exit 1; }

first=-H
for item in $models; do
    # Words with blanks: the arguments are put together as text and read by the shell.
    line="sh '$here/compare.sh' $first $pass '${item%:*}' '${item#*:}'"
    while read -r peer; do line="$line '$peer'"; done < "$work/peers"
    eval "$line"
    first=''
done
