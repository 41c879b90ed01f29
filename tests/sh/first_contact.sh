#!/bin/sh
# The archive for the first minutes on a card (tests/gpu/bundle) and the script that goes through them (tests/gpu/first-contact), rehearsed with
# the emulated card in a root folder that has the archive, a shell and the usual small programs, and nothing else: whatever else the script
# needed would be missing there.
if [ -n "${CT_SANITIZERS:-}" ]; then
    echo "skipped: sanitizers do not know the emulator's fibers"
    exit 77
fi
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
gpu=$CT_SRCDIR/tests/gpu
unset CAPTRAIN_BACKEND_PATH CAPTRAIN_CACHE_DIR
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

# --- a root folder: in namespaces of its own, which need no rights where users may have them; else by chroot alone ---
room=$work/room
mkdir -p "$room/bin" "$room/dev/shm" "$room/tmp" "$room/proc" # the stand-in for NCCL shares memory, as NCCL does
: >"$room/dev/null"
put() { # PROGRAM...: with the libraries that it needs
    for program in "$@"; do
        at=$(command -v "$program") || { echo "skipped: $program is not here"; exit 77; }
        cp -L "$at" "$room/bin/$program"
        for lib in $(ldd "$at" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }'); do
            [ -e "$room$lib" ] || { mkdir -p "$room${lib%/*}" && cp -L "$lib" "$room$lib"; }
        done
    done
}
put sh env cat cp mv rm mkdir mktemp date sync cut tr head tail sort wc grep sed awk paste cksum sleep basename dirname timeout nproc setsid
# what is libc's own is in no archive: libraries of others may name its old parts, as liblmdb does libpthread
for lib in $(ldd "$CT_BUILDDIR/captrain" | awk '$1 ~ /^lib(pthread|dl|rt|m)\.so/ && $3 ~ /^\// { print $3 }'); do
    [ -e "$room$lib" ] || { mkdir -p "$room${lib%/*}" && cp -L "$lib" "$room$lib"; }
done
cat >"$work/enter" <<'SH2'
mount -t proc proc "$1/proc" && mount --bind /dev/null "$1/dev/null" || exit 1
exec chroot "$@"
SH2
PATH=$PATH:/usr/sbin:/sbin
# in_root COMMAND...: there, with nothing of this environment but the emulated card's
way=''
in_root() {
    $way "$room" env -i PATH=/bin HOME=/tmp LC_ALL=C OMP_WAIT_POLICY=passive ${EMULATE_WRONG+EMULATE_WRONG="$EMULATE_WRONG"} "$@"
}
for way in "unshare --mount --pid --fork --kill-child sh $work/enter" \
    "unshare --user --map-root-user --mount --pid --fork --kill-child sh $work/enter" chroot none; do
    [ "$way" != none ] || { echo "skipped: neither namespaces nor chroot: $(tail -1 "$work/why")"; exit 77; }
    ! in_root sh -c : 2>>"$work/why" || break
done

# --- the archive: too large is said, and what is in it needs no library of this machine but libc ---
# The peer's stand-in is never run: Python's is, which answers in its place.
echo 'stand-in of the peer' >"$work/peer.py"
expect 2 "$gpu/bundle" --build "$CT_BUILDDIR"
expect 1 "$gpu/bundle" --build "$work" --emulated --out "$work/no.tar.gz"
says 'is no build tree'
expect 0 "$gpu/bundle" --build "$CT_BUILDDIR" --emulated --quick --peer "$work/peer.py" --out "$work/bundle.tar.gz"
prints 'bundle.tar.gz: [0-9.]* MB; captrain .*emulated card, needs glibc [0-9.]*$'
checks=$((checks + 1))
[ "$(wc -c <"$work/bundle.tar.gz")" -le 40000000 ] || fail "the archive is larger than 40 MB"
tar -C "$room" -xzf "$work/bundle.tar.gz" || fail "the archive cannot be unpacked"
bundle=$room/captrain-bundle
expect 1 "$gpu/bundle" --build "$CT_BUILDDIR" --emulated --cpu "$bundle/cpu.json" --limit 1 --out "$work/no.tar.gz"
says 'the archive has [0-9]* bytes; 1 MB are allowed'
says 'lib/libopenblas'
checks=$((checks + 1))
[ ! -e "$work/no.tar.gz" ] || fail "an archive that is too large is there"
[ -s "$bundle/peer.py" ] || fail "the peer script is not in the archive"

