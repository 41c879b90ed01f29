"""The Python module against what `captrain predict --json` said of the same pictures: module.py RUN PREDICTED.JSON

Pictures as paths, bytes, Pillow images and arrays give the same texts; several threads, several at once, errors, endings.
"""

import gc
import json
import sys
import threading
import zlib

import captrain

checks = 0


def check(what, *why):
    global checks
    checks += 1
    if not what:
        raise SystemExit("FAIL: " + " ".join(str(w) for w in why))


def fails(code, part, call):
    """call() raises Error with this code, and with this text in its message."""
    try:
        call()
    except captrain.Error as e:
        check(e.code == code and part in str(e), "wrong error:", e.code, e)
        return e
    raise SystemExit("FAIL: no error: " + part)


def png_rows(data):
    """Pixels of a gray or RGB PNG of 8 bits: width, height, channels, rows. Enough for pictures that captrain draws."""
    at, idat, head = 8, b"", None
    while at < len(data):
        n = int.from_bytes(data[at : at + 4], "big")
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + n]
        at += 12 + n
        if kind == b"IHDR":
            head = body
        elif kind == b"IDAT":
            idat += body
    width, height = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
    check(head[8] == 8 and head[9] in (0, 2) and head[12] == 0, "another kind of PNG than this test reads")
    channels = 3 if head[9] == 2 else 1
    raw, stride = zlib.decompress(idat), width * channels
    before, rows = bytearray(stride), []
    for y in range(height):
        kind = raw[y * (stride + 1)]
        line = bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for i in range(stride):
            a = line[i - channels] if i >= channels else 0
            b = before[i]
            c = before[i - channels] if i >= channels else 0
            p = a + b - c
            pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
            paeth = a if pa <= pb and pa <= pc else b if pb <= pc else c
            line[i] = (line[i] + (0, a, b, (a + b) // 2, paeth)[kind]) & 255
        rows.append(bytes(line))
        before = line
    return width, height, channels, rows


class Pixels:
    """What numpy arrays have, without numpy; `pad` bytes behind each row."""

    def __init__(self, width, height, channels, rows, pad=0):
        stride = width * channels + pad
        self.memory = b"".join(r + b"\xaa" * pad for r in rows)
        import ctypes

        self.keep = ctypes.create_string_buffer(self.memory, len(self.memory))
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (height, width) if channels == 1 else (height, width, channels),
            "strides": (stride, 1) if channels == 1 else (stride, channels, 1),
            "data": (ctypes.addressof(self.keep), True),
        }


def same(reading, row, how):
    check(reading.text == row["text"], how, row["file"], reading.text, "instead of", row["text"])
    check(abs(reading.confidence - row["confidence"]) < 1e-5, how, row["file"], "confidence", reading.confidence)
    check("".join(ch.text for ch in reading.characters) == reading.text, how, "characters")
    check(str(reading) == reading.text, how, "as a text")


def others(model, rows, files):
    """Forms of pictures that need other packages."""
    said = []
    try:
        from PIL import Image

        for f, row in zip(files[:5], rows):
            with Image.open(f) as im:
                same(model.read(im), row, "Pillow")
                same(model.read(im.convert("RGBA")), row, "Pillow RGBA")
        said.append("Pillow")
    except ImportError:
        print("Pillow: not here")
    try:
        import numpy

        for f, row in zip(files[:5], rows):
            width, height, channels, lines = png_rows(open(f, "rb").read())
            a = numpy.frombuffer(b"".join(lines), numpy.uint8).reshape(height, width, channels)
            same(model.read(a), row, "numpy")
            same(model.read(numpy.asfortranarray(a)), row, "numpy, columns first")
            same(model.read(numpy.repeat(a, 2, axis=1)[:, ::2]), row, "numpy, every other column")
        fails("EINVAL", "pixels are uint8", lambda: model.read(a.astype(float)))
        said.append("numpy")
    except ImportError:
        print("numpy: not here")
    return said


def main(run, predicted):
    with open(predicted) as f:
        rows = json.load(f)
    rows = rows if isinstance(rows, list) else rows["images"] if "images" in rows else rows["predictions"]
    files = [r["file"] for r in rows]
    check(len(rows) > 10, "few pictures")
    with captrain.Model(run) as model:
        check(model.info.task == "text" and model.info.height > 0 and len(model.info.symbols) > 1, model.info)
        check(model.info.charset == "".join(model.info.symbols), "charset")
        for f, row in zip(files, rows):
            same(model.read(f), row, "path")
            data = open(f, "rb").read()
            same(model.read(data), row, "bytes")
            same(model.read(memoryview(data)), row, "memoryview")
            shape = png_rows(data)
            same(model.read(Pixels(*shape)), row, "pixels")
            same(model.read(Pixels(*shape, pad=5)), row, "pixels with a stride")
        for reading, row in zip(model.read_many(files), rows):
            same(reading, row, "many")
        check(model.read_many([]) == [], "none")
        details = model.read(files[0], details=True).details
        check(details["text"] == rows[0]["text"], "details", details)
        said = others(model, rows, files)

        # several threads
        wrong = []

        def work(k):
            for i in range(k, 3 * len(files), 4):
                if model.read(files[i % len(files)]).text != rows[i % len(files)]["text"]:
                    wrong.append(i)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check(not wrong, "threads read otherwise:", wrong)

        # what cannot be read
        fails("EFORMAT", "none of PNG", lambda: model.read(b"no picture"))
        fails("EIO", "/nonexistent.png", lambda: model.read("/nonexistent.png"))
        fails("EINVAL", "is no picture", lambda: model.read(7))
        e = fails("EFORMAT", "none of PNG", lambda: model.read_many([files[0], b"no picture", files[1]]))
        check(e.index == 1, "index", e.index)
        some = model.read_many([files[0], b"no picture", files[1]], errors="return")
        same(some[0], rows[0], "beside one that cannot be read")
        check(isinstance(some[1], captrain.Error), some[1])
        same(some[2], rows[1], "behind one that cannot be read")
    fails("EINVAL", "closed", lambda: model.read(files[0]))
    fails("EIO", "nonexistent", lambda: captrain.Model("/nonexistent"))

    lines = []
    kept = captrain.Model(run, log=lambda level, line: lines.append((level, line)), threads=1, at_once=2)
    same(kept.read(files[0]), rows[0], "with a log")
    del kept
    gc.collect()
    print(f"{checks} checks; captrain {captrain.__version__}; {', '.join(said) or 'alone'}")


main(*sys.argv[1:3])
