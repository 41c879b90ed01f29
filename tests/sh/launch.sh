#!/bin/sh
# captrain launch: what it starts, exit codes, restarts, signals. A stand-in for mpirun tells what it was given; what is
# installed of Open MPI and MPICH is tried as well.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
: "${work:?}"
unset RANK WORLD_SIZE LOCAL_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE SLURM_STEP_ID PET_NNODES \
    PET_NPROC_PER_NODE PET_N_PROC_PER_NODE MASTER_PORT CAPTRAIN_MPIRUN

# --- the stand-in: a line for each start in `starts`, its words in words.1, words.2 ...; ends with the next of FAKE_CODES ---
mkdir "$work/bin" || exit 99
cat >"$work/bin/mpirun" <<'FAKE'
#!/bin/sh
if [ "$1" = --version ]; then
    echo "${FAKE_VERSION-mpirun (Open MPI) 4.1.4}"
    exit 0
fi
cd "${FAKE_DIR:?}" || exit 99
echo "$*" >>starts
n=$(($(wc -l <starts)))
printf '%s\n' "$@" >"words.$n"
read -r pid name state parent group rest </proc/$$/stat
echo "$pid $group" >group
grep SigIgn /proc/$$/status >ignored
wc -c >read
if [ -n "${FAKE_WAIT-}" ]; then
    for s in USR1 TERM INT HUP; do
        # shellcheck disable=SC2064
        trap "echo $s >>signals; exit ${FAKE_SAVED-75}" "$s"
    done
    echo >waits
    i=0
    while [ $i -lt 300 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    exit 98
fi
# shellcheck disable=SC2086
set -- ${FAKE_CODES-0}
shift $((n - 1))
if [ "$1" = killed ]; then kill -9 $$; fi
exit "${1-97}"
FAKE
chmod +x "$work/bin/mpirun"
FAKE_DIR=$work/fake
export FAKE_DIR
saved_path=$PATH
PATH=$work/bin:$PATH
CAPTRAIN_MPIRUN=$work/bin/mpirun # else it is that of the MPI which the engine was built with
export CAPTRAIN_MPIRUN

# fresh: nothing has been started
fresh() {
    rm -rf "${work:?}/fake"
    mkdir "$FAKE_DIR"
}

# started N: so often the stand-in ran
started() {
    checks=$((checks + 1))
    n=0
    if [ -f "$FAKE_DIR/starts" ]; then n=$(wc -l <"$FAKE_DIR/starts"); fi
    [ "$n" -eq "$1" ] || fail "mpirun was started $n times instead of $1"
}

# given N PATTERN TIMES: so many words of start N match
given() {
    checks=$((checks + 1))
    n=$(grep -c -x -e "$2" "$FAKE_DIR/words.$1")
    [ "$n" = "$3" ] || fail "start $1 was given $n times '$2' instead of $3: $(tr '\n' ' ' <"$FAKE_DIR/words.$1")"
}

# wait_for FILE: until it is there, half a minute at most
wait_for() {
    i=0
    while [ ! -f "$1" ] && [ $i -lt 300 ]; do
        sleep 0.1
        i=$((i + 1))
    done
}

# --- what it starts: words come whole, nothing to read, a group of its own, no signal ignored that is not meant ---
fresh
expect 0 "$captrain" launch -n 2 --threads 3 eval 'a model' "it's data" --json
started 1
says '^launch: .*/bin/mpirun .*-n 2 .*captrain eval --threads 3 .a model. .it'
given 1 'a model' 1
given 1 "it's data" 1
given 1 '--json' 1
given 1 '--threads' 1
given 1 "$(readlink -f "$captrain")" 1
checks=$((checks + 2))
read -r pid group <"$FAKE_DIR/group"
[ "$pid" = "$group" ] || fail "mpirun is in group $group, not its own: a Ctrl-C would come twice"
mask=$(sed 's/.*[^0-9a-f]//' "$FAKE_DIR/ignored")
[ $((0x${mask:-f000000} & 0x1001000)) -eq 0 ] || fail "SIGPIPE or SIGXFSZ is ignored: $mask"

# what is typed is not the processes'
fresh
checks=$((checks + 1))
# shellcheck disable=SC2016
expect 0 sh -c 'echo typed | "$1" launch -n 2 doctor' sh "$captrain"
[ "$(tr -d ' ' <"$FAKE_DIR/read")" = 0 ] || fail "mpirun has something to read"
fresh
expect 0 "$captrain" launch -n 2 --dry-run eval a b
started 0
prints '^[^ ]*/bin/mpirun .*-n 2 '
fresh
expect 0 "$captrain" --quiet launch -n 2 doctor
checks=$((checks + 1))
[ ! -s "$work/err" ] || fail "--quiet is not"
given 1 '--quiet' 1

# --- threads and cores: as many as this process may use ---
cores=$(nproc)
fresh
expect 0 "$captrain" launch -n $((cores + 1)) doctor
given 1 '--oversubscribe' 1
given 1 '1' 1 # thread each
says "launch: train, eval and profile of a training share their work among processes; each of $((cores + 1)) does all of doctor"
says "launch: $((cores + 1)) processes share [0-9]* cores*: none is bound, --oversubscribe allows it"
fresh
expect 0 "$captrain" launch -n 1 plan
given 1 '--oversubscribe' 0
checks=$((checks + 1))
grep -q "plan --threads $cores\$" "$FAKE_DIR/starts" || fail "not all $cores cores: $(cat "$FAKE_DIR/starts")"
fresh
expect 0 "$captrain" launch -n 1 train --set train.threads=1 --out x
given 1 '--threads' 0
given 1 '--allow-run-as-root' "$([ "$(id -u)" = 0 ] && echo 1 || echo 0)"
if [ "$(id -u)" = 0 ]; then says 'launch: this is root'; fi
fresh
expect 0 env FAKE_VERSION='HYDRA build details:' "$captrain" launch -n 1 doctor
given 1 '--allow-run-as-root' 0
given 1 '-bind-to' 1

# --- exit codes ---
for code in 0 1 2 3 75 143; do
    fresh
    expect $code env FAKE_CODES=$code "$captrain" launch -n 1 train --out x
    started 1
done
fresh
expect 137 env FAKE_CODES=killed "$captrain" launch -n 2 doctor

# --- starting again ---
fresh
expect 0 env FAKE_CODES='75 75 0' "$captrain" launch -n 1 --restarts 2 train --out x
started 3
given 1 '--resume' 0
given 2 '--resume' 1
given 3 '--resume' 1
says 'launch: exit code 75: going on from the last checkpoint, 2 of at most 2 times'
fresh
expect 75 env FAKE_CODES='75 75 0' "$captrain" launch -n 1 --restarts 1 train --out x
started 2
fresh
expect 0 env FAKE_CODES='75 0' "$captrain" launch -n 1 --restarts 5 train --out x --resume
started 2
given 1 '--resume' 1
given 2 '--resume' 1
fresh
expect 3 env FAKE_CODES='75 3 0' "$captrain" launch -n 1 --restarts 5 train --out x
started 2

# --- signals: a training hears SIGUSR1 and saves, anything else hears what came; nothing is started again ---
# signalled CODE SIGNAL HEARD WORD...: the job is signalled once it waits
signalled() {
    want=$1 signal=$2 heard=$3
    shift 3
    fresh
    checks=$((checks + 2))
    FAKE_WAIT=1 "$captrain" launch -n 1 "$@" >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    wait_for "$FAKE_DIR/waits"
    kill -"$signal" "${pid:?}"
    wait "$pid"
    got=$?
    [ $got -eq "$want" ] || fail "SIG$signal: exit $got instead of $want: $*"
    [ "$(cat "$FAKE_DIR/signals")" = "$heard" ] || fail "SIG$signal: mpirun heard $(cat "$FAKE_DIR/signals"): $*"
    started 1
}
with_restarts='--restarts 3 train --out x'
# shellcheck disable=SC2086
{
    signalled 130 INT USR1 $with_restarts
    says 'launch: SIGINT: the processes are asked to save and end'
    signalled 143 TERM USR1 $with_restarts
    # a shell cannot hear what it was started to ignore, as nohup has it; the last digit has signals 1 to 4
    case $(sed -n 's/^SigIgn:.*\(.\)$/\1/p' /proc/self/status) in
    *[13579bdf]) echo "skipped: SIGHUP is ignored here" ;;
    *) signalled 129 HUP USR1 $with_restarts ;;
    esac
    signalled 75 USR1 USR1 $with_restarts
}
# MPICH's forgets the exit code where it forwarded a signal
FAKE_VERSION='HYDRA build details:' FAKE_SAVED=0
export FAKE_VERSION FAKE_SAVED
# shellcheck disable=SC2086
{
    signalled 143 TERM USR1 $with_restarts
    signalled 75 USR1 USR1 $with_restarts
}
unset FAKE_VERSION
signalled 0 TERM USR1 train --out x # ended by itself
unset FAKE_SAVED
signalled 143 TERM TERM doctor
says 'launch: SIGTERM: the processes are asked to end'

