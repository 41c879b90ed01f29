#!/usr/bin/env python3
"""A PyTorch program for `captrain race --command`: reads text captchas with a CRNN and CTC.

    race_torch.py TRAIN VAL [--recipe plain|same] [--network crnn-small|reader] [--optimizer adamw|muon] [--seed 1] [--target 0.99] [--every 100] [--threads 2] [--batch 64]
                  [--epochs 30] [--lr 2e-3] [--smoothing 0] [--ema 0] [--narrow-epochs 0] [--narrow 0.5] [--hidden N] [--charset ...] [--metric string_accuracy]

TRAIN and VAL are folders of pictures named LABEL_NUMBER.png, all of one size. At every validation it prints a line of JSON:
{"seconds", "eval_seconds", "samples", "steps", "metric"}; it ends when the metric reaches the target. Seconds count from the start
of the process, reading the pictures included, scoring (eval_seconds) not, as `captrain race` counts them.

Recipes:
  plain  what one writes first: a DataLoader whose worker decodes each picture each time, the network as it comes (NCHW), AdamW
         with one rate and decay for all parameters, no schedule, no clipping, no averaged weights.
  same   the recipe of examples/race-captcha.yaml where PyTorch has it: pictures decoded once, NHWC, decay of matrices only, a
         linear warm-up and half a cosine by steps, clipping. With --optimizer muon filters and matrices but the last get torch.optim.Muon's update,
         which itself takes matrices alone: filters are matrices of a row for each output channel here.
Either: --smoothing E  the loss is (1 - E) CTC + E times the mean over the classes of -log-probability, summed over the steps, as loss.label_smoothing.
        --ema D        weights and statistics are averaged with min(D, (1 + step) / (10 + step)), as optimizer.ema_decay; the averages are scored.
        --narrow-epochs E  pictures of the first E epochs are as narrow as --narrow says, as with train.progressive.
Networks, with the initial weights that each has there: crnn-small of src/models/crnn.c (plain's, unless told otherwise) and reader
of src/models/reader.c (same's). Needs torch and pillow.
"""
import argparse
import copy
import json
import math
import os
import sys
import time


