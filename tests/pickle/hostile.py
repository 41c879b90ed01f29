#!/usr/bin/env python3
"""Hostile files of torch.save: FOLDER/NAME.pth, one for each row of what comes back, and harmless seeds for the fuzz targets.

  tests/pickle/hostile.py FOLDER           writes the files; prints NAME<tab>what the refusal has to say
  tests/pickle/hostile.py --seeds FOLDER   writes FOLDER/pickle and FOLDER/torch, the corpora of the fuzz targets
  tests/pickle/hostile.py --pth FILE TO    writes a safetensors file as torch.save would, deflated: {"epoch": 1, "model": state dict}

Python's standard library alone; torch is not needed, and nothing here is ever unpickled. What would run, if anything did, makes the
file FOLDER/ran.
"""
import os, pickle, struct, sys, zlib

MIB = 1 << 20


# ---- archives, whatever is wrong with them ----

def archive(entries, comment=b"", entries_said=None, directory_at=None, cut=0):
    """entries: dicts with name and data, and what is to be wrong: method, crc, size, packed, flags, local_name, at."""
    out, central = b"", b""
    for e in entries:
        data, method = e["data"], e.get("method", 0)
        packed = zlib.compress(data, 9)[2:-4] if method == 8 and "raw" not in e else data
        name = e["name"].encode()
        crc = e.get("crc", zlib.crc32(data) if "raw" not in e else 0)
        size, psize = e.get("size", len(data)), e.get("packed", len(packed))
        at = e.get("at", len(out))
        head = struct.pack("<HHHHHIIIHH", 20, e.get("flags", 0), method, 0, 0, crc, psize, size, len(name), 0)
        local = e.get("local_name", e["name"]).encode()
        out += b"PK\3\4" + head[:-4] + struct.pack("<HH", len(local), 0) + local + packed
        central += b"PK\1\2" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, at) + name
    where = len(out) if directory_at is None else directory_at
    n = len(entries) if entries_said is None else entries_said
    whole = out + central + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, n, n, len(central), where, len(comment)) + comment
    return whole[:len(whole) - cut]


def torch_entries(pkl, storages=(), top="archive/", **more):
    """What torch.save puts into an archive around a pickle."""
    return [dict(name=top + "data.pkl", data=pkl, **more), dict(name=top + "byteorder", data=b"little")] + \
           [dict(name=top + "data/" + k, data=v) for k, v in storages] + [dict(name=top + "version", data=b"3\n")]


def torch_file(pkl, storages=(), **kw):
    return archive(torch_entries(pkl, storages), **kw)


# ---- pickles ----

P = b"\x80\x02"


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def number(i):
    if 0 <= i < 256:
        return b"K" + bytes([i])
    n = (i.bit_length() + 8) // 8
    return b"\x8a" + bytes([n]) + i.to_bytes(n, "little", signed=True)


def numbers(*v):
    return b"(" + b"".join(map(number, v)) + b"t"


def name(module, what):
    return b"c" + module.encode() + b"\n" + what.encode() + b"\n"


def storage(key="0", numel=4, kind="FloatStorage"):
    return b"(" + text("storage") + name("torch", kind) + text(key) + text("cpu") + number(numel) + b"tQ"


def tensor(shape=(4,), stride=(1,), offset=0, **kw):
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + storage(**kw) + number(offset) + numbers(*shape) + numbers(*stride) + \
        b"\x89" + name("collections", "OrderedDict") + b")RtR"


def state(*items):
    return P + b"}" + b"".join(text(k) + v + b"s" for k, v in items) + b"."


def runs(module, what, command):
    """A pickle that would call a function, protocol 2."""
    return P + b"}" + text("w") + name(module, what) + b"(" + text(command) + b"tRs."


def runs4(module, what, command):
    """The same, protocol 4."""
    s = lambda t: b"\x8c" + bytes([len(t)]) + t.encode()
    return b"\x80\x04}" + s("w") + s(module) + s(what) + b"\x93" + s(command) + b"\x85Rs."


FOUR = struct.pack("<4f", 1, 2, 3, 4)
GOOD = state(("w", tensor()))
DATA = (("0", FOUR),)
OLD = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}" + text("little_endian") + b"\x88s."


def old_file(pkl, keys=("0",), tail=struct.pack("<q", 4) + FOUR):
    return OLD + pkl + P + b"]" + b"".join(text(k) + b"a" for k in keys) + b"." + tail


