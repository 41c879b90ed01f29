#!/bin/sh
# Weights in and out from outside: export, import-torch, --init with other characters, frozen parts, streams of new images, gen.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
. "$CT_SRCDIR/tests/sh/train_util.sh"

# the configuration of tiny(), for verbs other than train
import() {
    "$captrain" import-torch "$@" --set model.width=0.5 --set model.hidden=32 --set data.height=16 --set data.width=40
}

# --- export, import, export: the same bits; the imported model reads the same ---
# so few validation pictures that the model has no temperature: other programs' files, which this one's become below, have none
expect 0 tiny run --quiet --set train.epochs=1 --set data.synth.val_count=9
model=$work/run/checkpoints/best.safetensors
expect 0 "$captrain" export "$model" --out "$work/a.safetensors"
says 'tensors of textcnn-small'
expect 2 "$captrain" export "$model" --out "$work/a.safetensors"
says 'exists already'
expect 0 import "$work/a.safetensors" --model textcnn-small --charset 0123 --length 2 --out "$work/m.safetensors"
expect 0 "$captrain" export "$work/m.safetensors" --out "$work/b.safetensors" --layout torch
expect 0 cmp "$work/a.safetensors" "$work/b.safetensors"
expect 0 "$captrain" export "$work/m.safetensors" --out "$work/own.safetensors" --layout captrain
expect 1 cmp -s "$work/a.safetensors" "$work/own.safetensors"
expect 2 "$captrain" export "$work/m.safetensors" --out "$work/c.safetensors" --layout keras
says "no layout 'keras'"
expect 1 "$captrain" export "$work/a.safetensors" --out "$work/c.safetensors"
says 'not a captrain model'
expect 0 "$captrain" gen text --style plain --charset 0123 --length 2 --width 40 --height 16 --count 20 --out "$work/img" --quiet
expect 0 "$captrain" predict "$model" "$work"/img/*.png --json
cp "$work/out" "$work/read"
expect 0 "$captrain" predict "$work/m.safetensors" "$work"/img/*.png --json
cp "$work/out" "$work/read2"
expect 0 cmp "$work/read" "$work/read2"

# --- the same as torch.save writes it, without PyTorch; tensors that are left out ---
if command -v python3 >/dev/null; then
    python3 "$CT_SRCDIR/tests/pickle/hostile.py" --pth "$work/a.safetensors" "$work/a.pth" || fail 'no .pth made'
    expect 0 import "$work/a.pth" --model textcnn-small --charset 0123 --length 2 --out "$work/p.safetensors"
    says "takes its 'model' .*, not its epoch"
    expect 0 "$captrain" export "$work/p.safetensors" --out "$work/p.torch.safetensors" --quiet
    expect 0 cmp "$work/a.safetensors" "$work/p.torch.safetensors"
    expect 1 import "$work/a.pth" --model textcnn-small --charset 0123 --length 2 --out "$work/p2.safetensors" --map fc=
    says 'fc.weight: missing'
    expect 1 import "$work/a.pth" --model textcnn-small --charset 0123 --length 2 --out "$work/p2.safetensors" --key epoch
    says 'key epoch: no dict of tensors'
    expect 2 import "$work/a.safetensors" --model textcnn-small --charset 0123 --length 2 --out "$work/p2.safetensors" --key model
    says 'is no file of torch.save'
fi

# --- names: rules given, in a file, and missing ---
expect 0 "$captrain" export "$model" --out "$work/named.safetensors" --map =net. --quiet
expect 1 import "$work/named.safetensors" --model textcnn-small --charset 0123 --length 2 --out "$work/n.safetensors"
says 'fc.weight: missing'
says 'net.fc.weight: not part of the model'
expect 0 import "$work/named.safetensors" --model textcnn-small --charset 0123 --length 2 --out "$work/n.safetensors" --map net.=
printf '# names of the other program\nnet.=\n' >"$work/map"
expect 0 import "$work/named.safetensors" --model textcnn-small --charset 0123 --length 2 --out "$work/n.safetensors" --map-file "$work/map" --force
expect 0 "$captrain" export "$work/n.safetensors" --out "$work/n.torch.safetensors" --quiet
expect 0 cmp "$work/a.safetensors" "$work/n.torch.safetensors"
expect 1 import "$work/a.safetensors" --model textcnn-small --charset 01234 --length 2 --out "$work/n2.safetensors"
says 'fc.weight: is f32\[8,160\] in the file, the model needs f32\[10,160\]'
checks=$((checks + 1))
[ ! -e "$work/n2.safetensors" ] || fail "a failed import left a file"
expect 2 import "$work/a.safetensors" --model textcnn-small --out "$work/n2.safetensors"
says '--charset'
expect 2 import "$work/a.safetensors"
says 'needs --out'

# --- --init: another charset, frozen parts, a lower rate; what is not frozen moves ---
expect 0 tiny tuned --init "$model" --set data.charset=x0312 --set 'train.freeze=[features]' --set optimizer.lr=1e-4 --set train.epochs=1
says 'last layer: 4 characters taken over, 1 new (x), 0 dropped'
says 'frozen .* parameter tensors'
expect 0 "$captrain" export "$work/tuned/checkpoints/last.safetensors" --out "$work/t.safetensors" --quiet
expect 1 cmp -s "$work/a.safetensors" "$work/t.safetensors"
expect 2 tiny wrong --init "$model" --set 'train.freeze=[rnn]'
says "train.freeze: 'rnn' matches no parameter"
expect 1 tiny wrong --init "$model" --set model.hidden=64
says 'does not fit model.name: textcnn-small: .*fc.weight'
expect 2 tiny tuned --resume --set 'train.freeze=[]' --set data.charset=x0312 --set optimizer.lr=1e-4
says 'train.freeze'

# --- new images in every epoch: any number of workers, any place of interruption, the same bits; no image is stored ---
rm -rf "$work/cache"
stream="--quiet --set data.synth.fresh=true --set data.synth.val_count=0 --set data.synth.count=50 --set train.epochs=3"
expect 0 tiny s0 $stream --set train.workers=0
checks=$((checks + 1))
[ -z "$(find "$work/cache" -name '*.ctpack' 2>/dev/null)" ] || fail "a stream was packed"
expect 0 tiny s3 $stream --set train.workers=3
same weights_hash s0 s3
expect 0 tiny s1 $stream --set train.steps=6 --set schedule.name=constant
expect 0 tiny s2 $stream --set schedule.name=constant
expect 0 tiny s1 --resume $stream --set train.steps=0 --set schedule.name=constant
same weights_hash s1 s2
expect 0 tiny once $stream --set data.synth.fresh=false --set train.workers=0
checks=$((checks + 1))
[ "$(value weights_hash s0)" != "$(value weights_hash once)" ] || fail "a stream trains on the same images again"

# --- labels of different lengths, CTC, mixed styles; the same through export and import ---
ctc="--quiet --set model.name=crnn-small --set data.height=32 --set data.width=64 --set data.synth.length_min=1 --set data.synth.length_max=3"
expect 0 tiny ctc $ctc --set data.synth.style=mixed --set data.synth.fresh=true --set data.synth.count=40 --set train.epochs=1 \
    --set 'data.synth.sizes=[40]' --set 'data.synth.fonts=[DejaVuSans.ttf, DejaVuSerif.ttf]'
expect 0 "$captrain" export "$work/ctc/checkpoints/last.safetensors" --out "$work/ctc.safetensors" --quiet
expect 0 "$captrain" import-torch "$work/ctc.safetensors" --model crnn-small --charset 0123 --length 3 --out "$work/ctc.model" --quiet \
    --set model.width=0.5 --set model.hidden=32 --set data.height=32 --set data.width=64
expect 0 "$captrain" export "$work/ctc.model" --out "$work/ctc2.safetensors" --quiet
expect 0 cmp "$work/ctc.safetensors" "$work/ctc2.safetensors"
# --length: the most that labels had, or the least and the most
for length in 3:1-3 2-3:2-3 3-3:3; do
    expect 0 "$captrain" import-torch "$work/ctc.safetensors" --model crnn-small --charset 0123 --length "${length%:*}" --out "$work/ctc.model" --force --quiet \
        --set model.width=0.5 --set model.hidden=32 --set data.height=32 --set data.width=64
    grep -a -q "\"lengths\":\"${length#*:}\"" "$work/ctc.model" || fail "import-torch --length $length"
done
expect 2 "$captrain" import-torch "$work/ctc.safetensors" --model crnn-small --charset 0123 --length 3-2 --out "$work/no.model"
says "'3-2' is neither a number of characters from 1 to 64 nor two of them"
expect 2 import "$work/a.safetensors" --model textcnn-small --charset 0123 --length 1-2 --out "$work/no.model"
says 'textcnn-small reads texts of one length, not of 1-2 characters'
expect 0 tiny grown $ctc --init "$work/ctc.model" --set data.charset=a0123 --set 'train.freeze=[cnn]' --set train.epochs=1 --set data.synth.count=30
expect 2 tiny wrong --init "$work/ctc.model"
says 'reads texts of any length'

# --- gen: styles, lengths, fonts, sizes ---
expect 0 "$captrain" gen text --style list
for style in simple plain hard lines dots warp dense dark outline shadow grid clutter mixed; do
    prints "^$style  *[a-z]"
    "$captrain" gen text --style $style --count 3 --length 3-7 --out "$work/g-$style" --quiet || fail "gen --style $style"
done
expect 0 "$captrain" gen text --font DejaVuSerif.ttf --font DejaVuSans-Bold.ttf --size 30 --size 44 --charset "aé" --out "$work/g" --count 2 --quiet
expect 2 "$captrain" gen text --charset "aé漢" --out "$work/g2" --count 2
says 'no glyph for .漢. (U+6F22)'
expect 2 "$captrain" gen text --font NoSuchFont.ttf --out "$work/g2"
says 'font NoSuchFont.ttf is not installed'
expect 2 "$captrain" gen text --size 2 --out "$work/g2"
says 'not a number from 4 to 400'
finish
