#!/bin/sh
# Tuned training from outside: the choices are obeyed, stored, and what a resume goes on with.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

# kernels DIR: implementations of the run's convolutions, from its newest checkpoint
kernels() {
    tr '{}' '\n\n' <"$work/$1/checkpoints/last.safetensors" | tr -d '\\' | sed -n 's/.*"conv2d": *"\([^"]*\)".*/\1/p' | head -1
}

# --- measuring a configuration; a file that can be used as it is ---
expect 0 "$captrain" tune "$work/tiny.yaml" --threads 1 --out "$work/choices.json"
prints 'distinct calls, [1-9][0-9]* of them with a choice'
prints 'cpu.indirect .* ms'
expect 0 tiny measured --quiet --tune "$work/choices.json"
expect 2 "$captrain" tune "$work/tiny.yaml" --model textcnn
expect 2 "$captrain" tune --batch 3
expect 1 "$captrain" tune "$work/tiny.yaml" --out "$work/no/such/folder/choices.json"

# --- the choices decide: the reference for every forward convolution, which no measurement would choose ---
# chosen OPERATORS IMPLEMENTATION: choices.json with another implementation for the calls of these operators (a regular expression)
chosen() {
    awk -v ops="\"call\": \"($1)\\\\{" -v impl="\"impl\": \"$2\"" '
        $0 ~ ops { hit = 1 } /"impl"/ && hit { sub(/"impl": "[^"]*"/, impl); hit = 0 } { print }' "$work/choices.json"
}
chosen conv2d cpu.ref >"$work/ref.json"
chosen 'conv2d|conv2d_dgrad' cpu.indirect >"$work/indirect.json"
flat="--quiet --set schedule.name=constant"
flat_auto="--set schedule.name=constant --set train.tune=auto"
# shellcheck disable=SC2086
{
    expect 0 tiny usual $flat --set train.steps=7
    expect 0 tiny whole $flat --set train.steps=7 --tune "$work/ref.json"
    expect 0 tiny parts $flat --set train.steps=3 --tune "$work/ref.json"
}
checks=$((checks + 2))
case $(kernels whole) in *cpu.ref*) ;; *) fail "conv2d ran as '$(kernels whole)', not as chosen" ;; esac
case $(kernels usual) in *cpu.ref*) fail "conv2d ran as '$(kernels usual)' without choices" ;; esac
checks=$((checks + 2))
cmp -s "$work/ref.json" "$work/whole/choices.json" || fail "the run does not keep its choices"
[ ! -e "$work/usual/choices.json" ] || fail "choices from nowhere"
checks=$((checks + 1))
[ "$(value weights_hash whole)" != "$(value weights_hash usual)" ] || fail "another implementation gives the same bits: this test shows nothing"

# --- a resume goes on with the stored ones, even without the files ---
mv "$work/ref.json" "$work/moved.json"
rm "$work/parts/choices.json"
# shellcheck disable=SC2086
expect 0 tiny parts --resume --set schedule.name=constant --set train.steps=7 --set train.tune="$work/ref.json"
says 'measured choices of its checkpoint'
same weights_hash whole parts
checks=$((checks + 1))
[ -s "$work/parts/choices.json" ] || fail "the resumed run did not write its choices again"
# others are not silently taken
expect 2 tiny parts --resume --set schedule.name=constant --set train.steps=7 --set train.tune="$work/choices.json"
says 'train.tune ('

# --- any number of threads: the same weights ---
checks=$((checks + 1))
grep -q cpu.indirect "$work/indirect.json" || fail "no choice was replaced"
for t in 1 2; do
    expect 0 "$captrain" train "$work/tiny.yaml" --threads $t --out "$work/threads$t" --quiet --tune "$work/indirect.json"
done
same weights_hash threads1 threads2

# --- exact and deterministic hold for choices, too; what cannot be obeyed is an error that names it ---
expect 0 tiny exact --quiet --set train.exact=true --set train.steps=2
checks=$((checks + 1))
case $(kernels exact) in *winograd*) fail "exact, yet conv2d ran as '$(kernels exact)'" ;; esac
chosen conv2d cpu.depthwise >"$work/refused.json"
expect 1 tiny refused --tune "$work/refused.json"
says 'cpu.depthwise was measured and chosen for .*, but cannot take it here: '
chosen conv2d cpu.gone >"$work/gone.json"
expect 1 tiny gone --tune "$work/gone.json"
says 'this backend has no such implementation'

