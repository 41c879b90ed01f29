#!/usr/bin/env python3
"""What few labelled pictures are worth, alone and with all that examples/few.sh does for them: doc/fit-style.md.

Prints lines of CSV: k,seed,how,right,strings,seconds. `how` is "alone" for a training with the k labelled pictures, with what `init` writes; "drawn", "tuned"
and "taught" are the parts of examples/few.sh, whose seconds are those of all trainings up to there, the drawn one's included, which serves all k.
What is there in WORK is not done again.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

top = pathlib.Path(__file__).resolve().parents[2]
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("real", type=pathlib.Path, help="folder of pictures whose names are their labels: k of them are taken by lot, the style is fitted to all, without their names")
parser.add_argument("test", type=pathlib.Path, help="folder of others, all of which are read")
parser.add_argument("work", type=pathlib.Path, help="where the style, configurations and runs go")
parser.add_argument("--k", type=int, nargs="+", default=[0, 25, 50, 100, 200, 400, 630])
parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--no-alone", action="store_true", help="only examples/few.sh")
args = parser.parse_args()

program = str(pathlib.Path(os.environ.get("CAPTRAIN", top / "captrain")).resolve())
environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")} | {"CAPTRAIN": program}
args.work.mkdir(parents=True, exist_ok=True)


def call(*words, log=None):
    done = subprocess.run(list(map(str, words)), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if log:
        log.write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def seconds_of(run):
    return json.loads((run / "result.json").read_text())["seconds"]


def tell(k, seed, how, run, seconds):
    read = json.loads(call(program, "eval", run, args.test, "--threads", args.threads, "--json"))
    print(k, seed, how, round(read["string_accuracy"] * read["samples"]), read["samples"], round(seconds), sep=",", flush=True)


def lot(k, seed):
    """A folder of k pictures, fewer of them among those of more, in which only the seed decides."""
    folder = args.work / f"real-{k}-{seed}"
    if not folder.exists():
        folder.mkdir()
        for p in sorted(pictures, key=lambda p: hashlib.sha256(f"{seed} {p.name}".encode()).digest())[:k]:
            shutil.copy(p, folder)
    return folder


def alone(k, seed, options):
    config, run = args.work / f"real-{k}-{seed}.yaml", args.work / f"alone-{k}-{seed}"
    if not config.exists():
        call(program, "init", lot(k, seed), "--out", config)
    if not (run / "result.json").exists():
        call(program, "train", config, *options, "--set", f"data.charset={charset}", "--out", run, log=args.work / (run.name + ".log"))
    tell(k, seed, "alone", run, seconds_of(run))


def few(k, seed, options):
    """All of examples/few.sh; the style, and the drawn part of the seed, are made once."""
    out, drawn = args.work / f"few-{k}-{seed}", args.work / f"drawn-{seed}"
    out.mkdir(exist_ok=True)
    for made, to in ((style, out / "style.yaml"), (drawn, out / "drawn")):
        if made.exists() and not to.exists():
            (shutil.copytree if made.is_dir() else shutil.copy)(made, to)
    call("sh", top / "examples/few.sh", lot(k, seed) if k else "-", out, args.real, "--charset", charset, "--length", f"{shortest}-{longest}", "--", *options,
         log=args.work / (out.name + ".log"))
    for made, to in ((out / "style.yaml", style), (out / "drawn", drawn)):
        if not to.exists():
            (shutil.copytree if made.is_dir() else shutil.copy)(made, to)
    spent = seconds_of(out / "drawn")
    if k == 0:
        tell(0, seed, "drawn", out / "drawn", spent)
    else:
        spent += seconds_of(out / "tuned")
        tell(k, seed, "tuned", out / "tuned", spent)
    if (out / "taught").exists():
        tell(k, seed, "taught", out / "taught", spent + sum(seconds_of(result.parent) for result in out.glob("taught*/result.json")))


pictures = sorted(p for p in args.real.iterdir() if p.suffix.lower() in (".png", ".jpg", ".jpeg", ".bmp"))
charset = "".join(sorted(set("".join(p.stem for p in pictures))))
shortest, longest = min(len(p.stem) for p in pictures), max(len(p.stem) for p in pictures)
style = args.work / "style.yaml"

print("k,seed,how,right,strings,seconds")
for seed in args.seeds:
    for k in args.k:
        options = ["--threads", args.threads, "--set", f"train.seed={seed}"]
        if k > 0 and not args.no_alone:
            alone(k, seed, options)
        few(k, seed, options)
