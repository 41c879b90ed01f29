#!/bin/sh
# What the command line prints, case by case (tests/cli), and that the runner notices a change.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
run="$CT_SRCDIR/tests/cli/run --captrain $captrain"

# --- the cases ---
# shellcheck disable=SC2086
if ! $run; then fail "the command line prints other things than it did; if it is meant to: tests/cli/run --update"; fi
checks=$((checks + 1))

# --- each kind of change is noticed, shown and written back by --update ---
cat >"$work/case.t" <<'T'
# A comment stays, and so does an empty line.

$ captrain --version
| captrain VERSION

$ echo a; echo b >&2; echo; pwd; printf 'took 1.25 s'; exit 3
~ s/took [0-9.]* s/took TIME/
| a
|
| WORK/case
| took TIME
! b
? 3
T
cp "$work/case.t" "$work/good.t"
# shellcheck disable=SC2086
{
    expect 0 $run "$work/case.t"
    for change in 's/^| a$/| A/' 's/^! b$/! c/' 's/^? 3$/? 4/' '/^? 3$/d' '/^! b$/d' 's/^|$/| x/' 's/^~ .*/~ s,x,y,/' 's/^| captrain VERSION/| captrain 9.9.9/'; do
        sed "$change" "$work/good.t" >"$work/case.t"
        expect 1 $run "$work/case.t"
        prints '^[-+][|!?~]'
        prints '1 files differ'
        case $change in
        *'~'*) ;; # a rule is not made up
        *)
            expect 0 $run --update "$work/case.t"
            prints 'has been rewritten'
            expect 0 cmp "$work/case.t" "$work/good.t"
            ;;
        esac
    done
    expect 2 $run --nonsense
}
finish
