#!/usr/bin/env python3
"""Golden files of the deep residual networks: tests/golden/make_resnet.py resnet101|resnet152 OUT SEED

One training step's loss, scores and gradients by PyTorch, of a network an eighth as wide, in the format of tests/golden (doc/formats.md).
So that a file stays small its weights are bfloat16 numbers, and it has the gradients of some layers in every stage.
"""
import copy, json, os, struct, sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pickle"))
from make_torch import ResNet, lively, raw  # noqa: E402

KINDS = {torch.float32: "F32", torch.bfloat16: "BF16", torch.int32: "I32"}


def step(net, x, target):
    """Scores, loss and gradients of one training step."""
    net.train()
    out = net(x)
    loss = torch.nn.functional.cross_entropy(out, target)
    net.zero_grad()
    loss.backward()
    return out.detach(), loss.detach(), {n: p.grad.clone() for n, p in net.named_parameters()}


def kept(name, blocks):
    """Whether the file has the gradient: of the stem, the last layer, a norm of each block, and the last block of three stages."""
    last = {"layer%d.%d" % (k + 1, n - 1) for k, n in enumerate(blocks[:3])}
    return not name.startswith("layer") or name.endswith("bn2.bias") or "downsample.1" in name or ".".join(name.split(".")[:2]) in last


def main():
    name, path, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    net = lively(ResNet(name, classes=10, w=8))
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, torch.nn.Conv2d):
                torch.nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
        for t in list(net.parameters()) + [b for b in net.buffers() if b.is_floating_point()]:
            t.copy_(t.bfloat16().float())
    x, target = torch.randn(2, 3, 40, 56), torch.randint(0, 10, (2,))
    start = {k: v.clone() for k, v in net.state_dict().items()}
    out, loss, grad = step(copy.deepcopy(net), x, target)
    exact = step(copy.deepcopy(net).double(), x.double(), target)[2]
    noise = {k: float("%.3g" % ((grad[k].double() - v).norm() / v.norm())) for k, v in exact.items()}
    names = [n for n, _ in net.named_parameters()]
    left_out = [n for n in names if not kept(n, ResNet.BLOCKS[name])]
    tensors = {"input.x": x, "input.target": target.int(), "output.logits": out, "loss": loss.reshape(1), "losses": loss.reshape(1)}
    for k, v in start.items():
        tensors[("param." if k in names else "buffer.") + k] = v.bfloat16() if v.is_floating_point() else v.int()
    tensors.update({"grad." + k: v for k, v in grad.items() if k not in left_out})
    meta = {"format": "peer_torch golden 1", "model": name, "variant": "reduced", "seed": str(seed), "dtype": "F32", "batch": "2",
            "config": json.dumps({"height": 40, "w": 56, "width_mult": 0.125, "classes": 10, "hidden": 0}), "torch": torch.__version__,
            "param_order": json.dumps(names), "no_grad_params": "[]", "zero_grad_params": "[]", "left_out_grads": json.dumps(left_out),
            "optimizer": json.dumps({"name": "AdamW", "lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01}),
            "dropout": "off", "bn": "eps 1e-5, momentum 0.1, running_var unbiased", "fp32_noise": json.dumps({"grad_rel_l2": noise})}
    head, data = {"__metadata__": meta}, b""
    for k, v in sorted(tensors.items(), key=lambda kv: -kv[1].element_size()):
        b = raw(v)
        head[k] = {"dtype": KINDS[v.dtype], "shape": list(v.shape), "data_offsets": [len(data), len(data) + len(b)]}
        data += b
    head = json.dumps(head).encode()
    head += b" " * (-(len(head) + 8) % 64)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + data)
    worst = max(noise, key=noise.get)
    print("%s: %d bytes, loss %.6f, noise of fp32 at most %g (%s)" % (path, 8 + len(head) + len(data), loss, noise[worst], worst))


main()