def old_state():
    pid = b"(" + text("storage") + name("torch", "FloatStorage") + text("0") + text("cpu") + number(4) + b"NtQ"
    return P + b"}" + text("w") + name("torch._utils", "_rebuild_tensor_v2") + b"(" + pid + number(0) + numbers(4) + numbers(1) + \
        b"\x89" + name("collections", "OrderedDict") + b")RtRs."


def pickles(ran):
    touch = "touch '%s'" % ran
    python = "open(%r, 'w')" % ran
    one = text("w") + b"K\1s."
    yield "os-system", runs("os", "system", touch), "GLOBAL: refused: os.system"
    yield "posix-system-4", runs4("posix", "system", touch), "STACK_GLOBAL: refused: posix.system"
    yield "eval", runs("builtins", "eval", python), "builtins.eval"
    yield "eval-python2", runs("__builtin__", "eval", python), "__builtin__.eval"
    yield "exec", runs4("builtins", "exec", python), "builtins.exec"
    yield "getattr", runs("builtins", "getattr", "os"), "builtins.getattr"
    yield "popen", runs("subprocess", "Popen", touch), "subprocess.Popen"
    yield "runpy", runs("runpy", "_run_code", python), "runpy._run_code"
    yield "torch-load", runs("torch", "load", ran), "torch.load"
    yield "torch-hub", runs("torch.hub", "load", "x/y"), "torch.hub.load"
    yield "dotted-name", runs4("collections", "OrderedDict.fromkeys", "x"), "collections.OrderedDict.fromkeys"
    yield "newobj", P + name("os", "_wrap_close") + b")\x81.", "os._wrap_close"
    yield "inst", P + b"(" + text(touch) + b"ios\nsystem\n.", "opcode INST: refused"
    yield "obj", P + b"(" + name("collections", "OrderedDict") + text(touch) + b"o.", "opcode OBJ: refused"
    yield "ext1", P + b"\x82\x01.", "opcode EXT1: refused"
    yield "newobj-ex", P + name("collections", "OrderedDict") + b")}\x92.", "opcode NEWOBJ_EX: refused"
    yield "persid", P + b"Pos.system\n.", "opcode PERSID: refused"
    yield "next-buffer", b"\x80\x05\x97.", "opcode NEXT_BUFFER: refused"
    yield "no-opcode", P + b"\xff.", "255 is no opcode"
    yield "protocol-0", pickle.dumps({"w": 1}, 0), "no pickle of protocol 2 to 5"
    yield "protocol-6", b"\x80\x06}" + one, "protocol 6"
    yield "nested-tuples", P + b"K\1" + b"\x85" * 900000 + b".", "holds no dict"
    yield "nested-marks", P + b"(" * (15 * MIB) + b".", "marks"
    yield "list-in-itself", P + b"}" + text("w") + b"]q\0h\0as.", "holds itself"
    yield "dict-in-itself", P + b"}q\0" + text("model") + b"h\0s.", "holds itself"
    laughs = P + b"]q\0" + b"".join(b"](" + 2 * (b"h" + bytes([i])) + b"eq" + bytes([i + 1]) + b"0" for i in range(200))
    yield "billion-laughs", laughs + b"0}" + text("w") + b"h\xc8s.", "no dict of tensors"
    yield "text-2-60", b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b"x.", "cut off"
    yield "long-huge", P + b"\x8b" + struct.pack("<I", 0x7fffffff) + b"\1.", "cut off"
    yield "frame-huge", b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"}.", "a frame of"
    yield "memo-huge", P + b"}r\xff\xff\xff\xff.", "too large a number"
    yield "memo-empty", P + b"}" + text("w") + b"h\x07s.", "holds nothing"
    yield "underflow", P + b"R.", "nothing is on the stack"
    yield "under-a-mark", P + b"K\1(R.", "nothing is on the stack"
    yield "no-stop", P + b"}" + text("w"), "cut off"
    yield "many-lists", P + b"]" * (15 * MIB) + b".", "values"
    yield "many-copies", P + b"K\1" + b"2" * (15 * MIB) + b".", "values on the stack"
    yield "many-items", P + b"K\1q\0]" + 2 * (b"(h\0" + b"2" * (5 * MIB) + b"e") + b".", "no state dict has so many"
    yield "too-long", P + b"N0" * (9 * MIB) + b"}.", "at most"
    yield "call-of-text", P + text("os.system") + text(touch) + b"\x85R.", "no name"
    yield "attributes", P + text("w") + b"}b.", "attributes of something"
    yield "storage-called", P + name("torch", "FloatStorage") + b")R.", "called as if"
    yield "pid-no-storage", P + text("x") + b"\x85Q.", "names no storage"


