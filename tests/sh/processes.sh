#!/bin/sh
# One training in several processes, from outside: captrain launch, mpirun and the MPI engine as they are installed.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/group_util.sh"
skip() {
    echo "skipped: $*"
    exit 77
}
[ -e "$CT_BUILDDIR/.libs/captrain-mpi.so" ] || skip "configure did not build the MPI engine"
case ${CT_SANITIZERS:-} in *thread*) skip "the MPI libraries were not built for the thread sanitizer" ;; esac
CAPTRAIN_BACKEND_PATH=$CT_BUILDDIR/.libs OMP_WAIT_POLICY=passive
# What is left at the end is the MPI library's.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export CAPTRAIN_BACKEND_PATH OMP_WAIT_POLICY ASAN_OPTIONS
"$captrain" launch -n 2 --dry-run train > "$work/out" 2> "$work/err" || skip "$(tail -1 "$work/err")"
cd "$work" || exit 99

cat > small.yaml << 'EOF'
name: small
model: {name: textcnn-small, hidden: 16}
data: {train: 'synth:text', height: 20, width: 60, cache: false, synth: {count: 400}}
train: {batch_size: 8, steps: 12, threads: 1, workers: 1}
log: {interval_steps: 1}
checkpoint: {every_steps: 4}
EOF

# launched N ARGUMENTS...: train in N processes, the rest as for train
launched() {
    n=$1
    shift
    timeout 300 "$captrain" launch -n "$n" train small.yaml --threads 1 "$@"
}

# same WHAT A B
same() {
    checks=$((checks + 1))
    [ "$2" = "$3" ] || fail "$1: '$2' and '$3'"
}

