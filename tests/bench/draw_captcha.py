#!/usr/bin/env python3
"""Pictures of the Python package `captcha`, as examples/captcha-package*.yaml read them: OUT/LABEL_NUMBER.png.

    tests/bench/draw_captcha.py OUT --count 20000 --seed 11
    tests/bench/draw_captcha.py OUT --count 500000 --seed 11 --processes 2
    tests/bench/draw_captcha.py OUT --count 100000 --seed 12 --often 0O

With --often half of all characters are one of those given: what is hard to tell apart is seen more often than chance has it.
Each thousand pictures has a seed of its own, so the same pictures come of any number of processes. The package itself (0.7) draws from the
system's random numbers; here they come from the seed, evenly distributed as before, so that a folder can be made again. Some 200 pictures a second and core.
"""
import argparse
import multiprocessing
import os
import random
import string

CHUNK = 1000  # pictures of one seed


class Drawn:
    """What captcha.image takes from the module `secrets`, of a seed."""

    def __init__(self, seed):
        self.of = random.Random(seed)

    def randbelow(self, n):
        return self.of.randrange(n)

    def randbits(self, n):
        return self.of.getrandbits(n)

    def choice(self, many):
        return self.of.choice(many)


def draw(job):
    import captcha.image

    out, seed, first, count, charset, least, most = job
    labels = random.Random(f"labels {seed} {first}")
    random.seed(f"pictures {seed} {first}")  # versions before 0.7 draw from here
    captcha.image.secrets = Drawn(f"pictures {seed} {first}")
    image = captcha.image.ImageCaptcha(width=160, height=60)
    for i in range(first, first + count):
        label = "".join(labels.choice(charset) for _ in range(labels.randint(least, most)))
        image.generate_image(label).save(os.path.join(out, f"{label}_{i:07d}.png"), compress_level=1)
    return count


def main():
    p = argparse.ArgumentParser(description="pictures of the Python package captcha, OUT/LABEL_NUMBER.png")
    p.add_argument("out", help="a folder, which is made where there is none")
    p.add_argument("--count", type=int, required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--charset", default=string.digits + string.ascii_uppercase)
    p.add_argument("--often", default="", metavar="CHARS", help="characters of --charset that half of all shall be")
    p.add_argument("--length", default="4", help="characters of a picture, or LEAST-MOST")
    p.add_argument("--processes", type=int, default=1)
    a = p.parse_args()
    ends = [int(n) for n in a.length.split("-")]
    charset = a.charset
    if a.often:
        if not set(a.often) <= set(charset):
            p.error(f"--often {a.often}: not all of them are in --charset {charset}")
        charset += a.often * ((len(charset) - len(a.often)) // len(a.often))
    os.makedirs(a.out, exist_ok=True)
    jobs = [(a.out, a.seed, first, min(CHUNK, a.count - first), charset, ends[0], ends[-1]) for first in range(0, a.count, CHUNK)]
    with multiprocessing.Pool(a.processes) as pool:
        print(sum(pool.imap_unordered(draw, jobs)), "pictures in", a.out)


if __name__ == "__main__":
    main()
