#!/bin/sh
# Bad input: each gives one clear message that names the file, line or sample, and exit code 1 or 2; never a crash.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"

# A configuration that trains in a moment, for the cases that have to get that far.
cat >"$work/tiny.yaml" <<'YAML'
name: tiny
model: { name: textcnn-small, width: 0.25, hidden: 32 }
data: { height: 24, width: 64, channels: 1, val_fraction: 0.25 }
train: { batch_size: 8, epochs: 1, workers: 1 }
log: { tensorboard: false }
YAML
expect 0 "$captrain" gen text --out "$work/good" --count 24 --seed 3 --width 64 --height 24 --charset 0123 --length 2
n=0
# train [ARG...]: into a fresh run directory, with the tiny configuration
train() {
    n=$((n + 1))
    "$captrain" train "$work/tiny.yaml" --out "$work/run$n" "$@"
}
expect 0 train --set "data.train=$work/good"

# --- folders ---
mkdir "$work/empty"
expect 1 train --set "data.train=$work/empty"
says "$work/empty"
expect 1 "$captrain" check "$work/empty"
says "$work/empty"
expect 1 train --set "data.train=$work/absent"
says "$work/absent"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1 && [ -z "${CT_SANITIZERS:-}" ]; then
    # as nobody, who may not read the folder; the program must be reachable for nobody, too
    cp "$captrain" "$work/captrain-nobody"
    mkdir "$work/nobody"
    cp -r "$work/good" "$work/locked"
    chmod 700 "$work/locked"
    chown nobody "$work/nobody"
    chmod 755 "$work" "$work/captrain-nobody"
    expect 1 setpriv --reuid=65534 --clear-groups env CAPTRAIN_CACHE_DIR="$work/nobody/cache" HOME="$work/nobody" \
        "$work/captrain-nobody" train "$work/tiny.yaml" --out "$work/nobody/run" --set "data.train=$work/locked"
    says "$work/locked"
    # an output folder nobody may not write
    expect 1 setpriv --reuid=65534 --clear-groups env CAPTRAIN_CACHE_DIR="$work/nobody/cache" HOME="$work/nobody" \
        "$work/captrain-nobody" train "$work/tiny.yaml" --out "$work/locked/run" --set "data.train=$work/good"
    says "$work/locked"
fi

# --- images ---
# bad NAME: a copy of the good folder with one more file, made from stdin
bad() {
    rm -rf "$work/bad"
    cp -r "$work/good" "$work/bad"
    cat >"$work/bad/$1"
}
one=$(find "$work/good" -name '*.png' | LC_ALL=C sort | head -n 1)
bad 01_zero.png </dev/null
expect 1 train --set "data.train=$work/bad"
says '01_zero.png'
head -c 200 "$one" | bad 01_short.png
expect 1 train --set "data.train=$work/bad"
says '01_short.png'
expect 1 "$captrain" check "$work/bad"
prints '01_short.png'
expect 1 "$captrain" predict "$work/run1/checkpoints/last.safetensors" "$work/bad/01_short.png"
# width and height of 2147483647 in the header
printf '\211PNG\r\n\032\n\000\000\000\015IHDR\177\377\377\377\177\377\377\377\010\002\000\000\000\000\000\000\000' | bad 01_huge.png
expect 1 train --set "data.train=$work/bad"
says '01_huge.png'
echo 'not a picture' | bad 01_text.png
expect 1 train --set "data.train=$work/bad"
says '01_text.png'
# tolerated when the limit says so, and then listed
expect 0 train --set "data.train=$work/bad" --set data.max_bad=1
says '01_text.png'

# --- labels ---
bad 9x_1.png <"$one"
expect 1 train --set "data.train=$work/bad" --set data.charset=0123
says '9x_1.png'
bad 012_1.png <"$one"
expect 1 train --set "data.train=$work/bad" --set data.length=2
says '012_1.png'

# --- generated validation images beside a folder: its characters and length, or an error ---
expect 0 train --set "data.train=$work/good" --set data.val=synth:text --set data.synth.length=2 --set data.synth.val_count=16
for length in 1 3; do
    expect 2 train --set "data.train=$work/good" --set data.val=synth:text --set data.synth.length=$length --set data.synth.val_count=16
    says 'data.synth.length'
done

# --- mixed sizes: resized by rule, or refused by name ---
expect 0 "$captrain" gen text --out "$work/mixed" --count 24 --seed 4 --width 80 --height 30 --charset 0123 --length 2
cp "$work"/good/*.png "$work/mixed/"
expect 0 train --set "data.train=$work/mixed"
expect 1 train --set "data.train=$work/mixed" --set data.size_rule=refuse
says '80'

# --- paths that are not ASCII ---
mkdir "$work/größe 大"
cp "$work"/good/*.png "$work/größe 大/"
expect 0 train --set "data.train=$work/größe 大"

# --- configuration ---
printf 'train:\n  batch_sise: 4\n' >"$work/typo.yaml"
expect 2 "$captrain" train "$work/typo.yaml" --out "$work/typo"
says 'typo.yaml:2:3'
says 'train.batch_size'
printf 'train: [1, 2\n' >"$work/syntax.yaml"
expect 2 "$captrain" train "$work/syntax.yaml" --out "$work/typo"
says 'syntax.yaml:'
expect 2 train --set "data.train=$work/good" --set optimizer.lr=-1
says 'optimizer.lr'
expect 2 train --set "data.train=$work/good" --set eval.select_by=char_acuracy
says 'eval.select_by: no metric .char_acuracy.; did you mean .char_accuracy.'
expect 2 train --set "data.train=$work/good" --set amp=true --set train.precision=fp32
says 'amp'
expect 2 "$captrain" train "$work/absent.yaml"
says 'absent.yaml'

# --- models ---
expect 1 "$captrain" eval "$one" "$work/good"
says "$(basename "$one")"
expect 1 "$captrain" predict "$work/absent.safetensors" "$one"
says 'absent.safetensors'
head -c 300 "$work/run1/checkpoints/last.safetensors" >"$work/cut.safetensors"
expect 1 "$captrain" predict "$work/cut.safetensors" "$one"
says 'cut.safetensors'
# a model of another configuration: its characters do not cover these labels
expect 0 "$captrain" gen text --out "$work/letters" --count 8 --seed 3 --width 64 --height 24 --charset ABCD --length 2
expect 1 "$captrain" eval "$work/run1/checkpoints/last.safetensors" "$work/letters"
says "'[ABCD]'"

# --- run directories ---
expect 2 "$captrain" train "$work/tiny.yaml" --out "$work/run1" --set "data.train=$work/good"
says '\-\-resume'

# --- full disk: a file size limit stands in for it ---
n=$((n + 1))
expect 1 sh -c "ulimit -f 64; exec '$captrain' train '$work/tiny.yaml' --out '$work/run$n' --set 'data.train=$work/good'"
says 'safetensors\|File too large\|run'
finish
