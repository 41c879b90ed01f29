#!/bin/sh
# One training on several cards, from outside: processes with an emulated card each, which add through a stand-in for NCCL, started by
# captrain launch, by torchrun, and as srun would.
if [ -n "${CT_SANITIZERS:-}" ]; then
    echo "skipped: sanitizers do not know the emulator's fibers"
    exit 77
fi
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/group_util.sh"
emulated=${CT_BUILDDIR:?}/tests/emulate/.libs
CAPTRAIN_BACKEND_PATH=$emulated:$CT_BUILDDIR/.libs CAPTRAIN_NCCL=$emulated/nccl_processes.so EMULATE_CARDS=2 OMP_WAIT_POLICY=passive
export CAPTRAIN_BACKEND_PATH CAPTRAIN_NCCL EMULATE_CARDS OMP_WAIT_POLICY
unset CUDA_VISIBLE_DEVICES MASTER_ADDR MASTER_PORT RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE
cd "$work" || exit 99
cat > small.yaml << 'YAML'
name: small
model: {name: textcnn-small, width: 0.25, hidden: 16}
data: {train: 'synth:text', charset: "0123", height: 16, width: 40, cache: false, synth: {style: plain, count: 96, val_count: 20, length: 2}}
optimizer: {ema_decay: 0.9}
train: {batch_size: 8, steps: 12, threads: 1, workers: 1, backend: cuda}
log: {interval_steps: 1}
checkpoint: {every_steps: 4}
YAML
mpi=''
if [ -e "$CT_BUILDDIR/.libs/captrain-mpi.so" ] && "$captrain" launch -n 2 --dry-run train small.yaml > out 2> err; then mpi=1; fi

# free_port: one that nobody holds now
free_port() {
    port=$((20000 + $$ % 9000))
    while grep -qi ":$(printf '%04X' $port) " /proc/net/tcp /proc/net/tcp6 2> /dev/null; do port=$((port + 1)); done
    echo $port
}

# member N OF ARGUMENTS...: process N of several, as srun starts it where Slurm brings no MPI
member() {
    n=$1 of=$2
    shift 2
    env SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS="$of" SLURM_PROCID="$n" SLURM_LOCALID="$n" SLURM_NODEID=0 \
        SLURM_STEP_TASKS_PER_NODE="$of" timeout 120 "$captrain" "$@"
}

# both CODE ARGUMENTS...: two of them; what each wrote is in err.0 and err.1
both() {
    want=$1
    shift
    checks=$((checks + 2))
    member 1 2 "$@" > out.1 2> err.1 < /dev/null &
    other=$!
    member 0 2 "$@" > out 2> err < /dev/null
    got=$?
    [ $got -eq "$want" ] || fail "process 0: exit $got instead of $want: $*"
    wait $other
    got=$?
    cp err err.0
    [ $got -eq "$want" ] || fail "process 1: exit $got instead of $want: $(cat err.1)"
}

# same WHAT A B
same() {
    checks=$((checks + 1))
    [ -n "$2" ] && [ "$2" = "$3" ] || fail "$1: '$2' and '$3'"
}

# --- without MPI: the group's name and all words go over TCP, sums over NCCL, recorded with the step ---
port=$(free_port)
CAPTRAIN_VERBOSE=plan both 0 train small.yaml --out "$work/two" --set group.port=$port
says "^  processes  2 on 1 machine, over NCCL, and words over TCP at port $port (group.port); each computes 4 of 8 samples"
says 'nodes captured'
same processes "$(value two processes)" 2
# nobody knows how long sums within the card's step take, and nobody says so
same 'sums that are not timed, in steps' "$(events two step comm_s | sort -u)" null
same 'sums that are not timed, at the end' "$(value two comm_wait_s)" null
nobody "$work/two"

# --- queued call by call: the same bits; late, as far as CUDA's rules allow: as well, so nothing is missing between the streams ---
both 0 train small.yaml --out "$work/eager" --set group.port=$port --no-graph
same 'recorded or not' "$(value two weights_hash)" "$(value eager weights_hash)"
EMULATE_LATE=1
export EMULATE_LATE
both 0 train small.yaml --out "$work/late" --set group.port=$port
same 'as late as can be' "$(value two weights_hash)" "$(value late weights_hash)"
both 0 train small.yaml --out "$work/late-eager" --set group.port=$port --no-graph
same 'as late as can be, not recorded' "$(value two weights_hash)" "$(value late-eager weights_hash)"
unset EMULATE_LATE

# --- a step that leaves its last call out is noticed ---
EMULATE_WRONG=graphs
export EMULATE_WRONG
member 1 2 train small.yaml --out "$work/wrong" --set group.port=$port > out.1 2> err.1 < /dev/null &
other=$!
member 0 2 train small.yaml --out "$work/wrong" --set group.port=$port > out 2> err < /dev/null
wait $other
unset EMULATE_WRONG
checks=$((checks + 1))
[ "$(value wrong weights_hash 2> /dev/null)" != "$(value two weights_hash)" ] || fail "a call is left out, and nobody notices"

