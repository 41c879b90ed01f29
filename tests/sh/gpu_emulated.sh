#!/bin/sh
# tests/gpu/run itself: that it passes on the emulated card, and that it notices what is wrong.
if [ -n "${CT_SANITIZERS:-}" ]; then
    echo "skipped: sanitizers do not know the emulator's fibers"
    exit 77
fi
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
run="$CT_SRCDIR/tests/gpu/run --captrain $captrain"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
# jsons PATTERN: the file of --json has it
jsons() {
    checks=$((checks + 1))
    grep -q -e "$1" "$work/json" || fail "the JSON file has no '$1': $(cat "$work/json")"
}

# --- usage, and no GPU ---
# shellcheck disable=SC2086
expect 2 $run --nonsense
# shellcheck disable=SC2086
expect 2 $run --only 'operators nonsense'
CAPTRAIN_BACKEND_PATH=/nonexistent
export CAPTRAIN_BACKEND_PATH
# shellcheck disable=SC2086
expect 77 $run
prints 'SKIP: no GPU to test: .*no plug-in captrain-cuda.so'

# --- the emulated card passes ---
CAPTRAIN_BACKEND_PATH=$CT_BUILDDIR/tests/emulate/.libs
CAPTRAIN_NCCL=$CAPTRAIN_BACKEND_PATH/nccl_processes.so
export CAPTRAIN_NCCL
all='operators accuracy precisions graph group kill deterministic' n=7
[ -z "${CT_QUICK-}" ] || all='operators graph group' n=3
# shellcheck disable=SC2086
expect 0 $run --quick --only "$all" --json "$work/json"
prints 'captrain on emulated card (cuda), quick'
for check in $all; do
    prints "^$check  *PASS"
    jsons "\"name\":\"$check\",\"result\":\"PASS\""
done
prints "^$n passed, 0 failed, 0 skipped"
jsons "\"passed\":$n,\"failed\":0,\"skipped\":0}"
jsons '"device":"emulated card","backend":"cuda","quick":true'

# --- a card whose kernels leave something out, and one whose captured steps do ---
EMULATE_WRONG=kernels
export EMULATE_WRONG
# shellcheck disable=SC2086
expect 1 $run --quick --only operators --json "$work/json"
prints '^operators  *FAIL .*failed'
prints '^0 passed, 1 failed, 0 skipped'
jsons '"name":"operators","result":"FAIL"'
EMULATE_WRONG=graphs
# shellcheck disable=SC2086
expect 1 $run --quick --only graph
prints '^graph  *FAIL'
unset EMULATE_WRONG
# shellcheck disable=SC2086
CAPTRAIN_NCCL=/nonexistent.so expect 0 $run --quick --only group
prints '^group  *SKIP .*groups of cards need NCCL: /nonexistent.so'

# --- the sanitizer is asked for what it can answer: a stand-in writes down what it is started with, and passes or fails ---
mkdir "$work/bin"
cat >"$work/bin/compute-sanitizer" <<'SH'
#!/bin/sh
echo "$@" >>"$CALLS"
case "$*" in *"$FAILS"*) echo "========= Error: Race reported"; exit 99 ;; esac
SH
chmod +x "$work/bin/compute-sanitizer"
# sanitized STATUS FAILS
sanitized() {
    rm -f "$work/calls"
    # shellcheck disable=SC2086
    CALLS="$work/calls" FAILS="$2" PATH="$work/bin:$PATH" expect "$1" $run --only sanitizer
}
sanitized 0 'nothing like it'
prints '^sanitizer  *PASS .*memcheck: no errors in 4 self-tests of our kernels'
prints '^sanitizer  *PASS .*racecheck: no errors in 19 self-tests of our kernels'
checks=$((checks + 1))
! grep -v -e '--report-api-errors no --error-exitcode 99' "$work/calls" || fail "API errors of the libraries' probing are counted"
checks=$((checks + 1))
! grep -v -e '--impl cuda.kernel' -e '--impl cuda.depthwise' -e '--impl cuda.few' -e '--impl cuda.mma' "$work/calls" || fail "the libraries' kernels are sanitized"
sanitized 1 '--tool racecheck'
prints '^sanitizer  *FAIL .*racecheck of --impl cuda.kernel --op batchnorm: exit 99: .*Race reported'
# every operator that is named has such a kernel
# shellcheck disable=SC2013
for op in $(sed -n "s/^shared='\(.*\)'/\1/p" "$CT_SRCDIR/tests/gpu/run"); do
    checks=$((checks + 1))
    grep -q "{ CT_OP_$(echo "$op" | tr '[:lower:]' '[:upper:]'), \"cuda.kernel\"," "$CT_SRCDIR"/backends/cuda/*.cu || fail "no kernel of ours for $op"
done
finish
