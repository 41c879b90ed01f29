"""ONNX files of captrain in ONNX Runtime and in ddddocr: what they read, and with what scores, against captrain itself.

    tests/onnx/rows.py CAPTRAIN WORK MODEL[:STEPS]... [--pictures N] [--threads N] [--opset N...] [--scores TOOL] [--ddddocr [only]]

Trains each MODEL on generated text (WORK/MODEL, taken as it is where it is there already), exports it in every form and reads N pictures
at batch 1 and 32. TOOL, tests/pickle/scores of a build, compares the scores themselves, of models that read any width at another width,
too. Exits 77 without onnx, onnxruntime, numpy and Pillow. With --ddddocr the files for the ddddocr that is installed are tried, too,
or only they (N pictures at the model's size, and enlarged, through its own resize)."""
import argparse
import json
import os
import shutil
import sys

try:
    import numpy as np
    import onnx
    import common
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
p.add_argument("--ddddocr", nargs="?", const="too", choices=["too", "only"])
p.add_argument("--opset", nargs="*", default=["17"])
p.add_argument("--scores")
a = p.parse_args()


def captrain(*words):
    return common.call(a.captrain, *words)


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


def read(s, x, batch):
    """What a file reads in pictures x [N,C,H,W] of 0..1, and its scores [N,T,K]."""
    meta, out = s.get_modelmeta().custom_metadata_map, []
    mean, std = (np.float32(meta[k].split(",")).reshape(1, -1, 1, 1) for k in ("mean", "std"))
    for i in range(0, len(x), batch):
        out.append(s.run(None, {s.get_inputs()[0].name: (x[i:i + batch] - mean) / std})[0])
    scores = np.concatenate(out)
    return [decode(y, meta) for y in scores], scores


def same_scores(run, x, meta, scores):
    mean, std = (np.float32(meta[k].split(",")).reshape(1, -1, 1, 1) for k in ("mean", "std"))
    given = {"x": ((x - mean) / std).transpose(0, 2, 3, 1), "scores": scores.transpose(1, 0, 2) if meta["decoder"] == "ctc" else scores}
    return common.same_scores(a.scores, run, os.path.join(a.work, "scores.safetensors"), given)


def ddddocr_reads(path, charsets, pictures):
    import logging
    logging.disable(logging.CRITICAL)
    import ddddocr
    d = ddddocr.DdddOcr(det=False, ocr=False, show_ad=False, import_onnx_path=path, charsets_path=charsets)
    return [d.classification(q) for q in pictures]


def forms():
    """Name and options of every kind of file; the first one's properties say what goes into the model itself."""
    yield "normalised outside", ["--normalise", "outside"]
    yield "norms kept", ["--no-fold"]
    for opset in a.opset:
        yield "opset " + opset, ["--opset", opset]


def pixels(pictures):
    """[N,C,H,W] of 0..1."""
    return np.stack([np.asarray(q, np.float32).reshape(q.height, q.width, -1).transpose(2, 0, 1) / np.float32(255) for q in pictures])


def check_files(run, name, pictures, own):
    """Every kind of file at batch 1 and 32, by its readings and by its scores; faults."""
    x, inner, faults = pixels(pictures), None, 0
    for form, options in forms():
        path = os.path.join(a.work, name + ".onnx")
        captrain("export", run, "--format", "onnx", *options, "--out", path, "--force", "--prove", 200)
        onnx.checker.check_model(path, full_check=True)
        s = common.session(path, a.threads)
        inner = inner or s.get_modelmeta().custom_metadata_map
        for batch in (1, 32):
            theirs, scores = read(s, x, batch)
            same = sum(p[0] == q[0] for p, q in zip(own, theirs))
            off = max([abs(p[1] - q[1]) for p, q in zip(own, theirs) if q[1] is not None], default=0)  # of CTC scores alone
            fine, said = same_scores(run, x, inner, scores) if a.scores else (True, "not compared")
            print("%s, %s, batch %d: %d of %d strings; confidences within %.1g; scores: %s" %
                  (name, form, batch, same, len(own), off, said))
            faults += same != len(own) or off > 1e-4 or not fine
        if s.get_inputs()[0].shape[3] == "W" and a.scores:
            wide = np.pad(x[:32], ((0, 0), (0, 0), (0, 0), (0, 40)), mode="edge")
            fine, said = same_scores(run, wide, inner, read(s, wide, 32)[1])
            print("%s, %s, 40 pixels wider: scores: %s" % (name, form, said))
            faults += not fine
    return faults


