#!/bin/sh
# What the caller may have done to the process and to the run directory: limits, closed streams, pipes in place of files.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
echo "schedule: {name: constant}" >>"$work/tiny.yaml" # so that more epochs leave the steps before as they were
expect 0 tiny warm --quiet --set train.epochs=1
opts='--set train.epochs=1 --quiet'

# --- address space: an end and a message, whatever the limit. Sanitizers take terabytes of it ---
# shellcheck disable=SC3045 # where the shell has no such limit there is nothing to test
if [ -z "${CT_SANITIZERS:-}" ] && (ulimit -v 4000000) 2>/dev/null; then
    expect 1 sh -c "ulimit -v 100000; exec timeout -k 1 20 '$captrain' --version"
    says 'ulimit -v allows 100000 kB'
    for kb in 150000 280000 400000 460000 520000 600000; do
        checks=$((checks + 1))
        rm -rf "$work/small"
        # shellcheck disable=SC2086,SC3045
        (ulimit -v $kb && exec timeout -k 1 20 "$captrain" train "$work/tiny.yaml" --out "$work/small" $opts) >"$work/out" 2>"$work/err"
        got=$?
        [ $got -eq 0 ] || [ $got -eq 1 ] || fail "exit $got with $kb kB of address space"
        [ $got -eq 0 ] || grep -q 'captrain: ' "$work/err" || fail "nothing was said with $kb kB of address space"
    done
    expect 0 sh -c "ulimit -v 4000000; exec timeout -k 1 60 '$captrain' train '$work/tiny.yaml' --out '$work/large' $opts"
fi

# --- closed standard streams: files that are opened later do not take their places ---
checks=$((checks + 1))
"$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/closed" --set train.epochs=1 <&- >&- 2>&- || fail "exit $? with closed streams"
for f in closed/metrics.jsonl closed/tensorboard/captrain.tfevents; do
    checks=$((checks + 1))
    if grep -aq 'captrain 0\|samples per step\|validation loss' "$work/$f"; then fail "log lines in $f"; fi
done
expect 0 tiny closed --resume --set train.epochs=2 --quiet
checks=$((checks + 1))
[ ! -s "$work/err" ] || fail 'something is wrong with what was written with closed streams'

# --- pipes in place of files: nobody waits for them ---
# piped FILE CODE: the run with a pipe in place of one of its files, resumed
piped() {
    rm -rf "$work/pipe"
    cp -r "$work/closed" "$work/pipe"
    rm -f "$work/pipe/$1"
    mkfifo "$work/pipe/$1"
    # shellcheck disable=SC2086
    expect "$2" timeout -k 1 20 "$captrain" train --threads 1 --out "$work/pipe" --resume --set train.epochs=3
    says "$(basename "$1")"
}
piped checkpoints/last.safetensors 0
piped metrics.jsonl 0
piped tensorboard/captrain.tfevents 0
piped run.log 1
piped config.yaml 1
pack=$(find "$CAPTRAIN_CACHE_DIR" -name '*.ctpack' | head -n 1)
checks=$((checks + 1))
[ -n "$pack" ] || fail 'no packed cache was written'
for pack in "$CAPTRAIN_CACHE_DIR"/data/*.ctpack; do
    rm -f "$pack"
    mkfifo "$pack"
done
expect 0 timeout -k 1 20 "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/cached" --set train.epochs=1
says 'not a regular file'
rm -rf "$CAPTRAIN_CACHE_DIR"
mkdir "$work/pictures"
mkfifo "$work/pictures/a.png"
expect 1 timeout -k 1 20 "$captrain" predict "$work/closed" "$work/pictures"
says 'a.png: not a regular file'
# those that are given on purpose work
mkfifo "$work/config.pipe"
cat "$work/tiny.yaml" >"$work/config.pipe" &
expect 0 timeout -k 1 20 "$captrain" train "$work/config.pipe" --threads 1 --out "$work/given" --set train.epochs=1

# --- a run directory that goes away, or is replaced ---
# The next checkpoint ends it, long before its epochs do.
for how in removed replaced; do
    "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/gone" --quiet --set train.epochs=5000 \
        --set checkpoint.every_epochs=1 >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    i=0
    while [ ! -e "$work/gone/checkpoints/last.safetensors" ] && [ $i -lt 600 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    kill -s STOP $pid
    mv "$work/gone" "$work/gone-$how"
    [ $how = removed ] || mkdir -p "$work/gone/checkpoints"
    rm -rf "$work/gone-$how"
    kill -s CONT $pid
    wait $pid
    got=$?
    checks=$((checks + 1))
    [ $got -eq 1 ] || fail "exit $got after the run directory was $how"
    says 'are lost'
    rm -rf "$work/gone"
done
finish
