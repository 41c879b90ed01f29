#!/usr/bin/env python3
"""Files that torch.save writes, and the same tensors as safetensors, for tests/pickle/torch.sh.

  tests/pickle/make_torch.py FOLDER WIDTH

FOLDER/files has pairs NAME.pth and NAME.safetensors, of which the names are printed: protocols 2 to 5, the old format, shared storage,
strides, types, checkpoints. FOLDER has networks as checkpoints (NAME.pth), their states (NAME.safetensors) and what they make of
pictures (NAME.scores): meijieru's CRNN and torchvision's resnet50, WIDTH as wide, resnet101 and resnet152, a quarter as wide.

Exits 77 without torch. The networks are written here with the names of their authors, as far as state dicts show them.
"""
import argparse, json, os, struct, sys

try:
    import torch, torch.nn as nn
except ImportError:
    sys.exit(77)

KINDS = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32",
         torch.uint8: "U8", torch.bool: "U8"}


def raw(t):
    """Elements row-major, as bytes."""
    t = t.detach().contiguous()
    return bytes(t.reshape(-1).view(torch.uint8).tolist()) if t.numel() < 4096 else t.reshape(-1).view(torch.uint8).numpy().tobytes()


def save_safetensors(path, tensors):
    head, data = {}, b""
    for k, t in tensors.items():
        b = raw(t)
        head[k] = {"dtype": KINDS[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(b)]}
        data += b
    head = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + data)


def pair(folder, name, tensors, saved=None, **kw):
    torch.save(tensors if saved is None else saved, os.path.join(folder, name + ".pth"), **kw)
    save_safetensors(os.path.join(folder, name + ".safetensors"), tensors)
    print(name)


def swap_order(path, to):
    """The same archive as a big-endian machine would write it."""
    import zipfile
    with zipfile.ZipFile(path) as z, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as out:
        for i in z.infolist():
            data = z.read(i)
            if i.filename.endswith("/byteorder"):
                data = b"big"
            elif "/data/" in i.filename:
                data = b"".join(data[k:k + 4][::-1] for k in range(0, len(data), 4))
            out.writestr(i.filename, data)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.rnn = nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.LSTM(4, 3, bidirectional=True)
        self.tied = nn.Linear(7, 6)
        self.again = nn.Linear(7, 6)
        self.again.weight = self.tied.weight


def files(folder):
    torch.manual_seed(5)
    net = Net()
    sd = net.state_dict()
    for p in (2, 3, 4, 5):
        pair(folder, "protocol%d" % p, sd, pickle_protocol=p)
    pair(folder, "old", sd, _use_new_zipfile_serialization=False)
    pair(folder, "parameters", {k: v for k, v in net.named_parameters()})
    base = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
    strided = {"all": base, "part": base[1, 1:, ::2, 1:4], "turned": base.permute(3, 1, 0, 2), "column": base[:, 0, 0, 2], "one": base[1, 2, 3, 4],
               "spread": torch.arange(3.).reshape(3, 1).expand(3, 4), "flipped": base.t() if base.dim() == 2 else base.transpose(0, 3),
               "last": base.to(memory_format=torch.channels_last), "none": base[:0], "none2": torch.empty(3, 0, 2)}
    pair(folder, "strided", strided)
    pair(folder, "strided-old", strided, _use_new_zipfile_serialization=False)
    values = torch.tensor([0, 1, -1, 2.5, 1e-3, 65504., float("inf"), float("nan")])
    kinds = {str(d): values.to(d) for d in (torch.float32, torch.float64, torch.float16, torch.bfloat16)}
    kinds.update({str(d): torch.tensor([0, 1, 2, 100, 255]).to(d) for d in (torch.int64, torch.int32, torch.uint8, torch.bool)})
    kinds["large"] = torch.tensor([1 << 62, -(1 << 62)])
    pair(folder, "types", kinds)
    sizes = {"f": values, "g": base}
    pair(folder, "little", sizes)
    swap_order(os.path.join(folder, "little.pth"), os.path.join(folder, "big.pth"))
    os.link(os.path.join(folder, "little.safetensors"), os.path.join(folder, "big.safetensors"))
    print("big")
    opt = torch.optim.Adam(net.parameters())
    sum(p.sum() for p in net.parameters()).backward()
    opt.step()
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [3, 5])
    sd = net.state_dict()
    for key in ("state_dict", "model", "net", "model_state_dict", "something"):
        pair(folder, "in-" + key, sd, {"epoch": 3, key: sd, "optimizer": opt.state_dict(), "scheduler": sched.state_dict(), "best": 0.93,
             "args": argparse.Namespace(lr=0.1, data="x"), "name": "run", "done": False, "more": None, "big": 1 << 90, "set": {1, 2},
             "size": torch.Size([1, 2]), "device": torch.device("cpu"), "dtype": torch.float32, "rng": torch.get_rng_state()})


