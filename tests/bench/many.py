#!/usr/bin/env python3
"""What a sample costs in memory and time when a label file lists very many: `captrain check`, and opening the set as a training does.

tests/bench/many.py [--captrain PROGRAM] [--threads N] [--keep DIR] [COUNT...]      default 100000 1000000

Pictures are hard links to 200 files of 48 x 20 pixels (every one is a duplicate, which costs memory, too); their names have 11 bytes,
their labels 4. A row for each count: peak memory and processor time, and from the second on the bytes and microseconds that each sample
more has cost since the row before. Opening is `train` of one step while the packed cache is made: its pixels, 960 bytes for each sample, are
then there twice, in memory and mapped from the file, and are counted off what each sample more has cost."""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile

FILES, WIDTH, HEIGHT = 200, 48, 20
CONFIG = """model: {name: textcnn-small, width: 0.25}
data: {height: 20, width: 48, val_fraction: 0, cache: pixels}
train: {steps: 1, batch_size: 64}
"""


def links(work, count):
    """A folder of `count` pictures that labels.csv lists."""
    source = sorted(os.listdir(os.path.join(work, "drawn")))
    folder = os.path.join(work, f"d{count}")
    if os.path.isdir(folder):
        return folder
    os.mkdir(folder)
    with open(os.path.join(folder, "labels.csv"), "w", encoding="utf-8") as to:
        for i in range(count):
            name = source[i % FILES]
            os.link(os.path.join(work, "drawn", name), os.path.join(folder, f"{i:07d}.png"))
            to.write(f"{i:07d}.png,{name.split('_')[0]}\n")
    return folder


def measured(command, env):
    """Exit code, peak memory in bytes, seconds of processor time, of one process."""
    pid = os.fork()
    if pid == 0:
        with open(os.devnull, "wb") as null:
            os.dup2(null.fileno(), 1)
        os.execvpe(command[0], command, env)
    _, status, use = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), use.ru_maxrss * 1024, use.ru_utime + use.ru_stime


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--captrain", default=os.path.join(os.environ.get("CT_BUILDDIR", "."), "captrain"))
    p.add_argument("--threads", default="2")
    p.add_argument("--keep")
    p.add_argument("count", type=int, nargs="*", default=[100000, 1000000])
    a = p.parse_args()
    work = a.keep or tempfile.mkdtemp(prefix="captrain-many.")
    os.makedirs(work, exist_ok=True)
    program = os.path.abspath(a.captrain)
    env = dict(os.environ, CAPTRAIN_CACHE_DIR=os.path.join(work, "cache"))
    if not os.path.isdir(os.path.join(work, "drawn")):
        subprocess.run([program, "gen", "text", "--out", os.path.join(work, "drawn"), "--count", str(FILES), "--width", str(WIDTH),
                        "--height", str(HEIGHT), "--length", "4", "--seed", "1", "--quiet"], check=True, env=env)
    config = os.path.join(work, "c.yaml")
    with open(config, "w", encoding="utf-8") as to:
        to.write(CONFIG)
    bad = 0
    for what in ("check", "open"):
        last = None
        for count in a.count:
            folder = links(work, count)
            command = [program, "check", folder, "--threads", a.threads, "--quiet"]
            if what == "open":
                run = os.path.join(work, "run")
                shutil.rmtree(run, ignore_errors=True)
                command = [program, "train", config, "--set", f"data.train={folder}", "--out", run, "--threads", a.threads, "--quiet"]
                shutil.rmtree(os.path.join(work, "cache"), ignore_errors=True)
            rc, peak, seconds = measured(command, env)
            bad |= rc
            line = f"{what:6} {count:9,} samples: exit {rc}, {peak / 1e6:8.1f} MB, {seconds:7.2f} s"
            if last:
                more = count - last[0]
                pixels = 2 * WIDTH * HEIGHT if what == "open" else 0
                line += f"; each more: {(peak - last[1]) / more - pixels:6.1f} bytes, {(seconds - last[2]) / more * 1e6:6.2f} us"
            print(line, flush=True)
            last = (count, peak, seconds)
    if not a.keep:
        shutil.rmtree(work, ignore_errors=True)
    return bad


sys.exit(main())
