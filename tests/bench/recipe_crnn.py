#!/usr/bin/env python3
"""The recipe of examples/captcha-package-crnn.yaml in PyTorch, to compare what is learned (not how fast).

    recipe_crnn.py TRAIN TEST [--epochs 28] [--batch 32] [--threads 2] [--seed 42] [--fraction 0.02] [--hidden 128]

TRAIN and TEST are folders of PNGs named LABEL_NUMBER.png, all of one size. Prints a line per epoch and at the end one line of
JSON with what the weights of the best epoch (by character error rate on the held-out part of TRAIN) read of TEST. Needs torch
and pillow; both only for this comparison.

The same: network (crnn-small of src/models/crnn.c), initialisation (PyTorch's own), gray conversion, augmentation (one affine map
with bilinear samples, white behind it, then contrast, brightness, noise, clamp), CTC averaged over samples, AdamW with decay of
matrices only, clipping, warm-up by steps, half a cosine, averaged weights with the same ramp, choice of the best epoch. Not the
same: the random numbers.
"""
import argparse
import copy
import json
import math
import os
import random
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image


class Columns(nn.Module):
    """[N,C,H,W] -> [W,N,C*H]."""

    def forward(self, x):
        n, c, h, w = x.shape
        return x.permute(3, 0, 1, 2).reshape(w, n, c * h)