class BidirectionalLSTM(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.rnn, self.embedding = nn.LSTM(i, h, bidirectional=True), nn.Linear(2 * h, o)

    def forward(self, x):
        y, _ = self.rnn(x)
        return self.embedding(y)


class CRNN(nn.Module):
    """Module names of meijieru/crnn.pytorch; h: units of an LSTM, w: of 64 first channels."""
    def __init__(self, classes, w=64, h=256):
        super().__init__()
        self.cnn, ci = nn.Sequential(), 1
        for i, (m, k, norm, pool) in enumerate([(1, 3, 0, (2, 2, 0)), (2, 3, 0, (2, 2, 0)), (4, 3, 1, None), (4, 3, 0, ((2, 2), (2, 1), (0, 1))),
                                               (8, 3, 1, None), (8, 3, 0, ((2, 2), (2, 1), (0, 1))), (8, 2, 1, None)]):
            self.cnn.add_module("conv%d" % i, nn.Conv2d(ci, m * w, k, 1, k // 3))
            ci = m * w
            if norm:
                self.cnn.add_module("batchnorm%d" % i, nn.BatchNorm2d(ci))
            self.cnn.add_module("relu%d" % i, nn.ReLU(True))
            if pool:
                self.cnn.add_module("pooling%d" % i, nn.MaxPool2d(*pool))
        self.rnn = nn.Sequential(BidirectionalLSTM(ci, h, h), BidirectionalLSTM(h, h, classes))

    def forward(self, x):
        return self.rnn(self.cnn(x).squeeze(2).permute(2, 0, 1))


class Block(nn.Module):
    def __init__(self, ci, mid, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(ci, mid, 1, bias=False), nn.BatchNorm2d(mid)
        self.conv2, self.bn2 = nn.Conv2d(mid, mid, 3, stride, 1, bias=False), nn.BatchNorm2d(mid)
        self.conv3, self.bn3 = nn.Conv2d(mid, 4 * mid, 1, bias=False), nn.BatchNorm2d(4 * mid)
        self.downsample = None
        if stride != 1 or ci != 4 * mid:
            self.downsample = nn.Sequential(nn.Conv2d(ci, 4 * mid, 1, stride, bias=False), nn.BatchNorm2d(4 * mid))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        return torch.relu(self.bn3(self.conv3(y)) + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """Module names of torchvision's."""
    BLOCKS = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3), "resnet152": (3, 8, 36, 3)}

    def __init__(self, name, classes=1000, w=64):
        super().__init__()
        self.conv1, self.bn1, ci = nn.Conv2d(3, w, 7, 2, 3, bias=False), nn.BatchNorm2d(w), w
        for k, n in enumerate(self.BLOCKS[name]):
            blocks = []
            for i in range(n):
                blocks.append(Block(ci, w << k, 2 if k > 0 and i == 0 else 1))
                ci = 4 * (w << k)
            setattr(self, "layer%d" % (k + 1), nn.Sequential(*blocks))
        self.fc = nn.Linear(ci, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.fc(self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean((2, 3)))


def lively(net):
    """Norms away from 1 and 0, as training leaves them; branches small, so that the sum of many stays in range."""
    for n, m in net.named_modules():
        if isinstance(m, nn.BatchNorm2d):
            with torch.no_grad():
                m.weight.uniform_(0.8, 1.2)
                m.bias.normal_(0, 0.1)
                m.running_mean.normal_(0, 0.1)
                m.running_var.uniform_(0.8, 1.2)
                if n.endswith("bn3"):
                    m.weight.mul_(0.3)
    return net.eval()


def network(folder, name, net, x):
    state = net.state_dict()
    torch.save({"epoch": 1, "state_dict": nn.DataParallel(net).state_dict()}, os.path.join(folder, name + ".pth"))
    save_safetensors(os.path.join(folder, name + ".safetensors"), {k: v for k, v in state.items() if not k.endswith("num_batches_tracked")})
    with torch.no_grad():
        save_safetensors(os.path.join(folder, name + ".scores"), {"x": x.permute(0, 2, 3, 1), "scores": net(x)})


def main():
    folder, width = sys.argv[1], float(sys.argv[2])
    os.makedirs(os.path.join(folder, "files"), exist_ok=True)
    torch.set_num_threads(2)
    files(os.path.join(folder, "files"))
    torch.manual_seed(11)
    network(folder, "crnn", lively(CRNN(37)), torch.randn(2, 1, 32, 100))
    for name in ResNet.BLOCKS:
        net = lively(ResNet(name, w=round(64 * (width if name == "resnet50" else 0.25))))
        network(folder, name, net, torch.randn(2, 3, 64, 96))
        if name == "resnet101":
            torch.save({k.replace("layer", "stage"): v for k, v in net.state_dict().items()}, os.path.join(folder, "renamed.pth"))


if __name__ == "__main__":
    main()
