#!/usr/bin/env python3
"""Training steps of PyTorch's DistributedDataParallel over gloo, a process with one thread each, on data that is in memory.

    tests/bench/ddp.py [-n PROCESSES] --peer PEER_TORCH.PY MODEL --batch N [--layout nchw|nhwc] [--steps K] [--warmup W]

N is the whole group's batch. Prints one line of JSON: ms_per_step (median of process 0), samples_per_s. Needs python3 with torch.
"""
import argparse, importlib.util, json, os, statistics, sys, time


def load(path):
    keep, sys.argv = sys.argv, [path]  # it looks at its arguments when it is loaded
    spec = importlib.util.spec_from_file_location("peer_torch", path)
    peer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peer)
    sys.argv = keep
    return peer


def member(rank, o, port):
    import torch
    import torch.distributed as dist
    peer = load(o.peer)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=o.n)
    torch.set_num_threads(1)
    a = peer.parser().parse_args(["bench", o.model, "--batch", str(o.batch // o.n), "--layout", o.layout, "--threads", "1"])
    peer.resolve(a)
    torch.manual_seed(a.seed)
    model = peer.build(a)[0]
    model.train()
    loss = type(model).loss
    if o.layout == "nhwc":
        model = model.to(memory_format=torch.channels_last)
    batch = peer.to_device(peer.make_batch(a, a.seed + rank), "cpu", o.layout)
    group = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = peer.make_optimizer(group.parameters(), a, "cpu")[0]
    times = []
    for step in range(o.warmup + o.steps):
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss(group(batch), batch).backward()
        optimizer.step()
        if step >= o.warmup:
            times.append(time.perf_counter() - start)
    if rank == 0:
        ms = 1000 * statistics.median(times)
        print(json.dumps({"model": o.model, "processes": o.n, "batch": o.batch, "layout": o.layout, "torch": torch.__version__,
                          "ms_per_step": round(ms, 2), "samples_per_s": round(1000 * o.batch / ms, 2)}), flush=True)
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("-n", type=int, default=2)
    p.add_argument("--peer", required=True)
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--layout", choices=("nchw", "nhwc"), default="nhwc")
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--warmup", type=int, default=3)
    o = p.parse_args()
    import torch.multiprocessing as mp
    mp.spawn(member, args=(o, 29400 + os.getpid() % 500), nprocs=o.n)


if __name__ == "__main__":
    main()
