#!/bin/sh
# What devices tell, from outside: captrain monitor, a training's metrics and report, doctor, messages about memory, batch_size: auto.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

# lines N: the last command printed so many
lines() {
    checks=$((checks + 1))
    [ "$(wc -l <"$work/out")" -eq "$1" ] || fail "not $1 lines"
}
# has FILE PATTERN, hasnt FILE PATTERN: a file of the last run
has() {
    checks=$((checks + 1))
    grep -q -e "$2" "$work/$1" || fail "$1 has no '$2'"
}
hasnt() {
    checks=$((checks + 1))
    if grep -q -e "$2" "$work/$1"; then fail "$1 has '$2'"; fi
}

# --- the machine ---
expect 0 "$captrain" monitor --backend cpu --count 3 --interval 0.05
lines 3
prints '^[0-9][0-9]:[0-9][0-9]:[0-9][0-9]  0 cpu  '
[ ! -r /proc/meminfo ] || prints ' GB$'
expect 0 "$captrain" monitor --backend cpu --count 2 --interval 0.05 --json --device 0
lines 2
prints '^{"time":[0-9.]*,"device":0,"name":"cpu","bus":"".*"memory_busy":null.*}$'
expect 2 "$captrain" monitor --backend cpu --device 1
says 'there is no device 1; it has 1'
expect 2 "$captrain" monitor --device one
says "'one' is neither"
expect 2 "$captrain" monitor --interval 0
says 'not a number from 0.01 to 3600'
expect 2 "$captrain" monitor --count 0
expect 2 "$captrain" monitor --backend nonsense

# --- a backend that has nothing to tell, and one that fails its smoke test ---
expect 2 env CAPTRAIN_BACKEND_PATH="$CT_BUILDDIR/tests/plugins/good/.libs" "$captrain" monitor --backend cuda --count 1
says 'backend cuda: it tells nothing'
expect 1 env CAPTRAIN_BACKEND_PATH="$CT_BUILDDIR/tests/plugins/good/.libs" "$captrain" doctor
says 'doctor: 1 device failed the smoke test'
prints '^cuda smoke test  *WARNING: FAILED: '
prints '^cpu smoke test  *OK: '
expect 0 "$captrain" doctor
prints '^cpu precisions  *fp32, f64; bf16'
prints '^cpu telemetry  .*[0-9] GB; not told: .*clock$'
[ ! -r /proc/stat ] || prints '^cpu telemetry  .*[0-9] % busy, '
prints '^cpu smoke test  *OK: [0-9]* training steps'

# --- batch_size: auto, capped by the samples; the run's configuration has the number ---
expect 0 tiny auto --set train.batch_size=auto --set data.synth.count=20 --set train.epochs=1
says 'train.batch_size: auto takes 20, all samples ('
has auto/config.yaml '^  batch_size: 20$'
expect 0 tiny auto --set train.batch_size=auto --set data.synth.count=20 --set train.epochs=1 --resume
says 'train.batch_size: auto: the run goes on with 20'
expect 0 "$captrain" plan "$work/tiny.yaml" --set train.batch_size=auto --set data.synth.count=20 --json
prints '"batch":20,'
expect 2 "$captrain" train --set train.batch_size=automatic
says 'auto is possible, too'

expect 2 "$captrain" bench textcnn-small --batch automatic
says 'a whole number from 1 to [0-9]*, or auto'
expect 2 "$captrain" bench --op add --batch auto
says 'batch auto is for steps'

if [ -n "${CT_SANITIZERS:-}" ]; then
    finish # sanitizers do not know the emulator's fibers
    exit
fi

# --- an emulated card with a stand-in for the driver's library ---
CAPTRAIN_BACKEND_PATH=$CT_BUILDDIR/tests/emulate/.libs
CAPTRAIN_NVML=$CT_BUILDDIR/tests/.libs/fake_nvml.so
CT_FAKE_NVML_THROTTLE=0x24
export CAPTRAIN_BACKEND_PATH CAPTRAIN_NVML CT_FAKE_NVML_THROTTLE
expect 0 "$captrain" monitor --backend cuda --count 1 --interval 0.01
prints '  0 fake card two  312 / 700 W, 98 % busy, memory 71 % busy, 64 C, 1755 / 1980 MHz, memory 2619 MHz, 20.0 / 80.0 GB, held down by: power cap, thermal'
expect 0 "$captrain" monitor --backend cuda --count 1 --interval 0.01 --json
prints '"bus":"00000000:00:00.0","power":312.5,"power_limit":700.0,"energy":[0-9.]*,"busy":0.9[78]'
expect 2 env CAPTRAIN_NVML=/nowhere/libnvidia-ml.so.1 "$captrain" monitor --backend cuda
says 'backend cuda: device 0: NVML: /nowhere/libnvidia-ml.so.1, which comes with the NVIDIA driver'
expect 2 env CAPTRAIN_NVML="$CT_BUILDDIR/tests/.libs/fake_nvml_ancient.so" "$captrain" monitor --backend cuda
says 'too old to tell'

small="--set model.width=0.25 --set data.synth.count=8 --set data.synth.val_count=4 --set train.batch_size=4 --set train.epochs=1 --set log.interval_steps=1"
# shellcheck disable=SC2086
expect 0 tiny told $small --backend cuda
has told/metrics.jsonl '"event": *"step".*"device": *{"power": *312.5,.*"throttle": *"power cap, thermal (software)", *"joules_per_sample": *[0-9]'
has told/result.json '"joules_per_sample": [0-9]'
has told/result.json '"mean_power": [0-9]'
has told/report.html '<h2>Device</h2>'
has told/report.html 'J per image trained'
has told/report.html '<th>clocks held down by</th><td>power cap ([0-9]* of [0-9]* readings), thermal (software)'
has told/report.html '>Temperature<'
has told/tensorboard/captrain.tfevents 'device/power'
has told/tensorboard/captrain.tfevents 'device/joules_per_sample'
# shellcheck disable=SC2086
expect 0 env CAPTRAIN_NVML=/nowhere/libnvidia-ml.so.1 "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/untold" $small --backend cuda
hasnt untold/metrics.jsonl '"device"'
hasnt untold/result.json 'joules\|mean_power'
hasnt untold/report.html '<h2>Device</h2>'
hasnt untold/tensorboard/captrain.tfevents 'device/'
same weights_hash told untold

expect 0 "$captrain" doctor
prints '^cuda detail  *compute capability 9.0,.*driver 599.12.3 for CUDA'
prints '^cuda precisions  *fp32; tf32, bf16 and fp16 on Tensor Cores'
prints '^cuda telemetry  *312 / 700 W, .*held down by: power cap, thermal (software)$'
prints '^cuda smoke test  *OK: '

finish
