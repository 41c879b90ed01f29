#!/bin/sh
# Files that torch.save has written, read without it: every tensor bit by bit, whatever protocol, format, strides and checkpoint; networks
# in their authors' names imported and exported again, bit by bit; what they make of pictures.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
python=$(command -v python3) || { echo "no python3"; exit 77; }
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch, which writes the files"; exit 77; }
wide=1
[ -n "${CT_QUICK-}" ] && wide=0.25
"$python" "$CT_SRCDIR/tests/pickle/make_torch.py" "$work" $wide >"$work/names" || exit 99

# --- tensors ---
while read -r name; do
    expect 0 "$CT_BUILDDIR/tests/pickle/same" "$work/files/$name.pth" "$work/files/$name.safetensors"
done <"$work/names"
checks=$((checks + 1))
[ "$(wc -l <"$work/names")" -ge 16 ] || fail "too few files"
expect 1 "$CT_BUILDDIR/tests/pickle/same" "$work/files/strided.pth" "$work/files/types.safetensors"
says 'differs'
expect 1 "$CT_BUILDDIR/tests/pickle/same" "$work/files/in-model.pth" "$work/files/in-model.safetensors" optimizer
says 'key optimizer: no dict of tensors'
says 'dicts of tensors here: model'

# --- networks: NAME MODEL OPTION... ---
network() {
    name=$1 model=$2
    shift 2
    expect 0 "$captrain" import-torch "$work/$name.pth" --model "$model" --out "$work/$name.model" "$@"
    expect 0 "$CT_BUILDDIR/tests/pickle/scores" "$work/$name.model" "$work/$name.scores"
    sed "s/^/$name: /" "$work/out"
    expect 0 "$captrain" export "$work/$name.model" --out "$work/$name.again.safetensors" --quiet
    if [ "$name" != resnet50 ]; then
        expect 0 "$captrain" import-torch "$work/$name.again.safetensors" --model "$model" --out "$work/$name.model2" "$@" --quiet --map-preset torchvision.resnet
        expect 0 "$captrain" export "$work/$name.model2" --out "$work/$name.again2.safetensors" --quiet
        expect 0 cmp "$work/$name.again.safetensors" "$work/$name.again2.safetensors"
    fi
    # exported names are torchvision's: the very tensors that PyTorch had
    expect 0 "$CT_BUILDDIR/tests/pickle/same" "$work/$name.pth"
    expect 0 "$python" - "$work/$name.safetensors" "$work/$name.again.safetensors" <<'PY'
import json, struct, sys
def load(path):
    d = open(path, "rb").read()
    n, = struct.unpack("<Q", d[:8])
    h = json.loads(d[8:8 + n])
    h.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"], d[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]) for k, v in h.items()}
a, b = load(sys.argv[1]), load(sys.argv[2])
sys.exit(0 if a == b and len(a) > 200 else "the exported state is another")
PY
    rm -f "$work/$name".*
}

classes=$("$python" -c 'print("".join(chr(0x4e00 + i) for i in range(1000)))')
for net in resnet50 resnet101 resnet152; do
    width=0.25
    [ $net = resnet50 ] && width=$wide
    network $net $net --charset "$classes" --length 1 --set data.height=64 --set data.width=96 --set model.width=$width
done

# --- other names for the stages: shape and order give each layer its own, shortcuts too ---
expect 0 "$captrain" import-torch "$work/renamed.pth" --model resnet101 --charset "$classes" --length 1 --set model.width=0.25 --write-map "$work/stages"
says '515 by shape and order, 0 missing, 0 left over'
checks=$((checks + 1))
grep '^stage' "$work/stages" | awk -F= '{ gsub("stage", "layer", $1); n += $1 == $2 } END { exit !(n == NR && n > 400) }' || fail 'layers are exchanged'

# --- meijieru's CRNN: by its preset, by shape and order, by a list that was looked through ---
crnn() {
    "$captrain" import-torch "$work/crnn.pth" --model crnn --charset 0123456789abcdefghijklmnopqrstuvwxyz "$@"
}
expect 0 crnn --map-preset crnn.pytorch --out "$work/crnn.model"
says "takes its 'state_dict'"
says "begin with 'module.'"
says 'data.mean \[0.5\]'
expect 0 "$CT_BUILDDIR/tests/pickle/scores" "$work/crnn.model" "$work/crnn.scores"
sed 's/^/crnn: /' "$work/out"
expect 1 crnn --out "$work/crnn.no"
says 'cnn.conv3.weight = cnn.9.weight'
says '46 of 46 names .* --yes takes them so'
checks=$((checks + 1))
[ ! -e "$work/crnn.no" ] || fail 'a model without a word'
expect 0 "$captrain" export "$work/crnn.model" --out "$work/one.safetensors" --quiet
expect 0 crnn --yes --out "$work/crnn.yes" --quiet
expect 0 "$captrain" export "$work/crnn.yes" --out "$work/two.safetensors" --quiet
expect 0 cmp "$work/one.safetensors" "$work/two.safetensors"
expect 0 crnn --write-map "$work/map"
says '46 by shape and order, 0 missing, 0 left over'
expect 0 crnn --map-file "$work/map" --out "$work/crnn.map" --quiet
expect 0 "$captrain" export "$work/crnn.map" --out "$work/three.safetensors" --quiet
expect 0 cmp "$work/one.safetensors" "$work/three.safetensors"
expect 2 crnn --write-map "$work/map"
says 'exists already'
# a last layer of another size: all that is wrong, in full; what is left out leaves the rest to be missing
expect 1 crnn --map-preset crnn.pytorch --charset abc --out "$work/crnn.no"
says 'fc.weight: is f32\[37,512\] in the file, the model needs f32\[4,512\]'
expect 1 crnn --map cnn= --map-preset crnn.pytorch --out "$work/crnn.no"
says 'all 26 tensors that are missing'
says 'cnn.19.running_var: missing'
expect 2 "$captrain" import-torch "$work/crnn.pth" --model resnet18 --map-preset crnn.pytorch --out "$work/no"
says 'is for crnn, not for resnet18'
expect 2 crnn --map-preset crnn.tensorflow --out "$work/no"
says 'there are crnn.pytorch'
finish