def since_start():
    """Seconds since this process began: Linux counts in ticks since the machine started."""
    with open("/proc/self/stat") as f:
        ticks = int(f.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/uptime") as f:
        return float(f.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")


BEGAN = time.monotonic() - since_start()

import torch  # noqa: E402  (its import counts)
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from PIL import Image  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recipe_crnn import Small, edits, load  # noqa: E402


class Residual(nn.Module):
    """x -> relu(x + branch(x)); the branch ends in a norm that starts at 0."""

    def __init__(self, *branch):
        super().__init__()
        self.branch = nn.Sequential(*branch)
        nn.init.zeros_(self.branch[-1].weight)

    def forward(self, x):
        return F.relu(x + self.branch(x))


class Reader(nn.Module):
    """`reader` of src/models/reader.c."""

    def __init__(self, height, classes, hidden, dropout):
        super().__init__()

        def block(inputs, outputs, kernel, stride=1):
            return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]

        rows = ((height + 1) // 2) // 2 // 2 // 2
        self.cnn = nn.Sequential(
            *block(1, 32, 5, 2), nn.MaxPool2d(2), *block(32, 64, 3), nn.MaxPool2d((2, 1)), *block(64, 128, 3),
            Residual(nn.Conv2d(128, 128, 3, padding=1, bias=False), nn.BatchNorm2d(128)), nn.MaxPool2d((2, 1)),
            nn.Conv2d(128, hidden, (rows, 1), bias=False), nn.BatchNorm2d(hidden), nn.ReLU(),
            Residual(nn.Conv2d(hidden, hidden, (1, 7), padding=(0, 3), groups=hidden, bias=False), nn.BatchNorm2d(hidden),
                     nn.Conv2d(hidden, hidden, 1, bias=False), nn.BatchNorm2d(hidden)))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
        self.drop = nn.Dropout(dropout)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.layer_norm(x, x.shape[1:])
        return F.log_softmax(self.fc(self.drop(self.cnn(x).squeeze(2).permute(2, 0, 1))), -1)


class Muon(torch.optim.Optimizer):
    """torch.optim.Muon, adjust_lr_fn="match_rms_adamw", in f32, of filters as well: [O, ...] is a matrix of O rows."""

    def __init__(self, params, lr, weight_decay, momentum=0.95, steps=5):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "steps": steps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("momentum", torch.zeros_like(p))
                m.lerp_(p.grad, 1 - group["momentum"])
                u = p.grad.lerp(m, group["momentum"]).flatten(1)
                x = u.T if u.shape[0] > u.shape[1] else u
                x = x / x.norm().clamp(min=1e-7)
                for _ in range(group["steps"]):
                    a = x @ x.T
                    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
                x = x.T if u.shape[0] > u.shape[1] else x
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(x.reshape(p.shape), alpha=-group["lr"] * 0.2 * math.sqrt(max(u.shape)))


class Folder(Dataset):
    """Decodes a picture whenever it is asked for it."""

    def __init__(self, folder, charset):
        self.paths = [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.endswith(".png")]
        self.labels = [os.path.basename(p).rsplit("_", 1)[0] for p in self.paths]
        self.targets = [torch.tensor([charset.index(c) + 1 for c in text]) for text in self.labels]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        with Image.open(self.paths[i]) as im:
            gray = im.convert("L")
            x = torch.frombuffer(bytearray(gray.tobytes()), dtype=torch.uint8)
        return x.reshape(1, gray.height, gray.width).float() / 255, self.targets[i]


class Decoded(Dataset):
    """Decodes all of them once."""

    def __init__(self, folder, charset):
        self.images, self.labels = load(folder)
        self.targets = [torch.tensor([charset.index(c) + 1 for c in text]) for text in self.labels]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i].float() / 255, self.targets[i]


def collate(samples):
    return (torch.stack([x for x, _ in samples]), torch.cat([t for _, t in samples]),
            torch.tensor([len(t) for _, t in samples]))


@torch.no_grad()
def score(model, loader, labels, charset, metric):
    model.eval()
    read = []
    for x, _, _ in loader:
        for path in model(x).argmax(-1).T.tolist():
            read.append("".join(charset[c - 1] for j, c in enumerate(path) if c and (j == 0 or path[j - 1] != c)))
    model.train()
    if metric == "string_accuracy":
        return sum(a == b for a, b in zip(read, labels)) / len(labels)
    cer = sum(edits(a, b) for a, b in zip(read, labels)) / sum(map(len, labels))
    return cer if metric == "cer" else max(0, 1 - cer)


@torch.no_grad()
def average(a, step, model, averaged):
    decay = min(a.ema, (1 + step) / (10 + step))
    for mine, theirs in zip((*averaged.parameters(), *averaged.buffers()), (*model.parameters(), *model.buffers())):
        if mine.is_floating_point():
            mine.lerp_(theirs, 1 - decay)


def rate(a, step, warm, total):
    if a.recipe == "plain":
        return a.lr
    if step < warm:
        return a.lr * (step + 1) / warm
    return a.min_lr + 0.5 * (a.lr - a.min_lr) * (1 + math.cos(math.pi * (step - warm) / (total - warm)))


def build(a, height):
    torch.manual_seed(a.seed)
    network, hidden = (Reader, 256) if a.network == "reader" else (Small, 96)
    model = network(height, len(a.charset) + 1, a.hidden or hidden, a.dropout)
    if a.recipe == "plain":
        return model, [torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=a.weight_decay)]
    model = model.to(memory_format=torch.channels_last)
    hidden = [q for n, q in model.named_parameters() if q.ndim > 1 and a.optimizer == "muon" and not n.startswith("fc.")]
    rest = [q for q in model.parameters() if not any(q is h for h in hidden)]
    groups = [{"params": [q for q in rest if q.ndim > 1], "weight_decay": a.weight_decay},
              {"params": [q for q in rest if q.ndim == 1], "weight_decay": 0}]
    return model, [torch.optim.AdamW(groups, lr=a.lr)] + ([Muon(hidden, a.lr, a.weight_decay)] if hidden else [])


