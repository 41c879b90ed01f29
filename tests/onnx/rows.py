"""ONNX files of captrain in ONNX Runtime and in ddddocr: what they read, and with what confidence, against `captrain predict`.

    tests/onnx/rows.py CAPTRAIN WORK MODEL[:STEPS]... [--pictures N] [--threads N] [--ddddocr]

Trains each MODEL for a few steps on generated text, exports it, and reads N pictures at batch 1 and 32. Exits 77 without onnx,
onnxruntime, numpy and Pillow. With --ddddocr the files for the ddddocr that is installed are tried, too (N pictures at the model's
size, and enlarged, through its own resize)."""
import argparse
import json
import math
import os
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from PIL import Image
except ImportError as e:
    print("needs onnx, onnxruntime, numpy and Pillow:", e)
    sys.exit(77)

p = argparse.ArgumentParser()
p.add_argument("captrain")
p.add_argument("work")
p.add_argument("model", nargs="+")
p.add_argument("--pictures", type=int, default=2000)
p.add_argument("--threads", default="2")
p.add_argument("--ddddocr", action="store_true")
p.add_argument("--opset", nargs="*", default=["17"])
a = p.parse_args()


def captrain(*words):
    r = subprocess.run([a.captrain, *map(str, words)], capture_output=True, text=True)
    if r.returncode != 0:
        sys.exit("captrain %s: %d\n%s%s" % (" ".join(map(str, words)), r.returncode, r.stdout[-2000:], r.stderr[-2000:]))
    return r.stdout


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def decode(scores, meta):
    """Scores [T,K] of one picture -> text, confidence."""
    prob = softmax(scores.astype(np.float64) / float(meta.get("temperature", 1)))
    best, text, confidence, last = prob.argmax(axis=-1), "", 1.0, 0
    if meta["decoder"] == "positions":
        return "".join(meta["charset"][k] for k in best), float(prob.max(axis=-1).prod())
    names = meta["character"].split("\n")
    for k in best:
        if k != 0 and k != last:
            text += names[k - 1]
        last = k
    return text, None


def read(path, pictures, batch):
    o = ort.SessionOptions()
    o.intra_op_num_threads = int(a.threads)
    s = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    meta, out = s.get_modelmeta().custom_metadata_map, []
    for i in range(0, len(pictures), batch):
        x = np.stack([np.asarray(q, dtype=np.float32)[None] / np.float32(255) for q in pictures[i:i + batch]])
        out += [decode(y, meta) for y in s.run(None, {s.get_inputs()[0].name: x})[0]]
    return out


def ddddocr_reads(path, charsets, pictures):
    import importlib.metadata
    import logging
    logging.disable(logging.CRITICAL)
    import ddddocr
    d = ddddocr.DdddOcr(det=False, ocr=False, show_ad=False, import_onnx_path=path, charsets_path=charsets)
    return importlib.metadata.version("ddddocr"), [d.classification(q) for q in pictures]


failed = 0
for row in a.model:
    name, _, steps = row.partition(":")
    run, folder = os.path.join(a.work, name), os.path.join(a.work, name + ".pictures")
    if not os.path.exists(run):
        captrain("train", "quickstart", "--set", "model.name=" + name, "--set", "data.charset=23456789", "--set", "data.synth.count=2000",
                 "--set", "data.synth.val_count=200", "--set", "train.steps=" + (steps or "60"), "--set", "train.batch_size=32",
                 "--set", "data.synth.length=2" if name.startswith("crnn") else "data.synth.length=4",
                 "--threads", a.threads, "--out", run, "-q")
    captrain("gen", "text", "--like", run, "--out", folder, "--count", a.pictures, "--force")
    files = [os.path.join(r, f) for r, _, fs in os.walk(folder) for f in fs if f.endswith(".png")]
    files.sort()
    if len(files) != a.pictures:
        sys.exit("%d pictures, not %d" % (len(files), a.pictures))
    own = [(r["text"], r["confidence"]) for r in json.loads(captrain("predict", run, *files, "--json"))]
    pictures = [Image.open(f).convert("L") for f in files]
    for opset in a.opset:
        path = os.path.join(a.work, "%s-%s.onnx" % (name, opset))
        captrain("export", run, "--format", "onnx", "--opset", opset, "--out", path, "--force", "--prove", 200)
        onnx.checker.check_model(path, full_check=True)
        for batch in (1, 32):
            theirs = read(path, pictures, batch)
            same = sum(x[0] == y[0] for x, y in zip(own, theirs))
            off = max([abs(x[1] - y[1]) for x, y in zip(own, theirs) if y[1] is not None], default=math.nan)
            print("%s, opset %s, batch %d: %d of %d strings, %d different; confidences within %.2g; checker clean" %
                  (name, opset, batch, same, len(own), len({x[0] for x in own}), off))
            failed += same != len(own) or off > 1e-4
    if a.ddddocr:
        import importlib.metadata
        version = importlib.metadata.version("ddddocr")
        path = os.path.join(a.work, name + "-dddd.onnx")
        captrain("export", run, "--for", "ddddocr-1.5" if version.startswith("1.5") else "ddddocr", "--out", path, "--force",
                 "--prove", 50)
        charsets = os.path.join(a.work, "charsets.json")
        _, theirs = ddddocr_reads(path, charsets, pictures)
        same = sum(x[0] == y for x, y in zip(own, theirs))
        print("%s, ddddocr %s, pictures of the model's size: %d of %d strings" % (name, version, same, len(own)))
        failed += same != len(own)
        large = [q.resize((q.width * 2, q.height * 2), Image.LANCZOS) for q in pictures]
        for i, q in enumerate(large):
            q.save(os.path.join(folder, "large.%d.png" % i))
        again = json.loads(captrain("predict", run, *[os.path.join(folder, "large.%d.png" % i) for i in range(len(large))], "--json"))
        _, theirs = ddddocr_reads(path, charsets, large)
        same = sum(x["text"] == y for x, y in zip(again, theirs))
        print("%s, ddddocr %s, twice as large, through its own resize: %d of %d strings" % (name, version, same, len(own)))
        failed += same < 0.995 * len(own)
sys.exit(1 if failed else 0)