def tensors():
    yield "shape-2-80", tensor((1 << 40, 1 << 40), (0, 0)), "shape is too large"
    yield "stride-2-62", tensor((3, 2), (1 << 62, 1)), "too large"
    yield "offset-outside", tensor((4,), (1,), offset=1), "outside its storage"
    yield "offset-negative", tensor((4,), (1,), offset=-1), "without a storage"
    yield "stride-negative", tensor((4,), (-1,)), "no size"
    yield "sizes-2-40", tensor((1 << 40,), (0,)), "does not fit model"
    yield "storage-2-61", tensor((4,), (1,), numel=1 << 61), "a storage of"
    yield "storage-larger", tensor((4,), (1,), numel=5), "are wanted"
    yield "key-path", tensor((4,), (1,), key="../../../etc/passwd"), "in the archive"
    yield "sparse", name("torch._utils", "_rebuild_sparse_tensor") + b")R", "_rebuild_sparse_tensor"
    yield "conjugate", tensor()[:-2] + b"}" + text("conj") + b"\x88stR", "conjugate"


def archives():
    good = torch_entries(GOOD, DATA)
    with_ = lambda i, **kw: good[:i] + [dict(good[i], **kw)] + good[i + 1:]
    yield "cut", archive(good, cut=30), "may be cut off"
    yield "cut-half", archive(good)[:200], "may be cut off"
    yield "crc-pickle", archive(with_(0, crc=1)), "the checksum of 'archive/data.pkl'"
    yield "crc-storage", archive(with_(2, crc=1)), "does not fit model"
    yield "overlap", archive(good + [dict(name="archive/data/1", local_name="archive/data/0", data=b"", at=0)]), "overlaps"
    yield "inside", archive(with_(2, at=3)), "damaged archive"
    yield "twice", archive(good + [dict(good[2])]), "two entries are called"
    yield "dot-dot", archive(good + [dict(name="archive/../../../tmp/x", data=b"x")]), "leads out of it"
    yield "absolute", archive(good + [dict(name="/tmp/x", data=b"x")]), "leads out of it"
    yield "backslash", archive(good + [dict(name="archive\\..\\x", data=b"x")]), "leads out of it"
    yield "bomb-pickle", archive([dict(good[0], data=P + b"N0" * (9 * MIB) + b"}.", method=8)] + good[1:]), "at most"
    yield "bomb-version", archive(good[:3] + [dict(good[3], data=b"3" * (70 * MIB), method=8)]), "would grow"
    yield "bomb-lies", archive(with_(0, data=P + b"N0" * (4 * MIB) + b"}.", method=8, size=100)), "does not inflate"
    yield "deflate-cut", archive(with_(0, method=8, packed=20)), "damaged archive"
    yield "deflate-noise", archive(with_(0, method=8, raw=1, data=b"\xff" * 64, size=1000)), "does not inflate"
    yield "zip-in-zip", archive([dict(name="archive/data.zip", data=archive(good))]), "no data.pkl"
    yield "encrypted", archive(with_(0, flags=1)), "is encrypted"
    yield "bzip2", archive(with_(0, method=12)), "packed by method 12"
    yield "entries-65535", archive(good, entries_said=65535), "entries in a directory"
    yield "directory-far", archive(good, directory_at=0xfffffff0), "does not fit in"
    yield "stored-lies", archive(with_(2, size=1 << 31)), "is stored, but takes"
    yield "size-4gb", archive(with_(2, size=0xfffffffe, packed=0xfffffffe)), "larger than what is left"
    yield "other-header", archive(with_(0, local_name="archive/data.pkX")), "another header"
    yield "script", archive(good + [dict(name="archive/constants.pkl", data=b"")]), "TorchScript"
    yield "no-version", archive(good[:3]), "no version"
    yield "version-99", archive(with_(3, data=b"99\n")), "version 99"
    yield "byteorder", archive(with_(1, data=b"middle")), "byteorder"
    yield "two-pickles", archive(good + [dict(name="other/data.pkl", data=GOOD)]), "two data.pkl"
    yield "empty-archive", archive([]), "nothing in it"
    end64 = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 1 << 60, 1 << 60, 1 << 60, 1 << 60)
    whole = archive(good)
    yield "zip64-huge", whole[:-22] + end64 + b"PK\6\7" + struct.pack("<IQI", 0, len(whole) - 22, 1) + whole[-22:], "does not fit in"
    yield "zip64-nowhere", whole[:-22] + b"PK\6\7" + struct.pack("<IQI", 0, 1 << 63, 1) + whole[-22:], "no end of its directory"


