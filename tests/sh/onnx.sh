#!/bin/sh
# Models as ONNX from outside: a file is proved before it stays, one that was changed is refused and what was changed is named, options
# that contradict each other are errors; and what ONNX Runtime reads, where it is.
. "${CT_SRCDIR:?}/tests/sh/onnx_util.sh"

"$captrain" train quickstart --set model.name=textcnn-small --set data.charset=2345 --set data.synth.count=256 --set data.synth.val_count=64 --set train.steps=16 \
    --set 'data.std=[0.5]' --set train.batch_size=16 --threads 1 --out run -q || fail "a short training"
"$captrain" export run --format onnx --out m.onnx --prove 64 >out 2>&1 || { cat out; fail "export"; }
grep -q "64 of 64 pictures" out || fail "export does not say what it checked"
[ "$(find . -name '*.part.*')" = "" ] || fail "a temporary file is left"
"$captrain" export run --check m.onnx --prove 32 -q || fail "a file that was just written is refused"

# Of a folder with more pictures than are asked for the first ones are taken, be they a batch or not.
"$captrain" gen text --like run --count 40 --out seen -q || fail "pictures like the run's"
"$captrain" train quickstart --set model.name=textcnn-small --set data.charset=2345 --set data.train=seen --set data.val=seen --set train.steps=2 --set train.batch_size=8 \
    --threads 1 --out folder -q || fail "a training with a folder"
for most in 5 35; do
    "$captrain" export folder --format onnx --out f.onnx --force --prove $most >out 2>&1 || { cat out; fail "export with a folder"; }
    grep -q "$most of $most pictures" out || { cat out; fail "not $most pictures"; }
done

# One byte of a weight, where nothing else is; a node of another kind.
at=$(LC_ALL=C grep -obUa 'fc.weightJ' m.onnx | head -n 1 | cut -d: -f1)
[ -n "$at" ] || fail "no weight found in the file"
cp m.onnx w.onnx
printf '\101\101\101' | dd of=w.onnx bs=1 seek=$((at + 4000)) conv=notrunc 2>dd.log
refused "w.onnx: initializer fc.weight" run --check w.onnx
LC_ALL=C sed 's/Relu/Tanh/' m.onnx >n.onnx
refused "n.onnx: node" run --check n.onnx
head -c 5000 m.onnx >cut.onnx
refused "cut.onnx" run --check cut.onnx

refused "there is no format 'onx'" run --format onx --out x.onnx
refused "give a name that ends in .onnx" run --format onnx --out x.safetensors
refused "or --format onnx" run --out x.onnx
refused "there are 11 to 20" run --format onnx --opset 9 --out x.onnx
refused "--opset is of --format onnx" run --opset 12 --out x.safetensors
refused "there are ddddocr (1.6) and ddddocr-1.5" run --for tesseract --out x.onnx
refused "m.onnx exists already" run --format onnx --out m.onnx
[ ! -e x.onnx ] || fail "a refused export left a file"
"$captrain" export run --for ddddocr-1.5 --out d.onnx --prove 16 -q || fail "export for ddddocr-1.5"
grep -q '"charset": *\[" ", *"2"' charsets.json || { cat charsets.json; fail "charsets.json"; }
# Where zeros around a picture stay zeros, ddddocr's normalisation is in the first filters; else a node has it.
"$captrain" export run --for ddddocr --out e.onnx --force --prove 16 -q || fail "export for ddddocr"
"$captrain" export run --for ddddocr --no-fold --out f.onnx --force --prove 16 -q || fail "export for ddddocr with its norms"
for file in m:1 d:1 e:0 f:1; do
    [ "$(LC_ALL=C grep -c normalise.scale "${file%:*}.onnx")" -ge 1 ] && node=1 || node=0
    [ $node = "${file#*:}" ] || fail "${file%:*}.onnx: $node nodes normalise"
done
"$captrain" export run --check e.onnx --prove 16 -q || fail "a file for ddddocr that was just written is refused"