# --- what a machine with a card has: the driver's tool, a Python with PyTorch and NCCL, profiler and sanitizer; stand-ins of them ---
standin() { { echo '#!/bin/sh'; cat; } >"$room/bin/$1" && chmod +x "$room/bin/$1"; }
standin nvidia-smi <<'SH2'
if [ -e /tmp/slow ]; then echo started >/tmp/started; timeout 97 sleep 97; fi
echo 'NVIDIA H200, 580.0, 143771 MiB, 1980 MHz, 3201 MHz'
SH2
standin python3 <<'SH2'
case $* in
*sys.path*) echo /opt/site ;;
*find_spec*) ;;
*"--compile none"*) echo '{"ms_per_step": 3.5, "settings": {"cudagraph": "on"}}' ;;
*bench*--compile*) echo '{"ms_per_step": 2.5, "settings": {"cudagraph": "on"}}' ;;
*) exit 1 ;;
esac
SH2
standin compute-sanitizer <<'SH2'
exit 0
SH2
standin ncu <<'SH2'
echo '==PROF== Connected'
echo '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
for metric in 'gpu__time_duration.sum","ns","2,000,000' 'dram__bytes.sum","byte","7,000,000,000' 'dram__throughput.avg.pct_of_peak_sustained_elapsed","%","73.5'; do
    echo "\"0\",\"1\",\"void norm_sums<ct_b16, (int)8>(a, b)\",\"$metric\""
done
SH2
mkdir -p "$room/opt/site/nvidia/nccl/lib"
cp "$CT_BUILDDIR/tests/emulate/.libs/nccl_processes.so" "$room/opt/site/nvidia/nccl/lib/libnccl.so.2"

# contact STATUS OPTION...: first-contact in the room, afresh; its lines in $lines
lines=$room/tmp/out/first-contact.jsonl
contact() {
    want=$1
    shift
    rm -rf "$room/tmp/out" "$room/tmp/started"
    expect "$want" in_root /captrain-bundle/tests/gpu/first-contact --quick --out /tmp/out "$@"
}
# whole N: the file has N lines, each of which is what it should be
whole() {
    checks=$((checks + 1))
    [ "$(wc -l <"$lines")" -eq "$1" ] || fail "$(wc -l <"$lines") lines instead of $1: $(cut -c1-60 "$lines")"
    expect 0 "$CT_BUILDDIR/tests/json/check_schema" --lines "$gpu/line.schema.json" "$lines"
}
# has PATTERN: a line matches
has() {
    checks=$((checks + 1))
    grep -q -e "$1" "$lines" || fail "no line has '$1': $(cut -c1-300 "$lines")"
}

expect 2 in_root /captrain-bundle/tests/gpu/first-contact --nonsense
expect 2 in_root /captrain-bundle/tests/gpu/first-contact --stages 'A E'
says "no stage 'E'"
expect 2 "$gpu/first-contact" --out "$work/none"
says 'unpack what tests/gpu/bundle makes'

# --- every stage: those that compute, then those that time, on a card that computes nothing, since the emulated one takes minutes for them ---
expect 0 in_root /captrain-bundle/tests/gpu/first-contact --list
timed='A.steps C.textcnn-64 C.textcnn-1024 C.textcnn-4096 C.resnet50-256 C.crnn-256 C.ceilings C.kernels D.textcnn-64 D.textcnn-1024 D.resnet50-256 D.crnn-256 D.resnet18-256 D.slider-64 D.hrnet-w32-64 D.tfnet-4 D.sanitizer'
computed=$(awk '{ print $1 }' "$work/out" | grep -v -x -F "$(printf '%s' "$timed" | tr ' ' '\n')" | tr '\n' ' ')
[ -z "${CT_QUICK-}" ] || computed='A.loader A.card A.plugin A.operators C.group'
contact 0 --stages "$computed"
prints 'predictions of H200; libraries /captrain-bundle/lib:/opt/site/nvidia/nccl/lib'
prints '^A.plugin  *PASS .*device emulated card'
whole "$(echo "$computed" | wc -w)"
for stage in $computed; do
    if [ "$stage" = A.properties ]; then has "\"stage\":\"$stage\",\"result\":\"SKIP\""; else has "\"stage\":\"$stage\",\"result\":\"PASS\""; fi
done
EMULATE_WRONG=idle
export EMULATE_WRONG
contact 0 --stages "$timed"
prints '^    textcnn 64 bf16  *[0-9.]*  *ms  *predicted  *[0-9.]* (x [0-9.]*), floor [0-9.]*$'
prints '^    batchnorm_bwd cuda.kernel x4  *[0-9.e+-]*  *ms  *predicted '
prints '^    batchnorm_pool_bwd cuda.kernel x3  *[0-9.e+-]*  *ms  *predicted '
prints '^    copy and add .*GB/s  *predicted  *4320.0 '
prints '^    norm_sums x1, 7.000 GB  *2 ms'
prints '^D.textcnn-1024  *PASS .*of PyTorch, compiled, one graph (goal 1.5): captrain .*PyTorch, eager, one graph 3.5; PyTorch, compiled, one graph 2.5'
whole "$(echo "$timed" | wc -w)"
for stage in $timed; do has "\"stage\":\"$stage\",\"result\":\"PASS\""; done
has '"what":"textcnn 64 bf16","unit":"ms","measured":[0-9.e+-]*,"predicted":[0-9.]*,"floor":[0-9.]*}'
unset EMULATE_WRONG

