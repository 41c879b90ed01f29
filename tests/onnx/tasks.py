"""ONNX files of models that give points, or read clips, in ONNX Runtime: what they read, and with what scores, against captrain itself.

    tests/onnx/tasks.py CAPTRAIN WORK DOC RUN... [--samples N] [--batch N...] [--threads N] [--opset N...] [--size WxH] [--clips DIR] [--scores TOOL] [--untrained RUN...]

Exports each RUN in every form, and reads N drawn pictures (of --size, or of any) or the clips below DIR with the functions that DOC, doc/onnx.md,
has in Python, at every batch size, and one of them with its lines as they stand. `captrain predict` must say the same: glosses as they are, points
within 0.01 pixel, confidences within 1e-4. TOOL, tests/pickle/scores of a build, compares all scores of some samples. Exits 77 without onnx, onnxruntime, numpy and Pillow."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import common
    import PIL
except ImportError as e:
    print("needs onnx, onnxruntime, numpy and Pillow:", e)
    sys.exit(77)

p = argparse.ArgumentParser()
p.add_argument("captrain")
p.add_argument("work")
p.add_argument("doc")
p.add_argument("run", nargs="+")
p.add_argument("--samples", type=int, default=2000)
p.add_argument("--batch", nargs="*", type=int, default=[1, 4])
p.add_argument("--threads", default="2")
p.add_argument("--opset", nargs="*", default=["17"])
p.add_argument("--size")
p.add_argument("--clips")
p.add_argument("--scores")
p.add_argument("--untrained", nargs="*", default=[], metavar="RUN", help="runs that may read the same in all samples, and leave in one form")
a = p.parse_args()


def captrain(*words):
    return common.call(a.captrain, *words)


def lines_of(title):
    """The Python below a heading of the document: its functions, and all of it."""
    text = open(a.doc, encoding="utf-8").read().split("## " + title + "\n", 1)[1].split("\n## ")[0]
    code = "\n".join(l[4:] for l in text.split("\n") if l.startswith("    ") or not l).strip() + "\n"
    parts = re.split(r"\n(?=\S)", code)
    return "\n".join(x for x in parts if x.startswith(("import", "from", "def"))), code


def forms(trained):
    if trained:
        yield "normalised outside", ["--normalise", "outside"]
        yield "norms kept", ["--no-fold"]
    for opset in a.opset if trained else a.opset[:1]:
        yield "opset " + opset, ["--opset", opset]


def given(meta, x):
    """Values 0..1 [..,C,H,W] as the file wants them."""
    shape = (-1, 1, 1)
    mean, std = (np.float32(meta[k].split(",")).reshape(shape) for k in ("mean", "std"))
    return (x - mean) / std if meta["normalise"] == "outside" else x


def in_batches(s, meta, x, n):
    """Outputs of s for samples x, n of one shape at a time, in the order of x."""
    out, groups = [None] * len(x), {}
    for i, v in enumerate(x):
        groups.setdefault(v.shape, []).append(i)
    for which in groups.values():
        for i in range(0, len(which), n):
            part = which[i:i + n]
            y = s.run(None, {"input": given(meta, np.stack([x[k] for k in part]))})
            for row, k in enumerate(part):
                out[k] = [v[row] for v in y]
    return out


def same_points(own, theirs):
    """How many readings have the same points, what is said of all, whether all is well."""
    def off(x, y):
        points = max(abs(x[k][i] - y[k][i]) for k in ("gap", "slider") for i in range(2))
        turn = abs((x["angle_deg"] - y["angle_deg"] + 180) % 360 - 180)
        return points, turn, max(abs(x[k] - y[k]) for k in ("gap_confidence", "slider_confidence"))
    d = [off(x, y) for x, y in zip(own, theirs)]
    far = sum(x[0] > 0.01 for x in d)
    most = tuple(max(x[k] for x in d) for k in range(3))
    return len(d) - far, "points within %.2g px, angles within %.2g degrees, confidences within %.2g" % most, far == 0 and most[2] <= 1e-4


def same_glosses(own, theirs):
    same = [x["glosses"] == y["glosses"] for x, y in zip(own, theirs)]
    sure = max([abs(s - t) for x, y in zip(own, theirs) for s, t in zip(x["gloss_confidence"], y["gloss_confidence"])], default=0)
    return sum(same), "confidences within %.2g" % sure, all(same) and sure <= 1e-4


def pictures(run):
    folder = os.path.join(a.work, os.path.basename(run) + ".pictures")
    shutil.rmtree(folder, ignore_errors=True)
    size = ["--width", a.size.split("x")[0], "--height", a.size.split("x")[1]] if a.size else []
    captrain("gen", "slider", "--out", folder, "--count", a.samples, "--seed", 11, *size)
    folder = os.path.join(folder, "captchas")
    return sorted(os.path.join(folder, f) for f in os.listdir(folder))


def clips(run):
    return sorted(r for r, ds, fs in os.walk(a.clips) if fs and not ds)


# By property "decoder": the heading, where samples are from, what the lines read and how it is compared.
KIND = { "points": ("Reading points with it", pictures, "a.png", same_points), "ctc": ("Reading clips with it", clips, "clip", same_glosses) }


# Outputs of a file that are compared everywhere, as the model's own; "scores" are of time steps.
OWN = { "heat_gap_logit": "heat_gap_logit", "heat_piece_logit": "heat_piece_logit", "offset": "offset", "scores": "lp5" }


def all_scores(run, s, meta, inner, x):
    """All scores of the samples that are as long as the first: whether they are the model's within 1e-4, and what is said of it. inner: the
    properties of a file that takes what the model itself takes."""
    x = np.stack([v for v in x if v.shape == x[0].shape][:32])
    y = dict(zip([o.name for o in s.get_outputs()], s.run(None, {"input": given(meta, x)})))
    own = {OWN[k]: v.transpose(1, 0, 2) if k == "scores" else v.transpose(0, 2, 3, 1) for k, v in y.items() if k in OWN}
    return common.same_scores(a.scores, run, os.path.join(a.work, "scores.safetensors"), {"x": np.moveaxis(given(inner, x), -3, -1), **own}, *own)


def as_it_stands(code, model, sample, called, same, own):
    """The document's lines in a folder of their own, with the model and the sample under the names that they use."""
    with tempfile.TemporaryDirectory() as here:
        shutil.copy(model, os.path.join(here, "model.onnx"))
        os.symlink(os.path.abspath(sample), os.path.join(here, called))
        r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=here)
    fine = r.returncode == 0 and same([own], [json.loads(r.stdout)])[2]
    print("the lines of %s as they stand: %s" % (os.path.basename(a.doc), "the same" if fine else (r.stdout + r.stderr)[-1000:]))
    return not fine


