#!/bin/sh
# The MPI engine in groups of real processes (tests/mpi/check_mpi.c): what works, who is missed, which library is refused.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
skip() {
    echo "skipped: $*"
    exit 77
}
built=$CT_BUILDDIR/.libs
check_mpi=$CT_BUILDDIR/tests/mpi/check_mpi
[ -e "$built/captrain-mpi.so" ] || skip "configure did not build the MPI engine"
case ${CT_SANITIZERS:-} in *thread*) skip "the MPI libraries were not built for the thread sanitizer" ;; esac

# family COMMAND: whose compiler wrapper or launcher it is: openmpi, mpich, nothing
family() {
    command -v "$1" > /dev/null || return 0
    case $1 in
    *mpicc*) said=$("$1" --showme:version 2>&1; "$1" -v 2>&1) ;;
    *) said=$("$1" --version 2>&1) ;;
    esac
    case $said in
    *'Open MPI'* | *OpenRTE*) echo openmpi ;;
    *HYDRA* | *MPICH*) echo mpich ;;
    esac
}

# find_launcher FAMILY: sets $launcher; what lies beside the wrapper that configure found comes first
find_launcher() {
    for launcher in "$(dirname "$CT_MPICC")/mpirun" "mpirun.$1" mpirun mpiexec; do [ "$(family "$launcher")" = "$1" ] && return; done
    launcher=
}

# What processes leave behind at their end is the MPI library's.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export ASAN_OPTIONS

# group FAMILY N ARGUMENTS...: check_mpi in N processes
group() {
    fam=$1 n=$2
    shift 2
    find_launcher "$fam"
    # $extra is none or one option.
    # shellcheck disable=SC2086
    case $fam in
    openmpi) set -- --allow-run-as-root --oversubscribe --bind-to none $extra -n "$n" "$check_mpi" "$@" ;;
    *) set -- $extra -n "$n" "$check_mpi" "$@" ;;
    esac
    timeout 300 "$launcher" "$@"
}
extra=

ours=$(family "${CT_MPICC:?run this by make check}")
find_launcher "$ours"
[ -n "$launcher" ] || skip "there is no mpirun that belongs to $CT_MPICC ($ours)"
case $ours in openmpi) theirs=mpich ;; *) theirs=openmpi ;; esac
CAPTRAIN_BACKEND_PATH=$built
export CAPTRAIN_BACKEND_PATH

# --- the program itself knows no MPI ---
expect 0 ldd "$captrain"
checks=$((checks + 1))
if grep -i 'libmpi' "$work/out"; then fail "captrain is linked with MPI"; fi

# --- what works, twice with the same bits; in calls of small pieces ---
# suite FAMILY N: sets $digest
suite() {
    expect 0 group "$1" "$2" suite
    prints "100%: Checks: 18, Failures: 0, Errors: 0"
    prints ", $2 members, digest ................\$"
    digest=$(sed -n 's/.*digest //p' "$work/out")
}
sizes="2 4"
[ -z "${CT_QUICK:-}" ] || sizes=2
for n in $sizes; do
    suite "$ours" $n
    first=$digest
    suite "$ours" $n
    checks=$((checks + 2))
    [ "$first" = "$digest" ] || fail "$n members: a second run has other bits: $first, $digest"
    says "sums  *are made in memory that the $n processes share, which also holds weights and optimizer once"
    if [ -z "${CT_QUICK:-}" ]; then
        # by messages: the suite sums less then, so that the digest is another one, but trainings end with the same weights
        trained=$(grep '^trained ' "$work/out")
        CAPTRAIN_SHARED=0
        export CAPTRAIN_SHARED
        suite "$ours" $n
        unset CAPTRAIN_SHARED
        says 'sums  *are made of messages: member 0: CAPTRAIN_SHARED is 0'
        checks=$((checks + 1))
        [ "$trained" = "$(grep '^trained ' "$work/out")" ] || fail "$n members: other weights by messages"
    fi
    digest=$first
    [ "$digest" != "${smaller-}" ] || fail "the digest does not depend on what was summed"
    smaller=$digest
done
CAPTRAIN_BACKEND_PATH=$CT_BUILDDIR/tests/mpi/.libs
suite "$ours" 2
CAPTRAIN_BACKEND_PATH=$built

