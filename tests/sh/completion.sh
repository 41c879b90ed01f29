#!/bin/bash
# What bash and zsh offer for a command line that is being typed.
# shellcheck disable=SC2034
. "${CT_SRCDIR:?}/tests/sh/lib.sh"

expect 0 "$captrain" completion bash
cp "$work/out" "$work/bash"
expect 0 "$captrain" completion zsh
cp "$work/out" "$work/zsh"
expect 2 "$captrain" completion fish
says 'there are bash and zsh'
expect 2 "$captrain" completion

# --- bash: it parts words at '=' ---
# shellcheck disable=SC1091
. "$work/bash"
# offers WANTED WORD...: the words of a line, of which the last is being typed; WANTED are lines of which all must be offered, and with
# only=1 no others
offers() {
    checks=$((checks + 1))
    local want=$1
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _captrain
    printf '%s\n' "${COMPREPLY[@]}" | sort > "$work/offered"
    printf '%s\n' $want | sort > "$work/wanted"
    comm -23 "$work/wanted" "$work/offered" > "$work/lacking"
    [ ! -s "$work/lacking" ] || fail "bash: $*: $(tr '\n' ' ' < "$work/offered") lacks $(tr '\n' ' ' < "$work/lacking")"
    [ -z "${only-}" ] || cmp -s "$work/wanted" "$work/offered" || fail "bash: $*: $(tr '\n' ' ' < "$work/offered")"
}
offers 'train eval predict check help' captrain ''
only=1 offers 'train' captrain tr
only=1 offers 'predict' captrain --threads 2 pre
offers '--resume --set --backend --quiet' captrain train --
only=1 offers '--resume' captrain train CONFIG --res
only=1 offers '--decoder' captrain predict RUN --deco
only=1 offers 'auto cpu cuda' captrain train --backend ''
offers 'train.epochs= data.train= optimizer.lr=' captrain train --set ''
only=1 offers 'train.parts=' captrain train --set train.par
only=1 offers 'bf16' captrain train --set train.precision '=' b
offers 'fp32 bf16 fp16' captrain train --set train.precision '='
only=1 offers 'true false' captrain train --set train.graph '='
only=1 offers '--resume' captrain launch -n 2 train CONFIG --res
only=1 offers '--restarts' captrain launch --rest
offers 'train train.epochs' captrain help train
only=1 offers 'bash zsh' captrain completion ''

# --- zsh: what it would add, said by a function in the place of the real one ---
command -v zsh > /dev/null || {
    echo "zsh is not here: its script was made, but not run"
    finish
    exit
}
cat > "$work/zsh-test" << 'EOF'
compdef() { [[ $2 == captrain ]] || exit 3 }
_files() { print -- FILES }
compadd() {
    local before=
    while [[ $1 != -- ]]; do
        if [[ $1 == -p ]]; then before=$2; shift; fi
        if [[ $1 == -S ]]; then shift; fi
        shift
    done
    shift
    local w
    for w in "$@"; do [[ $before$w == ${words[CURRENT]}* ]] && print -- $before$w; done
}
. $1
shift
words=("$@")
CURRENT=$#
_captrain
EOF
zsh_offers() {
    checks=$((checks + 1))
    local want=$1
    shift
    zsh -f "$work/zsh-test" "$work/zsh" "$@" | sort | tr '\n' ' ' > "$work/offered"
    [ "$(cat "$work/offered")" = "$want " ] || fail "zsh: $*: $(cat "$work/offered")"
}
zsh_offers train captrain tr
zsh_offers --resume captrain train --res
zsh_offers '--restarts' captrain launch --rest
zsh_offers 'auto cpu cuda' captrain train --backend ''
zsh_offers 'train.parts=' captrain train --set train.par
zsh_offers 'train.precision=bf16' captrain train --set train.precision=b
zsh_offers FILES captrain check ''
zsh_offers FILES captrain train --out ''
finish
