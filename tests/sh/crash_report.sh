#!/bin/sh
# A process that dies tells how, on stderr and in run.log, and dies of the signal it got; and the program is built so that faults
# are hard to use.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
echo "schedule: {name: constant}" >>"$work/tiny.yaml"
if [ -n "${CT_SANITIZERS:-}" ]; then
    echo 'sanitizers report crashes themselves'
    exit 77
fi

for sig in SEGV:139 ABRT:134 BUS:135; do
    rm -rf "$work/run"
    "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/run" --quiet --set train.epochs=5000 >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    i=0
    while [ ! -e "$work/run/checkpoints/last.safetensors" ] && [ $i -lt 600 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    kill -s "${sig%%:*}" $pid
    wait $pid
    got=$?
    checks=$((checks + 1))
    [ $got -eq "${sig##*:}" ] || fail "exit $got after SIG${sig%%:*}"
    for file in err run/run.log; do
        for line in "died of SIG${sig%%:*}; captrain [0-9.]*, built with " '^step: [0-9]' '^backend: cpu' 'call stack:' 'captrain.*(.*+0x' \
            'train --out DIR --resume'; do
            checks=$((checks + 1))
            grep -q -e "$line" "$work/$file" || fail "$file does not say '$line'"
        done
    done
done
expect 0 tiny run --resume --quiet --set train.epochs=5000 --set train.steps=1

# --- how it is built ---
if command -v readelf >/dev/null 2>&1 && grep -q '^HARDEN_CFLAGS = .*fortify\|^HARDEN_CFLAGS = .*FORTIFY' "$CT_BUILDDIR/Makefile"; then
    for what in '-hW:Type: *DYN' '-lW:GNU_RELRO' '-dW:NOW' '--dyn-syms -W:__stack_chk_fail' '--dyn-syms -W:_chk'; do
        checks=$((checks + 1))
        # shellcheck disable=SC2086
        readelf ${what%%:*} "$captrain" | grep -q -e "${what#*:}" || fail "readelf ${what%%:*} does not show '${what#*:}'"
    done
    checks=$((checks + 1))
    if readelf -lW "$captrain" | grep 'GNU_STACK' | grep -q 'RWE'; then fail 'the stack can be executed'; fi
fi
finish