def better(a, value):
    return value <= a.target if a.metric == "cer" else value >= a.target


def options():
    p = argparse.ArgumentParser()
    p.add_argument("train")
    p.add_argument("val")
    p.add_argument("--recipe", choices=("plain", "same"), default="plain")
    p.add_argument("--network", choices=("crnn-small", "reader"))
    p.add_argument("--optimizer", choices=("adamw", "muon"), default="adamw")
    p.add_argument("--metric", choices=("string_accuracy", "char_accuracy", "cer"), default="string_accuracy")
    for name, value in (("seed", 1), ("every", 100), ("threads", 2), ("batch", 64), ("epochs", 30), ("hidden", 0), ("workers", 1)):
        p.add_argument("--" + name, type=int, default=value)
    for name, value in (("target", 0.99), ("lr", 2e-3), ("min-lr", 0), ("weight-decay", 0.01), ("clip", 1.0), ("dropout", 0.1),
                        ("warmup-epochs", 0.5), ("smoothing", 0), ("ema", 0), ("narrow-epochs", 0), ("narrow", 0.5)):
        p.add_argument("--" + name, type=float, default=value)
    p.add_argument("--charset", default="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    a = p.parse_args()
    a.network = a.network or ("reader" if a.recipe == "same" else "crnn-small")
    return a


def main():
    a = options()
    if a.threads:
        torch.set_num_threads(a.threads)
    kind = Folder if a.recipe == "plain" else Decoded
    train, val = kind(a.train, a.charset), kind(a.val, a.charset)
    model, optimizers = build(a, train[0][0].shape[1])
    shuffled = DataLoader(train, batch_size=a.batch, shuffle=True, collate_fn=collate, num_workers=a.workers)
    ordered = DataLoader(val, batch_size=200, collate_fn=collate, num_workers=a.workers)
    averaged = copy.deepcopy(model) if a.ema > 0 else model
    total = len(shuffled) * a.epochs
    warm = max(1, round(len(shuffled) * a.warmup_epochs))
    narrow = round(len(shuffled) * a.narrow_epochs)
    step = samples = 0
    scoring = 0.0
    for epoch in range(a.epochs):
        for x, target, lengths in shuffled:
            for group in (g for o in optimizers for g in o.param_groups):
                group["lr"] = rate(a, step, warm, total)
            if step < narrow:
                x = F.interpolate(x, (x.shape[2], round(a.narrow * x.shape[3])), mode="bilinear")
            if a.recipe == "same":
                x = x.contiguous(memory_format=torch.channels_last)
            logp = model(x)
            loss = F.ctc_loss(logp, target, torch.full((len(x),), logp.shape[0]), lengths, reduction="sum", zero_infinity=True) / len(x)
            if a.smoothing > 0:
                loss = (1 - a.smoothing) * loss - a.smoothing * logp.mean(2).sum() / len(x)
            model.zero_grad()
            loss.backward()
            if a.recipe == "same":
                torch.nn.utils.clip_grad_norm_(model.parameters(), a.clip)
            for optimizer in optimizers:
                optimizer.step()
            if a.ema > 0:
                average(a, step + 1, model, averaged)
            step += 1
            samples += len(x)
            if step % a.every != 0 and step != total:
                continue
            began = time.monotonic()
            value = score(averaged, ordered, val.labels, a.charset, a.metric)
            now = time.monotonic()
            spent = began - BEGAN - scoring
            scoring += now - began
            print(json.dumps({"seconds": round(spent, 3), "eval_seconds": round(scoring, 3), "samples": samples, "steps": step, "metric": value}),
                  flush=True)
            if better(a, value):
                return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
