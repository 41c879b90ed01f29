# Helpers of the black-box tests; sourced. Needs CT_BUILDDIR and CT_SRCDIR, as `make check` sets them.
: "${CT_BUILDDIR:?run this by make check}" "${CT_SRCDIR:?run this by make check}"
captrain=$CT_BUILDDIR/captrain
work=$(mktemp -d "${TMPDIR:-/tmp}/captrain-test.XXXXXX") || exit 99
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 129' HUP INT TERM
CAPTRAIN_CACHE_DIR=$work/cache
: "${CAPTRAIN_BACKEND_PATH=/nonexistent}" # the program has its plug-in beside it; tests are the CPU's unless they say otherwise
export CAPTRAIN_CACHE_DIR CAPTRAIN_BACKEND_PATH
failures=0
checks=0

# note TEXT: a failed expectation
fail() {
    failures=$((failures + 1))
    echo "FAIL: $*"
    if [ -s "$work/out" ]; then sed 's/^/    out: /' "$work/out" | head -20 | cut -c 1-500; fi
    if [ -s "$work/err" ]; then sed 's/^/    err: /' "$work/err" | head -20 | cut -c 1-500; fi
}

# expect CODE COMMAND...: runs it; stdout and stderr land in $work/out and $work/err
expect() {
    want=$1
    shift
    checks=$((checks + 1))
    "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    [ "$got" -eq "$want" ] || fail "exit $got instead of $want: $*"
    # a crash or a sanitizer report is never right, whatever code was expected
    if grep -q -e 'AddressSanitizer' -e 'runtime error:' -e 'ThreadSanitizer' "$work/err"; then fail "sanitizer report: $*"; fi
}

# says PATTERN: the last command's stderr matches the basic regular expression
says() {
    checks=$((checks + 1))
    grep -q -e "$1" "$work/err" || fail "stderr does not say '$1'"
}

# prints PATTERN: the last command's stdout matches
prints() {
    checks=$((checks + 1))
    grep -q -e "$1" "$work/out" || fail "stdout does not print '$1'"
}

finish() {
    echo "$checks checks, $failures failed"
    [ "$failures" -eq 0 ]
}
