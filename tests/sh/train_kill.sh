#!/bin/sh
# A run killed with SIGKILL at seeded random moments and resumed each time ends with the weights of the run that was let alone. If it
# ends before enough kills have met it, its end is compared and another one is begun.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

kills=15 epochs=60
[ -n "${CT_QUICK-}" ] && kills=4 epochs=12
opts="--set train.epochs=$epochs --set checkpoint.every_steps=5 --set train.workers=2 --quiet"

expect 0 tiny warm --quiet --set train.epochs=1 # the pictures are drawn and cached before anything is timed
start=$(date +%s%N)
# shellcheck disable=SC2086
expect 0 tiny whole $opts
took=$((($(date +%s%N) - start) / 1000000)) # ms

compare() {
    same weights_hash whole cut
    same string_accuracy whole cut
    same steps whole cut
    checks=$((checks + 1))
    if ls "$work"/cut/checkpoints/*.tmp.* >/dev/null 2>&1; then fail "half-written files are left"; fi
}

# delays between 1 % and 25 % of the whole run, at least 50 ms
awk -v n=$((kills * 6)) -v ms=$took -v seed="${CAPTRAIN_SEED:-7}" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f\n", 0.05 + ms / 1000 * (0.01 + 0.24 * rand()) }' >"$work/delays"
killed=0 ended=0
while [ $killed -lt $kills ] && read -r delay; do
    # no function here: the signal must hit captrain, not a shell around it
    # shellcheck disable=SC2086
    "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/cut" $opts --resume >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    sleep "$delay"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    got=$?
    checks=$((checks + 1))
    if [ -s "$work/err" ]; then fail "something was said after $delay s"; fi
    if [ $got -eq 137 ]; then
        killed=$((killed + 1))
    elif [ $got -eq 0 ]; then
        ended=$((ended + 1))
        compare
        rm -rf "$work/cut"
    else
        fail "exit $got after $delay s"
        break
    fi
done <"$work/delays"
# shellcheck disable=SC2086
expect 0 tiny cut $opts --resume
compare
checks=$((checks + 1))
[ "$killed" -ge $kills ] || fail "only $killed of $kills kills met a running training"
echo "$killed kills, $((ended + 1)) runs to the end; uninterrupted $took ms"
finish
