#!/usr/bin/env python3
"""Prints tests/ops/heatmap_values.h: what PyTorch (f64, CPU) says about the losses on maps that tests/ops/check_heatmap.c computes.

share(k, i) = ((37 i + 11 k) mod 29) / 28 fills everything, with i counted in captrain's layout. An output y is checked through its
projection sum of y[i] * ((53 i) mod 31 - 15) / 16, and gradients are those of 0.75 times the loss.
Usage: python3 tests/ops/make_heatmap_values.py > tests/ops/heatmap_values.h
"""
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
N, H, W, K, STRIDE = 3, 5, 6, 4, 4


def share(k, *shape):
    n = torch.Size(shape).numel()
    return ((37 * torch.arange(n) + 11 * k) % 29 / 28.0).reshape(shape)


def project(y):
    y = y.detach().contiguous().reshape(-1)
    return (y * ((53 * torch.arange(y.numel()) % 31 - 15) / 16.0)).sum().item()


def report(name, loss, *leaves):
    values = [loss.item()] + [project(g) for g in torch.autograd.grad(0.75 * loss, leaves)]
    print("static const double %s[%d] = { %s };" % (name, len(values), ", ".join("%.17g" % v for v in values)))


def logits():
    return (9 * share(0, N, H, W, 2) - 5.5).requires_grad_()


heat, mask, points = share(1, N, H, W, 2), share(2, N, H, W), share(7, N, 2, 2)

z = logits()
loss = 0
for p in range(2):
    P = torch.sigmoid(z[..., p])
    Q, P = (1 - P).clamp(min=0.05), P.clamp(min=0.05)
    positive = (heat[..., p] >= 0.8).double()
    term = -Q ** 1.5 * P.log() * positive - (1 - heat[..., p]) ** 4 * P ** 1.5 * Q.log() * (1 - positive)
    loss = loss + (term * mask).sum() / (positive * mask).sum()
report("focal_values", loss, z)

offset = (share(3, N, H, W, 4) - 0.5).requires_grad_()
smooth = F.smooth_l1_loss(offset, share(4, N, H, W, 4) - 0.5, reduction="none", beta=0.3).reshape(N, H, W, 2, 2).sum(-1)
weight = heat * mask[..., None]
report("offset_values", ((weight * smooth).sum((0, 1, 2)) / weight.sum((0, 1, 2))).sum(), offset)

direction, target = (2 * share(5, N, H, W, 2) - 1).requires_grad_(), 2 * share(6, N, 2) - 1
counts = (heat[..., 0] > 0.7).double()
counts[1] = 0                                             # its target is not known
cosine = (direction * target[:, None, None, :]).sum(-1)
report("angle_values", ((1 - cosine) * counts).sum() / counts.sum(), direction)

s, fake = share(8, N, 1).requires_grad_(), share(9, N, K).requires_grad_()
there = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1]]).double()
lack = (0.26 - s + fake).clamp(min=0) * there
report("margin_values", (lack.sum(1) / there.sum(1).clamp(min=1)).sum() / 2, s, fake)

z = logits()
Q = 1 - torch.sigmoid(z).clamp(0.02, 1 - 0.02)
report("padding_values", ((1 - mask) * (-Q.log()).sum(-1).clamp(max=4)).sum() / (1 - mask).sum(), z)

row = (points[..., 1] * 0.99 * STRIDE * H / STRIDE).floor().long()
known = torch.tensor([[1, 1], [1, 1], [1, 0]]).double()   # the last sample's second point is not there


def rows(z):
    return torch.softmax((torch.sigmoid(z).mean(2) + 0.01).log() / 0.7, 1)


z = logits()
q = rows(z)
nll = -q.permute(0, 2, 1).gather(2, row[..., None])[..., 0].log()
report("ce_values", ((nll * known).sum(0) / known.sum(0)).sum(), z)
z = logits()
sums = rows(z).cumsum(1)
both = known.prod(1)
report("emd_values", ((sums[..., 0] - sums[..., 1]).abs().mean(1) * both).sum() / both.sum(), z)