# shellcheck disable=SC2086,SC2012
# --- train.tune: auto: measured once, known to the next run, kept by each run ---
expect 0 tiny auto $flat_auto --set train.steps=2
says 'train.tune auto: measuring [1-9][0-9]* of '
checks=$((checks + 3))
[ "$(ls "$work"/cache/tune/cpu-*.json | wc -l)" -eq 1 ] || fail "not one file in the cache"
[ -s "$work/auto/choices.json" ] || fail "a run with train.tune: auto does not keep its choices"
grep -q '"made_for": "cpu: ' "$work/auto/choices.json" || fail "choices that do not say what they hold for"
expect 0 tiny auto2 $flat_auto --set train.steps=2
checks=$((checks + 2))
if grep -q 'measuring' "$work/err"; then fail "what is in the cache was measured again"; fi
cmp -s "$work/auto/choices.json" "$work/auto2/choices.json" || fail "two runs made different choices from one cache"
same weights_hash auto auto2
expect 0 "$captrain" plan "$work/tiny.yaml" --threads 1 --set train.tune=auto
says 'train.tune auto: [1-9][0-9]* calls have been measured'
# a resume asks its checkpoint, not the cache
for f in "$work"/cache/tune/cpu-*.json; do head -c 200 "$f" >"$work/part" && cp "$work/part" "$f"; done
expect 0 tiny auto --resume --set schedule.name=constant --set train.tune=auto --set train.steps=4
says 'measured choices of its checkpoint'
checks=$((checks + 2))
if grep -q 'cache' "$work/err"; then fail "a resumed run reads the cache"; fi
cmp -s "$work/auto/choices.json" "$work/auto2/choices.json" || fail "a resumed run chose anew"
# a damaged cache is said, passed over and made anew
expect 0 tiny auto3 $flat_auto --set train.steps=2
says 'warning: the cache of measured implementations cannot be used and is made anew: .*/tune/cpu-'
says 'measuring'
expect 0 tiny auto4 $flat_auto --set train.steps=2
checks=$((checks + 1))
if grep -q -e 'measuring' -e 'made anew' "$work/err"; then fail "the damaged cache was not made anew"; fi

# --- the receipt, and train.strict ---
checks=$((checks + 4))
for part in '"format": "captrain-receipt"' '"precision": "fp32"' '"math": "fp32"' '"fault": null'; do
    grep -q "$part" "$work/auto/receipt.json" || fail "receipt.json lacks $part"
done
checks=$((checks + 2))
grep -q 'precision fp32 was asked for; what the operators do' "$work/auto/run.log" || fail "no receipt in run.log"
grep -q '<h2>Precision</h2>' "$work/auto/report.html" || fail "no receipt in the report"
expect 0 tiny strict --quiet --set train.strict=true --set train.steps=2
# loops without products of bf16
export CAPTRAIN_KERNELS=base
expect 2 tiny strict16 --quiet --set train.strict=true --set train.precision=bf16
says "train.strict: conv2d by cpu\.[a-z0-9]*, node '[^']*': bf16 was asked for, factors are multiplied as fp32; and [0-9]* more"
checks=$((checks + 1))
[ ! -e "$work/strict16/config.yaml" ] || fail "a refused run has begun"
expect 0 tiny strict16 --quiet --set train.precision=bf16 --set train.steps=2
checks=$((checks + 1))
grep -q '"fault": "bf16 was asked for' "$work/strict16/receipt.json" || fail "the receipt of a bf16 run on a CPU has no fault"
expect 0 "$captrain" plan "$work/tiny.yaml" --set train.precision=bf16 --set train.strict=true
prints '^precision receipt (bf16 was asked for)'
prints '^strict  *train.strict: conv2d by cpu'
unset CAPTRAIN_KERNELS
expect 0 "$captrain" plan "$work/tiny.yaml" --json
prints '"receipt":\[{"engines":\[\],"op":"preprocess"'
expect 2 tiny tf32 --set train.precision=tf32
says 'tf32 is a mode of NVIDIA tensor cores, which backend cpu does not have'

# --- damaged files ---
head -c 300 "$work/choices.json" >"$work/cut.json"
expect 1 tiny cut --tune "$work/cut.json"
says 'cut.json'
echo '{"format": "captrain-choices", "version": 7, "choices": []}' >"$work/new.json"
expect 1 tiny new --tune "$work/new.json"
says 'version 7'
expect 1 tiny none --tune "$work/none.json"
says 'none.json'
finish