# --- whoever kills it ends the job as well ---
fresh
checks=$((checks + 1))
FAKE_WAIT=1 "$captrain" launch -n 1 doctor >"$work/out" 2>"$work/err" </dev/null &
pid=$!
wait_for "$FAKE_DIR/waits"
kill -KILL "${pid:?}"
wait "$pid" 2>/dev/null
wait_for "$FAKE_DIR/signals"
[ "$(cat "$FAKE_DIR/signals")" = TERM ] || fail "mpirun outlives captrain launch"

# --- what is wrong is said once, and nothing is started ---
fresh
for words in '-n 0 doctor' '-n two doctor' '-n -1 doctor' 'nonsense' '' 'launch doctor' '--hosts a;b doctor' \
    '-n 1 --hosts a,b:1 doctor' '-n 3 --hosts a:1,b:1 doctor' '--restarts 1 train' '--restarts 1 doctor' 'train --nonsense' \
    'eval onlymodel'; do
    # shellcheck disable=SC2086
    expect 2 "$captrain" --quiet launch $words
    checks=$((checks + 1))
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "not one message: launch $words"
done
expect 2 "$captrain" launch -n 2 --hosts '' doctor
says 'launch: --hosts: a name is missing'
expect 2 env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 "$captrain" launch -n 2 doctor
says 'launch: this process is number 1 of 2 already, says openmpi'
expect 2 env RANK=1 WORLD_SIZE=2 "$captrain" launch -n 2 doctor
says 'RANK=1 without LOCAL_RANK is the number of this node'
expect 2 env -u CAPTRAIN_MPIRUN PATH=/nonexistent "$captrain" launch -n 2 doctor
says 'launch: there is no mpirun or mpiexec in PATH; packages that have one are openmpi-bin (Open MPI) and mpich'
expect 2 env CAPTRAIN_MPIRUN=/nonexistent/mpirun "$captrain" launch -n 2 doctor
says 'launch: CAPTRAIN_MPIRUN names no program: /nonexistent/mpirun'
expect 2 env FAKE_VERSION='slurm 23.02' "$captrain" launch -n 2 doctor
says 'launch: .*/bin/mpirun: --version is neither Open MPI'
printf '\177not a program\n' >"$work/noise"
chmod +x "$work/noise"
expect 1 env CAPTRAIN_MPIRUN="$work/noise" "$captrain" launch -n 2 doctor
says 'noise cannot be run: Exec format error'
started 0
expect 0 env CAPTRAIN_MPIRUN="$work/bin/mpirun" PATH="$saved_path" "$captrain" launch -n 2 doctor
# --- the engine's own mpirun is taken, whichever is called mpirun here; another family's would start strangers ---
if [ -e "$CT_BUILDDIR/.libs/captrain-mpi.so" ]; then
    own='Open MPI' its='mpirun.openmpi' other=MPICH said='HYDRA build details:'
    case $("$CT_MPICC" -show) in *mpich*) own=MPICH its=mpiexec.hydra other='Open MPI' said='mpirun (Open MPI) 4.1.4' ;; esac
    expect 2 env -u CAPTRAIN_MPIRUN PATH="$work/bin" FAKE_VERSION="$said" "$captrain" launch -n 2 --dry-run doctor
    says "launch: .*/bin/mpirun is $other's, captrain-mpi.so was built with $own"
    mkdir "$work/both" && printf '#!/bin/sh\necho "%s"\n' "$said" >"$work/both/mpirun" && chmod +x "$work/both/mpirun"
    cp "$work/bin/mpirun" "$work/both/$its"
    said='mpirun (Open MPI) 4.1.4'
    [ "$own" = 'Open MPI' ] || said='HYDRA build details:'
    expect 0 env -u CAPTRAIN_MPIRUN PATH="$work/both" FAKE_VERSION="$said" "$captrain" launch -n 2 --dry-run doctor
    prints "^[^ ]*/both/$its .*-n 2 "
    expect 0 env CAPTRAIN_MPIRUN="$work/both/mpirun" "$captrain" launch -n 2 --dry-run doctor
    says "launch: .*/both/mpirun is $other's, captrain-mpi.so was built with $own"