def old_files(ran):
    yield "old-os-system", OLD + runs("os", "system", "touch '%s'" % ran), "os.system"
    yield "old-cut", old_file(old_state(), tail=struct.pack("<q", 4) + FOUR[:7]), "cut off in a storage"
    yield "old-huge", old_file(old_state(), tail=struct.pack("<q", 1 << 62) + FOUR), "elements"
    yield "old-no-keys", old_file(old_state(), keys=()), "a storage is missing"
    yield "old-wrong-key", old_file(old_state(), keys=("1",)), "that no tensor has"
    yield "plain-pickle", pickle.dumps({"w": 1}, 2), "no file of torch.save"
    yield "plain-pickle-os", runs("os", "system", "touch '%s'" % ran), "no file of torch.save"


def write(folder, name_, data):
    with open(os.path.join(folder, name_), "wb") as f:
        f.write(data)


def to_pth(path, to):
    import json
    whole = open(path, "rb").read()
    start = 8 + struct.unpack("<Q", whole[:8])[0]
    head = json.loads(whole[8:start])
    head.pop("__metadata__", None)
    kinds = {"F32": ("FloatStorage", 4), "F64": ("DoubleStorage", 8), "F16": ("HalfStorage", 2), "BF16": ("BFloat16Storage", 2),
             "I64": ("LongStorage", 8), "I32": ("IntStorage", 4), "U8": ("ByteStorage", 1)}
    storages, items = [], []
    for i, (k, t) in enumerate(head.items()):
        begin, end = t["data_offsets"]
        kind, size = kinds[t["dtype"]]
        strides, n = [], 1
        for d in reversed(t["shape"]):
            strides.insert(0, n)
            n *= d
        storages.append((str(i), whole[start + begin:start + end]))
        items.append((k, tensor(t["shape"], strides, key=str(i), numel=(end - begin) // size, kind=kind)))
    pkl = P + b"}" + text("epoch") + b"K\1s" + text("model") + state(*items)[2:-1] + b"s."
    with open(to, "wb") as f:
        f.write(archive([dict(e, method=8) for e in torch_entries(pkl, storages)]))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--seeds":
        for kind in ("pickle", "torch"):
            os.makedirs(os.path.join(sys.argv[2], kind), exist_ok=True)
        for n, p, _ in pickles("/nonexistent"):
            if len(p) < 2000:
                write(sys.argv[2], "pickle/" + n, p)
        for n, p in [("state", GOOD), ("proto4", pickle.dumps({"a": [1, 2.5, None, True, b"x", {"b"}], "c": -1 << 70}, 4)),
                     ("proto5", pickle.dumps({"a": ("x", 1 << 40)}, 5))]:
            write(sys.argv[2], "pickle/" + n, p)
        for n, p, _ in archives():
            if len(p) < 2000:
                write(sys.argv[2], "torch/" + n, p)
        for n, p, _ in list(old_files("/nonexistent")) + [("good", torch_file(GOOD, DATA), ""), ("old", old_file(old_state()), ""),
                        ("strided", torch_file(P + b"}" + text("model") + state(("w", tensor((2, 2), (1, 2))))[2:-1] + b"s.", DATA), ""),
                        ("deflated", archive([dict(e, method=8) for e in torch_entries(GOOD, DATA)]), "")]:
            write(sys.argv[2], "torch/" + n, p)
        return
    if len(sys.argv) == 4 and sys.argv[1] == "--pth":
        to_pth(sys.argv[2], sys.argv[3])
        return
    folder = sys.argv[1]
    ran = os.path.join(folder, "ran")
    rows = [(n, torch_file(p, DATA), says) for n, p, says in pickles(ran)]
    rows += [(n, torch_file(state(("w", t)), DATA), says) for n, t, says in tensors()]
    rows += list(archives()) + list(old_files(ran))
    for n, data, says in rows:
        write(folder, n + ".pth", data)
        print("%s\t%s" % (n, says))


main()