# --- one run, one result; who computes what does not change what is learned but by rounding and batch norm ---
sizes='1 2 3 4' again='2 3 1' shared='1 2 3' stills='1 2 3'
[ -z "${CT_QUICK:-}" ] || sizes='1 2 4' again=2 shared='1 3' stills=2
for n in $sizes; do
    expect 0 launched $n --out "$work/n$n" --set train.batch_size=12
    same "processes" "$(value "n$n" processes)" $n
    if [ $n -gt 1 ]; then says "^  processes  $n on 1 machine, over .*; each computes $((12 / n)) of 12 samples, and batch norms see those"; fi
    same "steps of $n" "$(value "n$n" steps)" 12
    checks=$((checks + 1))
    [ "$(find . -name result.json -path "./n$n/*" | wc -l)" = 1 ] || fail "not one result.json in n$n"
    same "logs of $n" "$(find "n$n/ranks" -name '*.log' 2> /dev/null | wc -l)" $((n - 1))
    nobody "$work/n$n"
done
expect 0 "$captrain" train small.yaml --out "$work/alone" --set train.batch_size=12
same "one process, launched or not" "$(value n1 weights_hash)" "$(value alone weights_hash)"
checks=$((checks + 1))
[ "$(value n2 weights_hash)" != "$(value n1 weights_hash)" ] || fail "batch norms of two processes see what one sees"
# the first losses differ by batch norm alone, by a few percent
awk -v a="$(events n1 step loss | head -1)" -v b="$(events n2 step loss | head -1)" -v c="$(events n4 step loss | head -1)" \
    'BEGIN { exit !(a > 1 && (b - a) ^ 2 < (0.1 * a) ^ 2 && (c - a) ^ 2 < (0.2 * a) ^ 2) }' || fail "first losses are far apart"
expect 0 launched 2 --out "$work/again" --set train.batch_size=12
same "two processes twice" "$(value n2 weights_hash)" "$(value again weights_hash)"

# --- the same samples in each step, none twice and none left out, however many processes share them ---
# seen RUN: "STEP SAMPLE" of all processes, sorted
seen() {
    cat "$1/run.log" "$1"/ranks/*.log 2> /dev/null | sed -n 's/.*samples: step \([0-9]*\), process [^:]*: /\1 /p' |
        awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort -n -k1,1 -k2,2
}
for n in $shared; do
    expect 0 env CAPTRAIN_VERBOSE=samples "$captrain" launch -n $n train small.yaml --threads 1 --quiet --out "$work/seen$n" \
        --set train.batch_size=12 --set data.synth.count=50 --set train.steps=10
    seen "seen$n" > "seen.$n"
    same "samples of 10 steps in $n processes" "$(wc -l < "seen.$n")" 100
    same "samples that a step has twice" "$(uniq -d "seen.$n")" ''
    same "samples of the first epoch" "$(awk '$1 <= 5 { print $2 }' "seen.$n" | sort -n | uniq -u | wc -l)" 50
    expect 0 cmp seen.1 "seen.$n"
    if [ $n -gt 1 ]; then same "the last process's share" "$(grep -c "samples: step [0-9]*, process $((n - 1)), $((12 / n)) of 12:" "seen$n/ranks/000$((n - 1)).log")" 8; fi
done

# --- a batch of fewer samples than processes: all take part in every step, and every sample is counted once ---
expect 0 launched 4 --out "$work/short" --set data.synth.count=22 --set train.batch_size=20 --set train.epochs=3 --set train.steps=0
same "steps of short batches" "$(value short steps)" "$(events short step step | tail -1)"
same "samples of an epoch" "$(events short epoch samples | sort -u)" 22

# --- scoring is shared, its counts are one process's ---
expect 0 "$captrain" gen text --out pics --count 37 --seed 3 --charset 23456789ABCDEFGHJKLMNPQRSTUVWXYZ
expect 0 "$captrain" eval "$work/n2" pics --json
# Losses and confidences are as accurate as floats, and batches differ in size: they are left out.
no_floats() { grep -v -e '"loss"' -e '"confidence"' -e '"calibration_error"' out; }
no_floats > one.json
for n in 2 3; do
    expect 0 timeout 60 "$captrain" launch -n $n eval "$work/n2" pics --json
    no_floats > many.json
    checks=$((checks + 1))
    cmp -s one.json many.json || fail "eval in $n processes: $(diff one.json many.json | head -4)"
done
expect 1 timeout 60 "$captrain" launch -n 2 eval "$work/n2" nowhere
same "messages of one failure" "$(grep -c '^captrain: ' err)" 1

# --- profile measures the group's steps, and one tells ---
expect 0 timeout 60 "$captrain" launch -n 2 profile small.yaml --steps 2
prints '^the first of 2 processes over .*, which share this batch$'
prints '^  waiting for these sums within a step  *[0-9.]* ms'
same "tables of two processes" "$(grep -c '^bound by: ' out)" 1
expect 0 timeout 60 "$captrain" launch -n 2 profile small.yaml --steps 2 --set train.parts=4 --json
prints '"processes": *2'
expect 2 timeout 60 "$captrain" launch -n 3 profile small.yaml --steps 2
same "messages of a profile that cannot be" "$(grep -c '^captrain: ' err)" 1

# rank RUN N: the process that is number N
rank() {
    for p in $(pgrep -f "captrain train .*--out $1( |\$)"); do
        tr '\0' '\n' < "/proc/$p/environ" 2> /dev/null | grep -qxE "(OMPI_COMM_WORLD|PMI)_RANK=$2" && echo "$p"
    done
}

# --- a signal to one of them: all stop behind the same step, saved ---
# started RUN STEP: waits until it has done so many steps
started() {
    i=0
    while [ "$(events "$1" step step 2> /dev/null | tail -1)" -lt "$2" ] 2> /dev/null || [ ! -s "$1/metrics.jsonl" ] ||
        [ -z "$(events "$1" step step | tail -1)" ]; do
        sleep 0.1
        i=$((i + 1))
        [ $i -lt 600 ] || return 1
    done
}
for sig in TERM:143 USR1:75; do
    run=$work/stop-${sig%:*}
    launched 2 --out "$run" --set train.steps=100000 --set train.epochs=100000 > stop.out 2> stop.err &
    job=$!
    started "$run" 3 || fail "the training does not begin"
    kill "-${sig%:*}" "$(rank "$run" 1)"
    wait $job
    same "exit code after SIG${sig%:*}" $? "${sig#*:}"
    nobody "$run"
    checks=$((checks + 1))
    grep -q "stopped by SIG${sig%:*} after step" "$run/run.log" || fail "run.log does not say why it stopped"
    grep -q "stopped by SIG${sig%:*} after step" "$run/ranks/0001.log" || fail "the other's log does not say why it stopped"
done

length=400 # steps: sanitizers make them slow
[ -z "${CT_QUICK:-}" ] || length=150
# --- killed, and resumed by as many, or by others ---
for n in $again; do
    run=$work/killed-$n
    launched 2 --out "$run" --set train.steps=$length --set checkpoint.every_steps=50 --set train.batch_size=12 > kill.out 2> kill.err &
    job=$!
    started "$run" 60 || fail "the training does not begin"
    kill -9 "$(rank "$run" 1)"
    wait $job
    same "exit code after a kill" $? 75
    nobody "$run"
    expect 0 launched $n --out "$run" --resume --set train.steps=$length --set train.batch_size=12
    same "steps after a kill" "$(value "$run" steps)" $length
done
expect 0 launched 2 --out "$work/undisturbed" --set train.steps=$length --set checkpoint.every_steps=50 --set train.batch_size=12
same "killed and resumed" "$(value "$work/killed-2" weights_hash)" "$(value undisturbed weights_hash)"

# --- launch goes on by itself ---
if [ -z "${CT_QUICK:-}" ]; then
    run=$work/restarted
    timeout 120 "$captrain" launch -n 2 --restarts 3 train small.yaml --threads 1 --out "$run" --set train.steps=400 \
        --set checkpoint.every_steps=50 --set train.batch_size=12 > kill.out 2> kill.err &
    job=$!
    for step in 60 160; do
        started "$run" $step || fail "the training does not go on"
        kill -9 "$(rank "$run" 1)"
        sleep 1
    done
    wait $job
    same "exit code of a training that was started again" $? 0
    same "started again" "$(grep -c 'going on from the last checkpoint' kill.err)" 2
    same "started again: weights" "$(value "$run" weights_hash)" "$(value undisturbed weights_hash)"
fi

# --- one that stands still ends the run within the deadline, whatever the others are at ---
for k in $stills; do
    run=$work/still-$k
    launched 2 --out "$run" --set train.steps=100000 --set train.epochs=100000 --set group.deadline=2 > still.out 2> still.err &
    job=$!
    started "$run" $((3 * k)) || fail "the training does not begin"
    stopped=$(rank "$run" 1)
    kill -STOP "$stopped"
    before=$(date +%s)
    wait $job
    same "exit code of a run with one that stands still" $? 75
    kill -9 "$stopped" 2> /dev/null
    checks=$((checks + 2))
    [ $(($(date +%s) - before)) -lt 15 ] || fail "it took $(($(date +%s) - before)) s to notice"
    # the step is missing where it stood still before it told of one: processes tell where they are less often than they step
    grep -q 'rank 1 (.*) is behind: ' "$run/run.log" || fail "run.log does not say who is behind: $(tail -2 "$run/run.log")"
done

# --- at random moments one of them is killed: no checkpoint is lost, and what comes of it is what comes undisturbed ---
moments=3
[ -z "${CT_QUICK:-}" ] || moments=1
k=0
while [ $k -lt $moments ]; do
    # seeded: the step, the process; words of their own
    # shellcheck disable=SC2046
    set -- $(awk -v k=$k -v len=$length 'BEGIN { srand(7 + k); print 20 + int((len - 100) * rand()), int(2 * rand()) }')
    run=$work/moment-$k
    launched 2 --out "$run" --set train.steps=$length --set checkpoint.every_steps=50 --set train.batch_size=12 > kill.out 2> kill.err &
    job=$!
    started "$run" "$1" || fail "the training does not begin"
    kill -9 "$(rank "$run" "$2")"
    before=$(date +%s)
    wait $job
    same "exit code after a kill of $2 at step $1" $? 75
    checks=$((checks + 1))
    [ $(($(date +%s) - before)) -le 10 ] || fail "it took $(($(date +%s) - before)) s to end"
    nobody "$run"
    [ "$1" -lt 60 ] || same "a checkpoint behind step $1" "$(find "$run/checkpoints" -name '*.safetensors' | grep -c .)" \
        "$(find "$run/checkpoints" -name '*.safetensors' -size +1k | grep -c .)"
    expect 0 launched 2 --out "$run" --resume --set train.steps=$length --set train.batch_size=12
    same "weights after a kill of $2 at step $1" "$(value "$run" weights_hash)" "$(value undisturbed weights_hash)"
    k=$((k + 1))
done

# --- what must be the same is compared before the first step, and told once ---
mpirun=$("$captrain" launch -n 2 --dry-run train 2> /dev/null | sed 's/ -n 2 .*//')
case $("${mpirun%% *}" --version 2>&1) in
*'Open MPI'* | *OpenRTE*)
    # two WORDS-OF-0 WORDS-OF-1: both train
    two() {
        # Options of mpirun and of train come as words.
        # shellcheck disable=SC2086
        timeout 60 $mpirun --oversubscribe --bind-to none -n 1 "$captrain" train small.yaml --threads 1 --out "$work/two" $1 : \
            -n 1 "$captrain" train small.yaml --threads 1 --out "$work/two" $2
    }
    expect 2 two '' '--set optimizer.lr=0.3'
    says '^captrain: process 1 of 2 (.*): optimizer.lr is 0.3, but 0.001 at process 0'
    same "messages" "$(grep -c '^captrain: ' err)" 1
    rm -rf two
    expect 2 two '' '--set optimizer.lrr=0.3'
    says "^captrain: process 1 of 2 (.*): --set optimizer.lrr=0.3: unknown key 'optimizer.lrr'; did you mean 'optimizer.lr'"
    expect 1 two '' '--set data.train=nowhere'
    says '^captrain: process 1 of 2 (.*): .*nowhere: cannot open the folder'
    rm -rf two
    expect 2 two '--set data.synth.count=40' '--set data.synth.count=41'
    says 'data.synth.count is 41, but 40 at process 0'
    rm -rf two
    # one of them has not the memory: before the first step its message is everyone's
    printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 1 ] || ulimit -v "$CT_LIMIT"\nexec "$@"\n' > limited
    printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 1 ] || export SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=5 SLURM_PROCID=4\nexec "$@"\n' > stray
    printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 1 ] || export RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2\nexec "$@"\n' > torch
    chmod +x limited stray torch
    # wrapped BY WORDS...: two processes, started by a script that changes one of them
    wrapped() {
        by=$1
        shift
        # Options of mpirun come as words.
        # shellcheck disable=SC2086
        timeout 30 $mpirun --oversubscribe --bind-to none -n 2 "$work/$by" "$captrain" train small.yaml --threads 1 --out "$work/two" "$@"
    }
    if [ -z "${CT_SANITIZERS:-}" ]; then
        CT_LIMIT=1200000
        export CT_LIMIT
        expect 1 wrapped limited --set model.hidden=4000
        says '^captrain: process 1 of 2 (.*): .*memory'
        rm -rf two
    fi
    # two launchers that disagree, at one of them: it says so and ends, and mpirun ends the other
    expect 2 wrapped stray
    says 'SLURM_PROCID.*OMPI_COMM_WORLD_RANK\|OMPI_COMM_WORLD_RANK.*SLURM_PROCID'
    expect 2 wrapped torch
    says 'OMPI_COMM_WORLD_RANK.*RANK'
    # another version of the program at one of them; an engine that one of them alone has not
    version=$("$captrain" --version | sed 's/.* //')
    other=$(echo "$version" | tr '[0-8]' '[1-9]')
    LC_ALL=C sed "s/$(echo "$version" | sed 's/\./\\./g')/$other/g" "$captrain" > newer
    printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 1 ] || { shift; set -- "%s" "$@"; }\nexec "$@"\n' "$work/newer" > mixed
    printf '#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 1 ] || CAPTRAIN_BACKEND_PATH=%s\nexec "$@"\n' "$work" > partial
    chmod +x newer mixed partial
    expect 2 wrapped mixed
    says "^captrain: process 1 of 2 (.*) has another version of captrain than process 0 (.*): $other instead of $version"
    expect 2 wrapped partial
    says '^captrain: engine mpi: no plug-in captrain-mpi.so in '
    same "messages of an engine that one has not" "$(grep -c '^captrain: ' err)" 1
    mkdir closed && touch closed/file
    expect 1 launched 2 --out "$work/closed/file/run"
    same "messages of a folder that cannot be made" "$(grep -c '^captrain: .*closed/file' err)" 1
    expect 0 two '--set train.workers=0' '--set train.workers=2' # everyone's own business
    rm -rf two
    ;;