fi
started 1

# --- what is installed ---
PATH=$saved_path
for real in mpirun.openmpi mpirun.mpich; do
    if ! command -v $real >/dev/null; then
        echo "skipped: no $real"
        continue
    fi
    CAPTRAIN_MPIRUN=$real
    export CAPTRAIN_MPIRUN
    for n in 2 $((cores + 1)); do
        expect 0 timeout 120 "$captrain" launch -n "$n" help train.epochs
        checks=$((checks + 1))
        [ "$(grep -c 'train.epochs' "$work/out")" -eq "$n" ] || fail "$real: not $n processes"
    done
    expect 2 timeout 120 "$captrain" launch -n 2 gen nonsense
    # a training that is told to end saves first: mpirun would have killed it a second after a SIGTERM
    rm -rf "${work:?}/run"
    checks=$((checks + 2))
    "$captrain" launch -n 1 train --out "$work/run" --backend cpu --threads 1 --set model.width=0.25 \
        --set data.synth.count=64 --set data.synth.val_count=16 --set train.batch_size=16 --set train.epochs=100000 \
        --set log.interval_steps=1 >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    i=0
    while ! grep -q '"event": *"step"' "$work/run/metrics.jsonl" 2>/dev/null && [ $i -lt 600 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    kill -TERM "${pid:?}"
    wait "$pid"
    got=$?
    [ $got -eq 143 ] || fail "$real: a training that was told to end: exit $got instead of 143"
    [ -n "$(find "$work/run/checkpoints" -name '*.safetensors' 2>/dev/null)" ] || fail "$real: the training did not save"
done
finish
