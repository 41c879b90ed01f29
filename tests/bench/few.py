#!/usr/bin/env python3
"""What few labelled pictures are worth, alone and behind a pre-training on drawn ones in a style fitted to pictures without labels: doc/fit-style.md.

Prints lines of CSV: k,seed,how,right,strings,seconds. `how` is "drawn" where no real picture was trained with (k = 0), "alone", or "tuned" (drawn
ones first; its seconds hold the pre-training's, which serves all k). What is there in WORK is not done again.
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
parser.add_argument("--epochs", type=int, default=8, help="of 8,000 drawn pictures")
parser.add_argument("--model", default="crnn-small")
parser.add_argument("--lr", default="2e-3", help="of the training behind drawn pictures; those alone have what `init` gives them")
args = parser.parse_args()

program = str(pathlib.Path(os.environ.get("CAPTRAIN", top / "captrain")).resolve())
environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
args.work.mkdir(parents=True, exist_ok=True)


def captrain(*words, log=None):
    done = subprocess.run([program, *map(str, words)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if log:
        log.write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        sys.exit(f"captrain {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def train(run, config, *options):
    """Trains, unless it is done; gives the seconds it took."""
    result = args.work / run / "result.json"
    if not result.exists():
        captrain("train", config, *options, "--threads", args.threads, "--out", args.work / run, log=args.work / (run + ".log"))
    return json.loads(result.read_text())["seconds"]


def tell(k, seed, how, run, seconds):
    read = json.loads(captrain("eval", args.work / run, args.test, "--threads", args.threads, "--json"))
    print(k, seed, how, round(read["string_accuracy"] * read["samples"]), read["samples"], round(seconds), sep=",", flush=True)


def lot(k, seed):
    """A folder of k pictures, fewer of them among those of more, in which only the seed decides."""
    folder = args.work / f"real-{k}-{seed}"
    if not folder.exists():
        folder.mkdir()
        for p in sorted(pictures, key=lambda p: hashlib.sha256(f"{seed} {p.name}".encode()).digest())[:k]:
            shutil.copy(p, folder)
    return folder


pictures = sorted(p for p in args.real.iterdir() if p.suffix.lower() in (".png", ".jpg", ".jpeg", ".bmp"))
charset = "".join(sorted(set("".join(p.stem for p in pictures))))
shortest, longest = min(len(p.stem) for p in pictures), max(len(p.stem) for p in pictures)
style = args.work / "style.yaml"
if not style.exists():
    captrain("fit-style", args.real, "--charset", charset, "--length", f"{shortest}-{longest}", "--out", style, log=args.work / "style.log")

print("k,seed,how,right,strings,seconds")
for seed in args.seeds:
    common = ["--set", f"model.name={args.model}", "--set", f"data.charset={charset}", "--set", f"train.seed={seed}"]
    before = train(f"drawn-{seed}", top / "examples/finetune-pretrain.yaml", *common, "--set", f"data.synth.style={style}",
                   "--set", f"data.synth.length_min={shortest}", "--set", f"data.synth.length_max={longest}", "--set", f"train.epochs={args.epochs}")
    for k in args.k:
        if k == 0:
            tell(0, seed, "drawn", f"drawn-{seed}", before)
            continue
        config = args.work / f"real-{k}-{seed}.yaml"
        if not config.exists():
            captrain("init", lot(k, seed), "--out", config)
        tell(k, seed, "alone", f"alone-{k}-{seed}", train(f"alone-{k}-{seed}", config, *common))
        tuned = train(f"tuned-{k}-{seed}", config, *common, "--set", f"optimizer.lr={args.lr}",
                      "--init", args.work / f"drawn-{seed}/checkpoints/best.safetensors")
        tell(k, seed, "tuned", f"tuned-{k}-{seed}", tuned + before)
