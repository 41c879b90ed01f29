#!/usr/bin/env python3
"""Epochs of textcnn over a folder of PNGs as a PyTorch script does them, for tests/bench/epoch.sh.

    epoch.py FOLDER [--epochs 1] [--batch 64] [--workers 2] [--threads 2] [--device cpu] [--precision fp32] [--compile none] [--memory]

Files are named LABEL_NUMBER.png, labels of one length, pictures of one size. A DataLoader's workers decode and convert to gray;
--memory decodes once, before the first epoch, and keeps all pictures on the device. The network is textcnn of src/models/textcnn.c, the
optimizer AdamW, the loss cross-entropy over the positions; nothing is augmented. Prints one line of JSON: samples, seconds since the
program began and in the last epoch, last loss. Needs torch and pillow.
"""
import time

BEGAN = time.time()

import argparse
import json
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

CHARSET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class TextCNN(nn.Module):
    def __init__(self, height, width, positions, classes):
        super().__init__()
        layers, channels = [], 1
        for out, pool in ((32, True), (64, False), (64, True), (128, False), (128, False), (128, True), (128, False)):
            layers += [nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU()]
            if pool:
                layers.append(nn.MaxPool2d(2))
            channels = out
        self.features = nn.Sequential(*layers)
        self.fc1 = nn.Linear(channels * (height // 8) * (width // 8), 1024)
        self.drop = nn.Dropout(0.5)
        self.fc2 = nn.Linear(1024, positions * classes)

    def forward(self, x):
        return self.fc2(F.relu(self.drop(self.fc1(self.features(x).flatten(1)))))


class Folder(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.folder = folder
        self.names = sorted(n for n in os.listdir(folder) if n.endswith(".png"))
        self.targets = [torch.tensor([CHARSET.index(c) for c in n.rsplit("_", 1)[0]]) for n in self.names]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        with Image.open(os.path.join(self.folder, self.names[i])) as image:
            gray = image.convert("L")
            x = torch.frombuffer(bytearray(gray.tobytes()), dtype=torch.uint8)
        return x.reshape(1, gray.height, gray.width), self.targets[i]


def in_memory(data, batch, device):
    """Batches of pictures that are on the device already, in a new order each time."""
    images = torch.stack([data[i][0] for i in range(len(data))]).to(device)
    targets = torch.stack(data.targets).to(device)

    def batches():
        order = torch.randperm(len(data), device=device)
        for at in range(0, len(data), batch):
            chosen = order[at : at + batch]
            yield images[chosen], targets[chosen]

    return batches


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    for name, value in (("epochs", 1), ("batch", 64), ("workers", 2), ("threads", 2)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    p.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    p.add_argument("--compile", choices=("none", "default", "max-autotune"), default="none")
    p.add_argument("--memory", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    data = Folder(a.folder)
    first, target = data[0]
    model = TextCNN(first.shape[1], first.shape[2], len(target), len(CHARSET)).to(a.device, memory_format=torch.channels_last)
    step_model = model if a.compile == "none" else torch.compile(model, mode=a.compile)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, **({"fused": True} if a.device == "cuda" else {}))
    if a.memory:
        batches = in_memory(data, a.batch, a.device)
    else:
        loader = torch.utils.data.DataLoader(data, a.batch, shuffle=True, num_workers=a.workers, pin_memory=a.device == "cuda",
                                             persistent_workers=a.workers > 0)
        batches = lambda: iter(loader)
    for _ in range(a.epochs):
        started = time.time()
        for images, targets in batches():
            x = images.to(a.device, non_blocking=True).float().div_(255).contiguous(memory_format=torch.channels_last)
            targets = targets.to(a.device, non_blocking=True)
            with torch.autocast(a.device, torch.bfloat16, enabled=a.precision == "bf16"):
                logits = step_model(x)
            loss = F.cross_entropy(logits.float().reshape(-1, len(CHARSET)), targets.reshape(-1))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        last = loss.item()  # waits for the device
    now = time.time()
    print(json.dumps({"torch": torch.__version__, "samples": len(data), "seconds": round(now - BEGAN, 3), "epoch_seconds": round(now - started, 3), "loss": last}))


if __name__ == "__main__":
    sys.exit(main())