# --- a stage that does not end: its limit ends it with all that it has started, the next one runs ---
: >"$room/tmp/slow"
rm -rf "$room/tmp/out"
expect 1 in_root sh -c '/captrain-bundle/tests/gpu/first-contact --quick --card H200 --out /tmp/out --stages "A.loader A.card A.plugin" --limits A.card=1
    rc=$?
    ! grep -l -a -e "sleep.97" /proc/[0-9]*/cmdline 2>/dev/null || echo "left running"
    exit $rc'
whole 3
has '"stage":"A.card","result":"FAIL","seconds":[0-9]*,"limit":1,.*its limit of 1 s was not enough'
has '"stage":"A.plugin","result":"PASS"'
checks=$((checks + 1))
! grep -q 'left running' "$work/out" || [ "$way" = chroot ] || fail "what a stage started runs on behind its end"

# --- first-contact itself is ended in a stage: by a signal that it can answer, and by one that it cannot ---
for signal in TERM KILL; do
    rm -rf "$room/tmp/out" "$room/tmp/started"
    expect 0 in_root sh -c '/captrain-bundle/tests/gpu/first-contact --quick --card H200 --out /tmp/out --stages "A.loader A.card A.plugin" &
        until [ -e /tmp/started ]; do sleep 0.1; done
        kill -'$signal' $!
        wait $! || :'
    if [ $signal = TERM ]; then
        whole 2
        has '"stage":"A.card","result":"FAIL",.*told to stop while this ran'
    else
        whole 1
    fi
done
rm "$room/tmp/slow"
# and by the limit for all
contact 0 --limit 0 --stages 'A.loader A.card'
whole 2
has '"stage":"A.loader","result":"SKIP",.*no time left'

# --- a plug-in that cannot be loaded is a failure with the loader's words, not a reason to skip; one that lacks a library, too ---
mv "$bundle/lib/libstdc++.so.6" "$work"
contact 1 --stages 'A.loader A.plugin B.graph'
whole 3
has '"stage":"A.loader","result":"FAIL",.*libstdc++.so.6 => not found'
has '"stage":"A.plugin","result":"FAIL",.*libstdc++.so.6: cannot open shared object file'
has '"stage":"B.graph","result":"FAIL",.*libstdc++.so.6: cannot open shared object file'
# The library is somewhere on the machine: found where it is said to be, or where a toolkit has it.
mkdir -p "$room/usr/local/cuda-99/lib64" "$room/opt/own"
cp "$work/libstdc++.so.6" "$room/usr/local/cuda-99/lib64"
contact 0 --stages A.plugin
prints 'libraries /captrain-bundle/lib:/usr/local/cuda-99/lib64:'
mv "$room/usr/local/cuda-99/lib64/libstdc++.so.6" "$room/opt/own"
contact 0 --stages A.loader --libs /nonexistent:/opt/own
has '"stage":"A.loader","result":"PASS",.*/opt/own'
mv "$work/libstdc++.so.6" "$bundle/lib"
cp "$bundle/.libs/captrain-cuda.so" "$work/plugin"
echo 'no library' >"$bundle/.libs/captrain-cuda.so"
contact 1 --stages 'A.plugin A.operators'
whole 2
has '"stage":"A.plugin","result":"FAIL",.*captrain-cuda.so: \(file too short\|invalid ELF header\)'
has '"stage":"A.operators","result":"FAIL",.*captrain-cuda.so: \(file too short\|invalid ELF header\)'
cp "$work/plugin" "$bundle/.libs/captrain-cuda.so"

# --- a card that computes something else, and a half of the comparison that is of something else ---
EMULATE_WRONG=kernels
contact 1 --stages 'A.operators A.card'
whole 2
has '"stage":"A.operators","result":"FAIL",.*failed: add (.*REPRO'
has '"stage":"A.card","result":"PASS"'
unset EMULATE_WRONG
sed -i 's/"recipe":"/&1/' "$bundle/cpu.json"
contact 1 --stages B.accuracy
has '"stage":"B.accuracy","result":"FAIL",.*cpu.json is not of this recipe'

# --- the predictions are those of this program's plans ---
if command -v python3 >/dev/null; then
    expect 0 "$gpu/predict" --build "$CT_BUILDDIR" --check
fi
finish
