# A training that takes a second or two; sourced by the train tests behind lib.sh.
# One compute thread and no spinning: the test machine may be busy, and results must not depend on it.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
cat >"$work/tiny.yaml" <<'YAML'
name: tiny
model: {name: textcnn-small, width: 0.5, hidden: 32}
data:
  train: synth:text
  charset: "0123"
  height: 16
  width: 40
  synth: {style: plain, count: 100, val_count: 30, length: 2}
augment: {shift: 1, noise: 0.05}
optimizer: {ema_decay: 0.9}
train: {batch_size: 16, epochs: 2, workers: 1}
log: {interval_steps: 3}
YAML

# tiny DIR OPTIONS...: trains it into $work/DIR
tiny() {
    dir=$1
    shift
    "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/$dir" "$@"
}

# value KEY DIR: a scalar of result.json
value() {
    sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$work/$2/result.json" | head -1
}

# same KEY DIR DIR: result.json agrees
same() {
    checks=$((checks + 1))
    a=$(value "$1" "$2") b=$(value "$1" "$3")
    [ -n "$a" ] && [ "$a" = "$b" ] || fail "$1 of $2 is '$a', of $3 '$b'"
}

# same_end KEYS: runs whole and cut end alike, and nothing half-written is left
same_end() {
    for key in $1; do same "$key" whole cut; done
    checks=$((checks + 1))
    if ls "$work"/cut/checkpoints/*.tmp.* >/dev/null 2>&1; then fail "half-written files are left"; fi
}

# killed N KEYS OPTIONS...: run `whole` with these options is let alone. Run `cut` is killed with SIGKILL at seeded random moments
# and resumed each time; if it ends before N kills have met it, its end is compared and another one is begun.
killed() {
    kills=$1 keys=$2
    shift 2
    start=$(date +%s%N)
    expect 0 tiny whole "$@"
    took=$((($(date +%s%N) - start) / 1000000)) # ms
    # delays between 1 % and 25 % of the whole run, at least 50 ms
    awk -v n=$((kills * 6)) -v ms=$took -v seed="${CAPTRAIN_SEED:-7}" \
        'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f\n", 0.05 + ms / 1000 * (0.01 + 0.24 * rand()) }' >"$work/delays"
    killed=0 ended=0
    while [ $killed -lt "$kills" ] && read -r delay; do
        # not tiny(): the signal must hit captrain, not a shell around it
        "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/cut" "$@" --resume >"$work/out" 2>"$work/err" </dev/null &
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
            same_end "$keys"
            rm -rf "$work/cut"
        else
            fail "exit $got after $delay s"
            break
        fi
    done <"$work/delays"
    expect 0 tiny cut "$@" --resume
    same_end "$keys"
    checks=$((checks + 1))
    [ "$killed" -ge "$kills" ] || fail "only $killed of $kills kills met a running training"
    echo "$killed kills, $((ended + 1)) runs to the end; uninterrupted $took ms"
}