esac
expect 2 launched 3 --out "$work/uneven"
says '^captrain: train.batch_size: 8 samples cannot be shared evenly by 3 processes; 6 or 9 can'
expect 2 launched 2 --out "$work/n2"
says 'holds a run already'
same "messages" "$(grep -c 'holds a run already' err)" 1
expect 0 launched 3 --out "$work/each" --set train.batch_per_process=5
says 'batch  *15 x 1 = 15 samples per step'
expect 2 launched 2 --out "$work/nccl" --set group.engine=nccl
says 'group.engine: nccl is not to be had'
expect 2 env RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500 \
    "$captrain" train small.yaml --out "$work/torch"
says 'torchrun started 2 processes, and on CPUs they need MPI: captrain launch -n 2 train'
# torchrun names as the cause what the first to fail has written
expect 2 env RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TORCHELASTIC_ERROR_FILE="$work/cause.json" \
    "$captrain" train small.yaml --out "$work/torch"
checks=$((checks + 2))
grep -q '"message": *{"message": *"torchrun started 2 processes.*"extraInfo": *{"timestamp": *"[0-9]*"}' cause.json ||
    fail "TORCHELASTIC_ERROR_FILE has $(cat cause.json)"
expect 1 env TORCHELASTIC_ERROR_FILE="$work/scoring.json" "$captrain" eval "$work/n2" nowhere
grep -q 'cannot open the folder' scoring.json || fail "TORCHELASTIC_ERROR_FILE has nothing of a scoring that failed"
finish
