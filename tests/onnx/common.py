"""What the scripts that hold ONNX Runtime against captrain share."""
import json
import os
import struct
import subprocess
import sys

import numpy as np
import onnxruntime as ort


def call(program, *words):
    """What a command of captrain prints; the end, if it fails."""
    r = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if r.returncode != 0:
        sys.exit("captrain %s: %d\n%s%s" % (" ".join(map(str, words)), r.returncode, r.stdout[-2000:], r.stderr[-2000:]))
    return r.stdout


def session(path, threads):
    o = ort.SessionOptions()
    o.intra_op_num_threads = int(threads)
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def same_scores(tool, run, path, tensors, *outputs):
    """Whether the model of a run gives these scores of input "x", within 1e-4, and what is said of it: `tool`, tests/pickle/scores of a build,
    computes them again. path: a file to write on the way."""
    head, data = {}, b""
    for k, v in tensors.items():
        raw = np.ascontiguousarray(v, np.float32).tobytes()
        head[k] = {"dtype": "F32", "shape": v.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + data)
    r = subprocess.run([tool, os.path.join(run, "checkpoints", "best.safetensors"), path, *outputs], capture_output=True, text=True)
    os.unlink(path)
    return r.returncode == 0, (r.stdout + r.stderr).strip().replace("\n", "; ")