def check_ddddocr(run, name, folder, pictures, own):
    """What the ddddocr that is installed reads, at the model's size and through its own resize; faults."""
    import importlib.metadata
    version = importlib.metadata.version("ddddocr")
    path, charsets = os.path.join(a.work, name + "-dddd.onnx"), os.path.join(a.work, "charsets.json")
    captrain("export", run, "--for", "ddddocr-1.5" if version.startswith("1.5") else "ddddocr", "--out", path, "--force", "--prove", 50)
    onnx.checker.check_model(path, full_check=True)
    theirs = ddddocr_reads(path, charsets, pictures)
    same = sum(x[0] == y for x, y in zip(own, theirs))
    print("%s, ddddocr %s, pictures of the model's size: %d of %d strings" % (name, version, same, len(own)))
    faults = same != len(own)
    large = [q.resize((q.width * 2, q.height * 2), Image.LANCZOS) for q in pictures]
    names = [os.path.join(folder, "large.%d.png" % i) for i in range(len(large))]
    for q, f in zip(large, names):
        q.save(f)
    again = json.loads(captrain("predict", run, *names, "--json"))
    theirs = ddddocr_reads(path, charsets, large)
    same = sum(x["text"] == y for x, y in zip(again, theirs))
    print("%s, ddddocr %s, twice as large, through its own resize: %d of %d strings" % (name, version, same, len(own)))
    # Two ways to resize: of few pictures one may differ, of many one in two hundred.
    return faults + (len(own) - same > max(1, 0.005 * len(own)))


# What makes a model read, within minutes on one core.
RECIPE = {
    "textcnn-small": ["train.steps=300"],
    "textcnn": ["train.steps=400"],
    "crnn-small": ["train.steps=900", "data.synth.length=2", "data.height=32", "data.width=80"],
    "reader": ["train.steps=400", "data.synth.length=2", "data.height=32", "data.width=80"],
    "crnn": ["train.steps=1200", "train.batch_size=16", "data.synth.length=2", "data.height=32", "data.width=80", "optimizer.lr=7e-4"],
    "resnet18": ["train.steps=150"],
}


def train(run, name, steps):
    """Normalised, so that the files have something to undo."""
    keys = ["model.name=" + name, "model.dropout=0", "data.charset=23456789", "data.synth.count=8000", "data.synth.val_count=200",
            "data.mean=[0.6]", "data.std=[0.3]", "train.batch_size=32"] + RECIPE.get(name.replace("-even", ""), [])
    keys += ["train.steps=" + steps] if steps else []
    captrain("train", "quickstart", *[w for k in keys for w in ("--set", k)], "--threads", a.threads, "--out", run, "-q")


failed = 0
for row in a.model:
    name, _, steps = row.partition(":")
    run, folder = os.path.join(a.work, name), os.path.join(a.work, name + ".pictures")
    if not os.path.exists(run):
        train(run, name, steps)
    shutil.rmtree(folder, ignore_errors=True)
    captrain("gen", "text", "--like", run, "--out", folder, "--count", a.pictures)
    files = [os.path.join(r, f) for r, _, fs in os.walk(folder) for f in fs if f.endswith(".png") and not f.startswith("large.")]
    files.sort()
    if len(files) != a.pictures:
        sys.exit("%d pictures, not %d" % (len(files), a.pictures))
    own = [(r["text"], r["confidence"]) for r in json.loads(captrain("predict", run, *files, "--json"))]
    different = len({x[0] for x in own})
    print("%s: %d different strings in %d pictures" % (name, different, len(own)))
    failed += different < min(40, len(own) // 8)  # files of a model that reads nothing would all agree
    pictures = [Image.open(f).convert("L") for f in files]
    if a.ddddocr != "only":
        failed += check_files(run, name, pictures, own)
    if a.ddddocr:
        failed += check_ddddocr(run, name, folder, pictures, own)
sys.exit(1 if failed else 0)
