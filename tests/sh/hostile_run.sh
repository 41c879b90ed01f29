#!/bin/sh
# Run directories and model files that somebody or something has damaged: whole checkpoints go on, broken ones are named.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"
echo "schedule: {name: constant}" >>"$work/tiny.yaml" # so that more epochs leave the steps before as they were
expect 0 tiny whole --quiet --set train.epochs=3
expect 0 tiny part --quiet --set train.epochs=2

# --- a damaged line in metrics.jsonl, a foreign TensorBoard file ---
cp -r "$work/part" "$work/line"
sed '3s/.*/{"event": "st/' "$work/part/metrics.jsonl" >"$work/line/metrics.jsonl"
expect 0 tiny line --resume --set train.epochs=3
says 'metrics.jsonl:3: not an event'
says 'metrics.jsonl.damaged'
same weights_hash whole line
checks=$((checks + 2))
cmp -s "$work/line/metrics.jsonl.damaged" "$work/line/metrics.jsonl" && fail 'the damaged file was not moved aside'
if grep -v '^{"event"' "$work/line/metrics.jsonl"; then fail 'damaged lines are left'; fi
cp -r "$work/part" "$work/foreign"
echo 'this is something else altogether' >"$work/foreign/tensorboard/captrain.tfevents"
expect 0 tiny foreign --resume --set train.epochs=3
says 'not a TensorBoard event file'
same weights_hash whole foreign
checks=$((checks + 1))
grep -q 'something else' "$work/foreign/tensorboard/captrain.tfevents.damaged" || fail 'the foreign file is not kept'

# --- checkpoints that are gone although the run has saved some ---
for left in metrics.jsonl run.log; do
    rm -rf "$work/empty"
    cp -r "$work/part" "$work/empty"
    rm -rf "$work/empty/checkpoints"
    if [ $left = run.log ]; then
        rm -f "$work/empty/metrics.jsonl"
        echo '2026-01-01T00:00:00Z stopped by SIGTERM after step 3 and saved; captrain train --out x --resume goes on' >>"$work/empty/run.log"
    fi
    expect 1 tiny empty --resume --set train.epochs=3
    says "$left says that a checkpoint was saved"
    checks=$((checks + 1))
    [ ! -e "$work/empty/checkpoints" ] || fail 'it was started anew'
done
# a run that never saved one starts anew, and says so even if it is to be quiet
mkdir "$work/young"
expect 0 tiny young --resume --set train.epochs=3
says 'starting anew'
same weights_hash whole young

# --- weights that are no numbers ---
# spoil FILE: the last bytes of the first tensor of the weights become NaN, without checksums. Needs python for nothing else
# than this; where there is none the unit test of checkpoints has to do
if command -v python3 >/dev/null 2>&1; then
    cat >"$work/spoil.py" <<'PY'
import json, struct, sys
raw = bytearray(open(sys.argv[1], 'rb').read())
n = struct.unpack('<Q', raw[:8])[0]
head = json.loads(raw[8:8 + n])
data = raw[8 + n:]
head['__metadata__'] = {k: v for k, v in head['__metadata__'].items() if not k.startswith('xxh3')}
for word in [w[5:] for w in sys.argv[3:] if w.startswith('meta:')]:
    head['__metadata__'][word.split('=')[0]] = word.split('=')[1]
for name in [w for w in sys.argv[3:] if not w.startswith('meta:')]:
    begin, end = head[name]['data_offsets']
    data[begin:begin + 4] = struct.pack('<f', float('nan'))
text = json.dumps(head).encode()
text += b' ' * (-len(text) % 8)
open(sys.argv[2], 'wb').write(struct.pack('<Q', len(text)) + text + data)
print(*[k for k in head if k.startswith('model.')])
PY
    names=$(python3 "$work/spoil.py" "$work/whole/checkpoints/best.safetensors" "$work/same.safetensors")
    name=${names%% *}
    python3 "$work/spoil.py" "$work/whole/checkpoints/best.safetensors" "$work/nan.safetensors" "$name" "ema.${name#model.}" >/dev/null
    expect 0 "$captrain" gen text --out "$work/good" --count 8 --seed 3 --width 40 --height 16 --charset 0123 --length 2
    one=$(find "$work/good" -name '*.png' | head -n 1)
    expect 0 "$captrain" predict "$work/same.safetensors" "$one"
    expect 1 "$captrain" predict "$work/nan.safetensors" "$one"
    says "nan.safetensors: tensor .*${name#model.}: element 0 is not a finite number"
    expect 1 "$captrain" eval "$work/nan.safetensors" "$work/good"
    says 'not a finite number'
    expect 1 "$captrain" export "$work/nan.safetensors" --out "$work/exported.safetensors"
    says 'not a finite number'
    expect 1 tiny begun --init "$work/nan.safetensors"
    says 'not a finite number'

    # --- metadata that contradict the file ---
    # contradicts WORD TEXT: the metadata WORD
    contradicts() {
        python3 "$work/spoil.py" "$work/whole/checkpoints/best.safetensors" "$work/other.safetensors" "meta:$1" >/dev/null
        expect 1 "$captrain" predict "$work/other.safetensors" "$one"
        says "$2"
    }
    contradicts weights=both "other.safetensors: its metadata has weights 'both'"
    contradicts task=slider "other.safetensors: its metadata has task 'slider', its configuration is of task 'text'"
fi
finish
