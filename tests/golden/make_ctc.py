#!/usr/bin/env python3
"""Writes a file for `captrain selftest --ctc`: CTC losses and gradients that PyTorch computes in f64.

One batch of N random samples with T time steps at most and C classes, in turn: any label; an empty one; repeated
characters; a label that just fits (time steps = characters + equal neighbours); one with a time step too few. Behind
target_lengths stand random classes. The gradient is that of the sum of the losses; PyTorch's is exp(log_probs) -
occupancy, with --partial the file holds -occupancy. Infeasible samples have loss inf and gradient NaN, or both 0 with
--zero-infinity. Needs torch alone.

usage: make_ctc.py [--seed S] [--cases N] [--steps T] [--classes C] [--labels L] [--i64] [--partial] [--zero-infinity] --out FILE

tests/golden holds
    make_ctc.py --seed 1 --cases 25 --steps 12 --classes 6 --labels 5 --out ctc.safetensors
    make_ctc.py --seed 2 --cases 15 --steps 9 --classes 4 --labels 6 --i64 --partial --zero-infinity --out ctc-zero-infinity.safetensors
"""
import argparse
import array
import json
import random
import struct

import torch
import torch.nn.functional as F


def needed(label):
    return len(label) + sum(a == b for a, b in zip(label, label[1:]))


def label_of(kind, rng, classes, steps, longest):
    """Kinds 0 to 4 as in the text above: a label and its time steps."""
    alphabet = range(1, classes) if kind != 2 else range(1, min(classes, 3))
    label = [rng.choice(alphabet) for _ in range(0 if kind == 1 else rng.randint(1, longest))]
    while needed(label) > steps:
        label.pop()
    least = max(needed(label), 1)
    if kind == 3:
        return label, least
    if kind == 4 and least > 1:
        return label, least - 1
    return label, rng.randint(least, steps)


def write(path, tensors):
    """A safetensors file: header length, JSON header, bytes."""
    header, blobs, at = {}, [], 0
    for name, (dtype, t) in sorted(tensors.items()):
        code = {"F64": "d", "I32": "i", "I64": "q"}[dtype]
        blob = array.array(code, t.reshape(-1).tolist()).tobytes()
        header[name] = {"dtype": dtype, "shape": list(t.shape), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for blob in blobs:
            f.write(blob)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--cases", type=int, default=200)
    p.add_argument("--steps", type=int, default=24)
    p.add_argument("--classes", type=int, default=11)
    p.add_argument("--labels", type=int, default=8)
    p.add_argument("--i64", action="store_true")
    p.add_argument("--partial", action="store_true")
    p.add_argument("--zero-infinity", action="store_true")
    p.add_argument("--out", required=True)
    o = p.parse_args()
    rng = random.Random(o.seed)
    torch.manual_seed(o.seed)
    drawn = [label_of(n % 5, rng, o.classes, o.steps, o.labels) for n in range(o.cases)]
    targets = torch.tensor([[rng.randrange(1, o.classes) for _ in range(o.labels)] for _ in drawn])
    for n, (label, _) in enumerate(drawn):
        targets[n, :len(label)] = torch.tensor(label, dtype=torch.int64)
    lengths = torch.tensor([steps for _, steps in drawn])
    target_lengths = torch.tensor([len(label) for label, _ in drawn])
    logits = torch.randn(o.steps, o.cases, o.classes, dtype=torch.float64) * 3
    logp = F.log_softmax(logits, 2).detach().requires_grad_()
    loss = F.ctc_loss(logp, targets, lengths, target_lengths, blank=0, reduction="none", zero_infinity=o.zero_infinity)
    grad, = torch.autograd.grad(loss.sum(), logp)
    if o.partial:
        inside = torch.arange(o.steps)[:, None] < lengths[None, :]
        feasible = torch.tensor([needed(label) <= steps for label, steps in drawn])
        grad = torch.where((inside & feasible)[:, :, None], grad - logp.exp(), grad).detach()
    whole = "I64" if o.i64 else "I32"
    write(o.out, {"log_probs": ("F64", logp.detach()), "targets": (whole, targets), "input_lengths": (whole, lengths),
                  "target_lengths": (whole, target_lengths), "loss": ("F64", loss.detach()), "grad": ("F64", grad)})
    print("%s: %d samples, %d infeasible" % (o.out, o.cases, sum(needed(label) > steps for label, steps in drawn)))


main()