# --- micro-steps; a last batch that is too short for all to have a row of it ---
for more in '--set train.accumulate=2' '--set data.synth.count=25 --set train.steps=0 --set train.epochs=4'; do
    rm -rf alike eager
    # shellcheck disable=SC2086
    both 0 train small.yaml --out "$work/alike" --set group.port=$port $more
    # shellcheck disable=SC2086
    both 0 train small.yaml --out "$work/eager" --set group.port=$port $more --no-graph
    same "recorded or not, $more" "$(value alike weights_hash)" "$(value eager weights_hash)"
done
same 'samples of an epoch' "$(events alike epoch samples | sort -u)" 25

# --- what goes over MPI through the host's memory gives the same sums, on cards of their own or on one ---
if [ -n "$mpi" ]; then
    for how in 'launched:2:auto' 'host:2:mpi' 'shared:1:mpi'; do
        run=${how%%:*} engine=${how##*:} cards=${how#*:}
        EMULATE_CARDS=${cards%:*}
        expect 0 timeout 120 "$captrain" launch -n 2 train small.yaml --out "$work/$run" --set group.engine="$engine"
        same "$run" "$(value two weights_hash)" "$(value "$run" weights_hash)"
        nobody "$work/$run"
        if [ "$run" = launched ]; then says 'over NCCL, and words over '; else says '^  processes  2 on 1 machine, over [^N]'; fi
    done
    says '2 processes share 1 card of '
    EMULATE_CARDS=1
    expect 2 timeout 120 "$captrain" launch -n 2 train small.yaml --out "$work/crowd"
    says 'processes 0 and 1 of 2 share the card 0000:00:00.0 of .*: it has 2 of the processes and shows 1 card .*group.engine mpi'
    EMULATE_CARDS=2
    # a process for each card where nothing else is said
    expect 0 "$captrain" launch --dry-run train small.yaml
    prints ' -np\{0,1\} 2 '
    says 'one process for each device, and backend cuda has 2'
    # no NCCL: said, and MPI does it
    CAPTRAIN_NCCL=/nonexistent.so expect 0 timeout 120 "$captrain" launch -n 2 train small.yaml --out "$work/without"
    same 'without NCCL' "$(value two weights_hash)" "$(value without weights_hash)"
    checks=$((checks + 1))
    awk -v s="$(value without comm_s)" 'BEGIN { exit !(s > 0) }' || fail "sums over MPI took '$(value without comm_s)' s"
    says 'group.engine: auto is mpi, through the host.s memory: .*groups of cards need NCCL: /nonexistent.so'
    CAPTRAIN_NCCL=/nonexistent.so expect 2 timeout 120 "$captrain" launch -n 2 train small.yaml --out "$work/none" --set group.engine=nccl
    says 'groups of cards need NCCL: /nonexistent.so'
fi

# --- scoring is shared, and its counts are one process's ---
expect 0 "$captrain" gen text --out pics --count 21 --seed 3 --charset 0123 --length 2
expect 0 "$captrain" --backend cuda eval "$work/two" pics --json
grep -v -e '"loss"' -e '"confidence"' out > one.json
MASTER_PORT=$((port - 1)) both 0 --backend cuda eval "$work/two" pics --json
grep -v -e '"loss"' -e '"confidence"' out > many.json
checks=$((checks + 1))
cmp -s one.json many.json || fail "eval of two processes: $(diff one.json many.json | head -4)"

# --- each shown its own card alone, as some launchers do; too few cards; one that is hidden ---
for n in 1 0; do
    CUDA_VISIBLE_DEVICES=$n member $n 2 train small.yaml --out "$work/own" --set group.port="$port" > out 2> err < /dev/null &
done
wait
same 'cards of their own' "$(value two weights_hash)" "$(value own weights_hash)"
CUDA_VISIBLE_DEVICES=1 both 2 train small.yaml --out "$work/hidden" --set group.port="$port"
says 'processes 0 and 1 of 2 share the card 0000:01:00.0 of .*: it has 2 of the processes and shows 1 card (CUDA_VISIBLE_DEVICES'
same 'messages of one failure' "$(cat err.0 err.1 | grep -c 'share the card')" 1

# --- what a group of cards does not do ---
both 2 train small.yaml --out "$work/refused" --set group.port="$port" --set train.sync_norm=true
says 'train.sync_norm: batch norms see the samples of all processes on CPUs alone'
both 2 train small.yaml --out "$work/refused" --set group.port="$port" --set train.parts=4
says 'train.parts: cards add in an order of their own; with group.engine mpi'
expect 2 env CAPTRAIN_NCCL=/nonexistent.so RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 "$captrain" train small.yaml --out "$work/refused"
says 'torchrun started 2 processes, and here they need MPI (.*NCCL.*): captrain launch -n 2 train'
expect 2 env RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 "$captrain" train small.yaml --backend cpu --out "$work/refused"
says 'torchrun started 2 processes, and on CPUs they need MPI: captrain launch -n 2 train'
expect 2 env SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_LOCALID=0 "$captrain" train small.yaml --out "$work/refused"
says 'process 1 of 2 does not know where process 0 is: MASTER_ADDR is not set'
expect 0 "$captrain" train small.yaml --out "$work/one" --set train.steps=1
says '^  cards      1 of the 2 that are there; captrain launch train'

# --- processes that differ: one message, everywhere the same code ---
member 1 2 train small.yaml --out "$work/differ" --set group.port="$port" --set optimizer.lr=0.5 > out.1 2> err.1 < /dev/null &
other=$!
expect 2 member 0 2 train small.yaml --out "$work/differ" --set group.port="$port"
wait $other
same 'exit code of the one that differs' $? 2
same 'messages of a difference' "$(cat err err.1 | grep -c 'optimizer.lr is 0.5, but 0.001 at process 0')" 1

# --- one cannot read its configuration, one finds no card: both end, and one message says whose fault it is ---
for odd in "--set train.batch_siz=3 unknown key 'train.batch_siz'" '--backend cpu process 0 of 2 waited' 'CUDA_VISIBLE_DEVICES= backend cuda: no device'; do
    options=$(echo "$odd" | cut -d' ' -f1-2) hidden=0,1 words=$(echo "$odd" | cut -d' ' -f3-)
    case $odd in CUDA*) options='' hidden='' words=${odd#* } ;; esac
    # shellcheck disable=SC2086
    CUDA_VISIBLE_DEVICES=$hidden member 1 2 train small.yaml --out "$work/differ" --set group.port="$port" $options > out.1 2> err.1 < /dev/null &
    other=$!
    member 0 2 train small.yaml --out "$work/differ" --set group.port="$port" --set group.deadline=12 > out 2> err < /dev/null
    code=$?
    wait $other
    same "exit codes where one is odd: $odd" "$? $code" '2 2'
    same "messages where one is odd: $odd" "$(cat err err.1 | grep -c "$words")" 1
done

# --- somebody else has the port ---
if command -v python3 > /dev/null; then
    python3 -c 'import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
print(s.getsockname()[1], flush=True)
while True:
    c = s.accept()[0]
    c.sendall(b"220 mail.example.org\r\n" * 100)
    c.close()' > theirs &
    holder=$!
    while [ ! -s theirs ]; do sleep 0.1; done
    theirs=$(cat theirs)
    began=$(date +%s)
    both 2 train small.yaml --out "$work/taken" --set group.port="$theirs" --set group.deadline=6
    checks=$((checks + 1))
    [ $(($(date +%s) - began)) -le 30 ] || fail "it took $(($(date +%s) - began)) s"
    says "process 0 of 2 cannot be met at port $theirs (group.port) of 127.0.0.1: Address already in use"
    cp err.1 err
    says "process 1 of 2 did not meet process 0 at port $theirs (group.port) of 127.0.0.1 within 5 s: another program answers there"
    MASTER_PORT=$((theirs - 1)) both 2 train small.yaml --out "$work/taken" --set group.deadline=2
    says "process 0 of 2 cannot be met at port $theirs (MASTER_PORT + 1) of 127.0.0.1"
    kill $holder
    wait $holder 2> /dev/null
fi
expect 2 member 0 2 train small.yaml --out "$work/nobody" --set group.port="$port" --set group.deadline=2
says "process 0 of 2 waited 1.67 s at port $port (group.port) of 127.0.0.1 for the others: missing 1"

# started RUN STEP: waits until it has done so many steps
started() {
    i=0
    until [ "$(events "$1" step step | tail -1)" -ge "$2" ] 2> /dev/null; do
        sleep 0.1
        i=$((i + 1))
        [ $i -lt 600 ] || return 1
    done
}

# kill_one RUN SIGNAL N: process N of a run
kill_one() {
    for p in $(pgrep -f "^$captrain train .*--out $1( |\$)"); do
        if tr '\0' '\n' < "/proc/$p/environ" | grep -qxE "(SLURM_PROCID|OMPI_COMM_WORLD_RANK|PMI_RANK)=$3"; then
            kill "-$2" "$p"
            echo "$p"
        fi
    done
}

# --- one is killed: the other ends, and says who is gone; as many go on to the same end, and so does one alone ---
length="--set train.epochs=1000 --set train.steps=24"
long="--set group.port=$port $length"
# shellcheck disable=SC2086
both 0 train small.yaml --out "$work/undisturbed" $long
for victim in 0 1; do
    run=$work/killed-$victim
    # shellcheck disable=SC2086
    { member 1 2 train small.yaml --out "$run" $long > out.1 2> err.1 < /dev/null; echo $? > code.1; } &
    # shellcheck disable=SC2086
    { member 0 2 train small.yaml --out "$run" $long > out.0 2> err.0 < /dev/null; echo $? > code.0; } &
    started "$run" 6 || fail "the training does not begin"
    kill_one "$run" KILL $victim > victims
    began=$(date +%s)
    wait
    left=$((1 - victim))
    checks=$((checks + 2))
    [ $(($(date +%s) - began)) -le 15 ] || fail "the other took $(($(date +%s) - began)) s to end"
    same "exit code of $left" "$(cat code.$left)" 75
    grep -q "process $victim of 2 is gone" err.$left || fail "it does not say who is gone: $(cat err.$left)"
    nobody "$run"
    rm -f code.0 code.1
done
# shellcheck disable=SC2086
both 0 train small.yaml --out "$work/killed-0" --resume $long
same 'killed and resumed' "$(value undisturbed weights_hash)" "$(value killed-0 weights_hash)"
# shellcheck disable=SC2086
expect 0 "$captrain" train small.yaml --out "$work/killed-1" --resume $length
same 'steps, two and one' "$(value killed-1 steps)" 24
if [ -n "$mpi" ]; then
    run=$work/restarted
    # shellcheck disable=SC2086
    { timeout 240 "$captrain" launch -n 2 --restarts 3 train small.yaml --out "$run" $length > out 2> err < /dev/null; echo $? > code.0; } &
    for step in 6 14; do
        started "$run" $step || fail "the training does not go on"
        kill_one "$run" KILL 1 > victims
    done
    wait
    same 'exit code of restarts' "$(cat code.0)" 0
    same 'restarted' "$(value undisturbed weights_hash)" "$(value restarted weights_hash)"
    same 'restarts' "$(events "$run" resume step | wc -l)" 2
    rm -f code.0
fi

# --- one stands still in the middle of it: named ---
run=$work/still
# shellcheck disable=SC2086
{ member 1 2 train small.yaml --out "$run" $long --set group.deadline=3 > out.1 2> err.1 < /dev/null; } &
# shellcheck disable=SC2086
{ member 0 2 train small.yaml --out "$run" $long --set group.deadline=3 > out.0 2> err.0 < /dev/null; echo $? > code.0; } &
started "$run" 3 || fail "the training does not begin"
still=$(kill_one "$run" STOP 1)
while [ ! -s code.0 ]; do sleep 0.2; done
same 'exit code beside one that stands still' "$(cat code.0)" 75
cp err.0 err
says 'rank 1 (.*) is behind: step [0-9]*, '
kill -KILL "$still"
wait
nobody "$run"

# --- a signal to one: both stop behind the same step ---
run=$work/signal
# shellcheck disable=SC2086
{ member 1 2 train small.yaml --out "$run" $long > out.1 2> err.1 < /dev/null; echo $? > code.1; } &
# shellcheck disable=SC2086
{ member 0 2 train small.yaml --out "$run" $long > out.0 2> err.0 < /dev/null; echo $? > code.0; } &
started "$run" 3 || fail "the training does not begin"
kill_one "$run" TERM 1 > victims
wait
same 'exit codes after SIGTERM' "$(cat code.0 code.1 | tr '\n' ' ')" '143 143 '
checks=$((checks + 1))
grep -q 'stopped by SIGTERM after step' "$run/run.log" "$run/ranks/0001.log" || fail "the logs do not say why they stopped"

# --- torchrun: it holds MASTER_PORT, restarts what failed, and names the cause ---
if command -v torchrun > /dev/null && torchrun --help > /dev/null 2>&1; then
    expect 0 timeout 120 torchrun --no-python --nproc-per-node 2 "$captrain" train small.yaml --out "$work/torch"
    same 'torchrun' "$(value two weights_hash)" "$(value torch weights_hash)"
    says 'words over TCP at port [0-9]* (MASTER_PORT + 1)'
    expect 1 timeout 120 torchrun --no-python --nproc-per-node 2 "$captrain" train small.yaml --out "$work/torch" --set optimizer.lr=-3
    says 'traceback : --set optimizer.lr=-3: optimizer.lr: must be above 0'
    TORCHELASTIC_ERROR_FILE=$work/error.json MASTER_PORT=$((port - 1)) LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 RANK=0 WORLD_SIZE=2 \
        expect 2 "$captrain" train small.yaml --out "$work/torch" --set group.deadline=1
    checks=$((checks + 1))
    grep -q 'waited 0.833 s at port' error.json || fail "the error file does not say why: $(cat error.json)"
fi
finish
