# What the tests of export share: a folder of their own, and what is refused; sourced.
set -u
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
captrain="$CT_BUILDDIR/captrain"
fail() { echo "FAIL: $*"; exit 1; }
refused() { # what must be said, words of the command
    say=$1; shift
    "$captrain" export "$@" >out 2>&1 && fail "export $* was not refused"
    grep -qF -- "$say" out || { cat out; fail "export $* does not say: $say"; }
}