# --- a member that does not come, does not sum, is killed: the others are told, nobody hangs ---
# told N PATTERN: the N members that are left, in the group's last folder
told() {
    k=0
    while [ $k -lt "$1" ]; do
        checks=$((checks + 1))
        grep -q "$2" "$work/group/said.$k" || fail "member $k was not told '$2' but '$(cat "$work/group/said.$k")'"
        k=$((k + 1))
    done
}
# missing N WHAT: the launcher's own status does not matter (it minds who ends before the others), but that it ends
missing() {
    rm -rf "$work/group"
    mkdir "$work/group"
    group "$ours" "$1" "$2" "$work/group" > "$work/out" 2> "$work/err" < /dev/null
    got=$?
    checks=$((checks + 1))
    [ $got -ne 124 ] || fail "$1 members, $2: they hang"
}
for n in $sizes; do
    missing $n join
    told $((n - 1)) "after 0.5 s not all $n members had joined (this is member"
    missing $n sum
    told $((n - 1)) "of $n waited 0.5 s for the others: one of them is gone or stands still"
    checks=$((checks + 1))
    grep -q '^ok' "$work/group/said.$((n - 1))" || fail "the last member failed, too"
    missing $n die
    checks=$((checks + 1))
    [ $got -ne 0 ] || fail "a member was killed and the launcher does not know"
    # Launchers end the others as well, unless they are told not to; MPICH's may end itself then.
    [ "$ours" = openmpi ] || continue
    extra=--enable-recovery
    missing $n die
    extra=
    told $((n - 1)) "of $n waited 0.5 s for the others"
done

# --- another launcher's numbers ---
expect 0 "$check_mpi" misled
says 'the launcher says that this is process 0 of 2, but for .* it is process 0 of 1'
CAPTRAIN_BACKEND_PATH=/nonexistent
expect 2 "$check_mpi" misled
says 'no plug-in captrain-mpi.so in /nonexistent'

# --- the other MPI, if it is there: a plug-in that was built for it, and a launcher of one with the library of the other ---
flags() { # PATTERN COMMAND...
    pattern=$1
    shift
    "$@" -show | tr ' ' '\n' | grep -e "$pattern" | tr '\n' ' '
}
# engine_of FOLDER FLAGS...: a plug-in in $work/FOLDER
engine_of() {
    folder=$1
    shift
    mkdir "$work/$folder"
    # The compiler may be several words.
    # shellcheck disable=SC2086
    expect 0 ${CT_CC:-cc} -std=gnu11 -O1 -shared -fPIC -I"$CT_SRCDIR/src" -I"$CT_SRCDIR" "$CT_SRCDIR/backends/mpi/comm.c" \
        "$CT_SRCDIR/backends/mpi/engine.c" "$CT_SRCDIR/backends/mpi/shared.c" "$@" -o "$work/$folder/captrain-mpi.so"
    CAPTRAIN_BACKEND_PATH=$work/$folder
}
# compiles COMMAND: a wrapper may be there without the headers, which are in a package of their own
compiles() {
    # shellcheck disable=SC2046,SC2086
    echo '#include <mpi.h>' | ${CT_CC:-cc} $(flags '^-[ID]' "$1") -xc -E - > "$work/header" 2>&1
}
other=mpicc.$theirs
find_launcher $theirs
if [ "$(family "$other")" = "$theirs" ] && [ -n "$launcher" ] && compiles "$other"; then
    # shellcheck disable=SC2046
    engine_of theirs $(flags '^-[IDLl]' "$other")
    suite $theirs 2
    # Every process is a world of its own.
    group "$ours" 2 suite > "$work/out" 2> "$work/err" < /dev/null
    says 'the launcher says that this is process [01] of 2, but for .* it is process 0 of 1: was it started by the mpirun'
    CAPTRAIN_BACKEND_PATH=$built
    group $theirs 2 suite > "$work/out" 2> "$work/err" < /dev/null
    says 'the launcher says that this is process [01] of 2, but for .* it is process 0 of 1: was it started by the mpirun'
    # What Open MPI is compiled for has other symbols; MPICH's is found out only by its version.
    if [ "$ours" = openmpi ]; then
        # shellcheck disable=SC2046
        engine_of mixed $(flags '^-[ID]' "$other") $(flags '^-[Ll]' "$CT_MPICC")
        expect 2 "$check_mpi" misled
        says 'captrain-mpi.so: it was built for MPICH [0-9]* and finds Open MPI .*: MPI libraries cannot be exchanged'
    fi
else
    echo "no $other with its headers and launcher: refusing the other family was not tried"
fi
finish