class Small(nn.Module):
    def __init__(self, height, classes, hidden, dropout):
        super().__init__()
        layers, channels = [], 1
        for width, kernel in ((32, (2, 2)), (64, (2, 2)), (128, (2, 1))):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(kernel, kernel)]
            channels = width
        self.cnn = nn.Sequential(*layers)
        self.columns = Columns()
        self.fold = nn.Linear(channels * (height // 8), 256)
        self.norm = nn.BatchNorm1d(256)
        self.rnn = nn.LSTM(256, hidden, bidirectional=True)
        self.drop = nn.Dropout(dropout)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        x = self.fold(self.columns(self.cnn(x)))
        t, n, c = x.shape
        x = F.relu(self.norm(x.reshape(t * n, c))).reshape(t, n, c)
        return F.log_softmax(self.fc(self.drop(self.rnn(x)[0])), -1)


def load(folder):
    """Gray images [N,1,H,W] uint8 and their labels, in the order of the names."""
    names = sorted(n for n in os.listdir(folder) if n.endswith(".png"))
    images = []
    for name in names:
        image = Image.open(os.path.join(folder, name)).convert("RGB")
        rgb = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).reshape(image.height, image.width, 3).float()
        gray = rgb @ torch.tensor([0.299, 0.587, 0.114])
        images.append(gray.round().clamp(0, 255).to(torch.uint8)[None])
    return torch.stack(images), [n.rsplit("_", 1)[0] for n in names]


def symmetric(n, extent, gen):
    return extent * (2 * torch.rand(n, generator=gen) - 1)


def augment(x, a, gen):
    """x [N,1,H,W] in [0,1]."""
    n, _, h, w = x.shape
    scale = 1 + symmetric(n, a.scale, gen)
    angle = symmetric(n, math.radians(a.rotate), gen)
    k = torch.tan(symmetric(n, math.atan(a.shear), gen))
    c, s = torch.cos(angle), torch.sin(angle)
    # inverse of scale * rotation * shear: offsets of an output pixel -> offsets in the source, in pixels
    xx, xy, yx, yy = (s * k + c) / scale, (s - c * k) / scale, -s / scale, c / scale
    dx, dy = symmetric(n, a.shift, gen), symmetric(n, a.shift, gen)
    theta = torch.stack([xx, xy * h / w, -2 * (xx * dx + xy * dy) / w, yx * w / h, yy, -2 * (yx * dx + yy * dy) / h], 1).reshape(n, 2, 3)
    grid = F.affine_grid(theta, x.shape, align_corners=False)
    x = 1 - F.grid_sample(1 - x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    column = (n, 1, 1, 1)
    contrast = (1 + symmetric(n, a.contrast, gen)).reshape(column)
    brightness = symmetric(n, a.brightness, gen).reshape(column)
    sigma = (a.noise * torch.rand(n, generator=gen)).reshape(column)
    return ((x - 0.5) * contrast + 0.5 + brightness + sigma * torch.randn(x.shape, generator=gen)).clamp(0, 1)


def edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@torch.no_grad()
def score(model, images, labels, charset, batch=200):
    model.eval()
    wrong = distance = letters = 0
    for i in range(0, len(labels), batch):
        best = model(images[i : i + batch].float() / 255).argmax(-1).T.tolist()
        for path, label in zip(best, labels[i : i + batch]):
            text = "".join(charset[c - 1] for j, c in enumerate(path) if c and (j == 0 or path[j - 1] != c))
            d = edits(text, label)
            distance, letters, wrong = distance + d, letters + len(label), wrong + (d > 0)
    return distance / letters, 1 - wrong / len(labels)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("train")
    p.add_argument("test")
    for name, value in (("epochs", 28), ("batch", 32), ("threads", 2), ("seed", 42), ("hidden", 128), ("warmup-epochs", 1)):
        p.add_argument("--" + name, type=int, default=value)
    for name, value in (("fraction", 0.02), ("dropout", 0.2), ("lr", 2e-3), ("min-lr", 1e-6), ("weight-decay", 0.02), ("clip", 1.0), ("ema", 0.998),
                        ("shift", 4), ("rotate", 4), ("scale", 0.06), ("shear", 0.1), ("noise", 0.03), ("brightness", 0.08), ("contrast", 0.15)):
        p.add_argument("--" + name, type=float, default=value)
    p.add_argument("--charset", default="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    gen = torch.Generator().manual_seed(a.seed)
    images, labels = load(a.train)
    test_images, test_labels = load(a.test)
    order = list(range(len(labels)))
    random.Random(a.seed).shuffle(order)
    held = order[: round(a.fraction * len(order))]
    train = order[len(held) :]
    print(f"torch {torch.__version__}: {len(train)} to train, {len(held)} to choose by, {len(test_labels)} to test", flush=True)

    model = Small(images.shape[2], len(a.charset) + 1, a.hidden, a.dropout).to(memory_format=torch.channels_last)  # a quarter faster on a CPU
    average = copy.deepcopy(model)
    matrices = [q for q in model.parameters() if q.ndim > 1]
    others = [q for q in model.parameters() if q.ndim == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": a.weight_decay}, {"params": others, "weight_decay": 0}], lr=a.lr)
    per_epoch = (len(train) + a.batch - 1) // a.batch
    total, warm = per_epoch * a.epochs, per_epoch * a.warmup_epochs
    targets = [[a.charset.index(c) + 1 for c in text] for text in labels]
    step, best, start, shuffler = 0, (math.inf, None), time.time(), random.Random(a.seed + 1)
    for epoch in range(a.epochs):
        model.train()
        shuffler.shuffle(train)
        summed = 0.0
        for at in range(0, len(train), a.batch):
            rate = a.lr * (step + 1) / warm if step < warm else \
                a.min_lr + 0.5 * (a.lr - a.min_lr) * (1 + math.cos(math.pi * (step - warm) / (total - warm)))
            for group in optimizer.param_groups:
                group["lr"] = rate
            chosen = train[at : at + a.batch]
            x = augment(images[chosen].float() / 255, a, gen)
            target = torch.tensor([c for i in chosen for c in targets[i]])
            lengths = torch.tensor([len(targets[i]) for i in chosen])
            logp = model(x.contiguous(memory_format=torch.channels_last))
            loss = F.ctc_loss(logp, target, torch.full((len(chosen),), logp.shape[0]), lengths, reduction="sum", zero_infinity=True) / len(chosen)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), a.clip)
            optimizer.step()
            step += 1
            summed += loss.item()
            d = min(a.ema, (1 + step) / (10 + step))
            with torch.no_grad():
                for e, q in zip(average.parameters(), model.parameters()):
                    e.lerp_(q, 1 - d)
                for e, q in zip(average.buffers(), model.buffers()):
                    if e.dtype.is_floating_point:
                        e.lerp_(q, 1 - d)
        cer, strings = score(average, images[held], [labels[i] for i in held], a.charset)
        if cer < best[0]:
            best = (cer, copy.deepcopy(average.state_dict()))
        print(f"epoch {epoch + 1}: loss {summed / per_epoch:.4f}, held-out CER {100 * cer:.2f} %, strings {100 * strings:.2f} %, {time.time() - start:.0f} s", flush=True)
    average.load_state_dict(best[1])
    cer, strings = score(average, test_images, test_labels, a.charset)
    print(json.dumps({"torch": torch.__version__, "epochs": a.epochs, "samples": len(test_labels), "character_error_rate": cer, "string_accuracy": strings, "seconds": round(time.time() - start)}))


if __name__ == "__main__":
    sys.exit(main())