# What ONNX Runtime and ddddocr answer, where they are: what stands above was tested all the same. CT_PYTHONS: further ones, as of
# environments with other versions.
pythons=""
for python in python3 ${CT_PYTHONS:-}; do
    if "$python" -c 'import onnxruntime' 2>>import.log; then pythons="$pythons $python"; fi
done
[ -n "$pythons" ] || { echo "left out: ONNX Runtime's answers"; exit 0; }
mkdir -p work
"$captrain" train quickstart --set model.name=crnn-small --set model.width=0.5 --set model.hidden=16 --set model.dropout=0 --set data.charset=0123 \
    --set data.height=32 --set data.width=64 --set data.synth.count=400 --set data.synth.val_count=16 --set data.synth.length=2 --set "data.mean=[0.6]" --set optimizer.lr=5e-3 \
    --set train.steps=600 --set train.batch_size=8 --set train.epochs=12 --threads 1 --out work/crnn-small -q || fail "a short training with CTC"
# The same behind a layer that standardizes pictures (tests/onnx/even.h), which ONNX Runtime knows by other operators.
"$CT_BUILDDIR/tests/onnx/captrain-even" train quickstart --set model.name=crnn-small-even --set model.width=0.5 --set model.hidden=16 --set model.dropout=0 \
    --set data.charset=0123 --set data.height=32 --set data.width=64 --set data.synth.count=400 --set data.synth.val_count=16 --set data.synth.length=2 \
    --set "data.mean=[0.6]" --set "data.std=[0.3]" --set optimizer.lr=5e-3 --set train.steps=400 --set train.batch_size=8 --set train.epochs=8 --threads 1 \
    --out work/crnn-small-even -q || fail "a short training of a model whose pictures are standardized"
seen="" steps=200 opsets="11 12 17 20"
# With sanitizers a step takes a second; what ddddocr reads in the files does not depend on them.
[ -z "${CT_SANITIZERS-}" ] || steps=120
[ -z "${CT_QUICK-}" ] || opsets=17
for python in $pythons; do
    dddd=""
    [ -n "${CT_SANITIZERS-}" ] || dddd=$("$python" -c 'import ddddocr; print("--ddddocr")' 2>>import.log)
    # Options are several words or none.
    # shellcheck disable=SC2086
    "$python" "$CT_SRCDIR/tests/onnx/rows.py" "$captrain" work "textcnn-small:$steps" crnn-small --pictures 64 --opset $opsets --threads 1 \
        --scores "$CT_BUILDDIR/tests/pickle/scores" $dddd
    case $? in
    0) seen="$seen $python" ;;
    77) continue ;;
    *) fail "other answers" ;;
    esac
    # shellcheck disable=SC2086
    "$python" "$CT_SRCDIR/tests/onnx/rows.py" "$CT_BUILDDIR/tests/onnx/captrain-even" work crnn-small-even --pictures 64 --opset $opsets --threads 1 \
        --scores "$CT_BUILDDIR/tests/pickle/scores" $dddd || fail "other answers of a model whose pictures are standardized"
done
[ -n "$seen" ] || { echo "left out: ONNX Runtime's answers"; exit 0; }

# The lines of Python in doc/onnx.md, as they stand, on a model of each decoder.
sed -n '/^    import json, numpy/,/^$/{s/^    //p;/^$/q;}' "$CT_SRCDIR/doc/onnx.md" >lines.py
for run in work/textcnn-small work/crnn-small; do
    rm -rf model.onnx one
    "$captrain" export "$run" --format onnx --out model.onnx --prove 16 -q || fail "export of $run"
    "$captrain" gen text --like "$run" --count 1 --out one -q || fail "a picture for $run"
    mv one/*.png a.png || fail "no picture"
    "$captrain" predict "$run" a.png --threads 1 -q | cut -f 2 >own
    grep -q . own || fail "a model that reads nothing"
    for python in $seen; do
        "$python" lines.py >theirs && cmp own theirs || fail "doc/onnx.md's lines read $(cat theirs) in a picture of $run, not $(cat own)"
    done
done