def check(run, trained):
    name, faults, inner = os.path.basename(run), 0, None
    for form, options in forms(trained):
        path = os.path.join(a.work, name + ".onnx")
        captrain("export", run, "--format", "onnx", *options, "--out", path, "--force", "--prove", 16)
        onnx.checker.check_model(path, full_check=True)
        s = common.session(path, a.threads)
        meta = s.get_modelmeta().custom_metadata_map
        inner = inner or meta
        title, samples, called, same = KIND[meta["decoder"]]
        files = samples(run)[:a.samples if trained else 4]
        functions, code = lines_of(title)
        doc = {}
        exec(compile(functions, a.doc, "exec"), doc)
        own = json.loads(captrain("predict", run, *files, "--json", "--threads", a.threads))
        x = [doc["given"](f, meta) for f in files]
        for n in a.batch:
            theirs = [doc["read"](y, f, meta) for y, f in zip(in_batches(s, meta, x, n), files)]
            count, said, fine = same(own, theirs)
            print("%s, %s, batch %d: %d of %d are read as captrain reads them; %s" % (name, form, n, count, len(own), said))
            faults += not fine
        if a.scores and trained:
            fine, said = all_scores(run, s, meta, inner, x)
            print("%s, %s, all: %s" % (name, form, said))
            faults += not fine
    if not trained:
        return faults
    faults += as_it_stands(code, path, files[0], called, same, own[0])
    different = len({json.dumps([o.get("gap"), o.get("glosses")]) for o in own})
    print("%s: %d different readings" % (name, different))
    return faults + (different < 2)  # files of a model that reads nothing would all agree


os.makedirs(a.work, exist_ok=True)
sys.exit(1 if sum([check(r, True) for r in a.run] + [check(r, False) for r in a.untrained]) else 0)
