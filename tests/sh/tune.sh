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
