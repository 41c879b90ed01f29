#!/usr/bin/env python3
"""Makes the tables of doc/*.md that stand between `<!-- table KIND ...` and `<!-- end -->` from the measurements in doc/data/*.csv.

    tables.py             writes them into the pages
    tables.py --check     writes nothing; exits with 1 and names what differs if a page says something else than its data
    tables.py --ops RUN DATE PROCESSOR LOOPS FILE...      adds what `captrain bench MODEL --ops --json` wrote to doc/data/ops-cpu.csv

The comment in front of a table says what is in it: after KIND and its arguments lines of `LABEL <- KEY`, one for each row or column. Kinds:
  parts RECIPE            doc/data/race-parts.csv: a row for each KEY, a `change` of RECIPE, or `OTHER RECIPE :: change`
  race                    doc/data/race-captcha.csv: a row for each KEY, a `racer`; times are of the first one's seconds
  few FILE                doc/data/FILE.csv: a row for each k; what was read, and after how many seconds, for each KEY, a `how`; all seeds in order
  steps RUN               doc/data/steps-cpu.csv: all rows of a `run`; what has been measured several times stands side by side
  ops RUN                 doc/data/ops-cpu.csv: a row for each operator that takes 1 % of a step or more, columns for each KEY, a `model`
  newest                  doc/data/steps-cpu.csv: a row for each model and, for each KEY, a `processor, loops`, the ratio of the last run that has it
"""
import csv
import json
import pathlib
import re
import statistics
import sys

top = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(<!-- table (.*?)-->\n)(.*?)(<!-- end -->)", re.S)


class Wrong(Exception):
    pass


def rows(name):
    path = top / "doc/data" / (name + ".csv")
    if not path.is_file():
        raise Wrong(f"there is no {path}")
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def those(data, name, **want):
    found = [r for r in data if all(r[k] == v for k, v in want.items())]
    if not found:
        raise Wrong(f"{name}.csv has no row with {want}")
    return found


def markdown(head, body):
    def line(cells):
        return "|" + "".join(f" {c} |" if c else " |" for c in cells) + "\n"

    return line(head) + "|" + "---|" * len(head) + "\n" + "".join(map(line, body))


def spread(values, digits):
    """Mean (least to most), of what is there."""
    if not values:
        return ""
    text = f"{statistics.mean(values):,.{digits}f}"
    least, most = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return text if least == most else f"{text} ({least} to {most})"


def arrivals(runs):
    there = [r for r in runs if r["reached"] == "1"]
    return f"{len(there)} of {len(runs)}", [float(r["seconds"]) for r in there], [int(r["samples"]) for r in there]


def parts(argument, listed):
    data, body = rows("race-parts"), []
    for label, key in listed:
        recipe, _, change = key.rpartition(" :: ")
        reached, seconds, samples = arrivals(those(data, "race-parts", recipe=recipe or argument, change=change))
        body.append([label, reached, spread(seconds, 1), f"{statistics.mean(samples):,.0f}" if samples else ""])
    return markdown(["", "reached", "seconds", "pictures"], body)


def race(_, listed):
    data, body, first = rows("race-captcha"), [], None
    for label, key in listed:
        reached, seconds, samples = arrivals(those(data, "race-captcha", racer=key))
        first = first or statistics.mean(seconds)
        times = statistics.mean(seconds) / first
        body.append([label, reached, spread(seconds, 1), spread(samples, 0), "1" if times == 1 else f"{times:.2f}"])
    return markdown(["racer", "reached", "seconds", "samples", "times"], body)


def few(argument, listed):
    data, body = rows(argument), []
    for k in dict.fromkeys(r["k"] for r in data):
        line = [k]
        for _, how in listed:
            of = [r for r in data if r["k"] == k and r["how"] == how]
            line += [", ".join(r[c] for r in of) if of else "-" for c in ("right", "seconds")]
        body.append(line)
    return markdown(["labelled pictures"] + [t for label, _ in listed for t in (label, "seconds")], body)


def ratio(r):
    return f"{float(r['peer_ms']) / float(r['captrain_ms']):.2f}"


def share(r):
    if r["rss_mb"] and r["peer_rss_mb"]:
        return f"{float(r['rss_mb']) / float(r['peer_rss_mb']):.2f}"
    return r["rss_share"]


def steps(argument, listed):
    found = those(rows("steps-cpu"), "steps-cpu", run=argument)
    peer, = {r["peer"] for r in found}
    groups, body = {}, []
    for r in found:
        groups.setdefault((f"{r['model']} {r['size']}", r["batch"], r["loops"]), []).append(r)
    outside, memory = any(r["ratio_outside"] for r in found), any(share(r) for r in found)
    for key, of in groups.items():
        line = list(key) + [", ".join(r["captrain_ms"] for r in of), ", ".join(r["peer_ms"] for r in of), ", ".join(map(ratio, of))]
        if outside:
            line.append(", ".join(r["ratio_outside"] or "-" for r in of))
        if memory:
            line.append(", ".join(dict.fromkeys(share(r) or "-" for r in of)))
        body.append(line)
    head = ["model", "batch", "loops", "captrain, ms", f"{peer}, ms", "samples/s, captrain : PyTorch"]
    return markdown(head + ["from outside"] * outside + ["RSS, of PyTorch's"] * memory, body)


def newest(_, listed):
    data, body = rows("steps-cpu"), []
    for model, size, batch in dict.fromkeys((r["model"], r["size"], r["batch"]) for r in data):
        line = [f"{model} {size}", batch]
        for _, key in listed:
            processor, _, loops = key.rpartition(", ")
            of = [r for r in data if (r["model"], r["processor"], r["loops"]) == (model, processor, loops)]
            last = [r for r in of if r["run"] == of[-1]["run"]]
            line.append(", ".join(map(ratio, last)) + f" ({last[0]['date'][5:]})" if last else "-")
        body.append(line)
    return markdown(["model", "batch"] + [label for label, _ in listed], body)


def rate(r, peak):
    """Milliseconds, and GFLOP/s or GB/s, whichever is the larger share of its peak."""
    flops, moved = float(r["gflops"]) / float(peak["gflops"]), float(r["gbs"]) / float(peak["gbs"])
    of_peak = f"{float(r['gflops']):,.0f} GFLOP/s, {100 * flops:.0f} %" if flops >= moved else f"{float(r['gbs']):,.1f} GB/s, {100 * moved:.0f} %"
    return f"{float(r['ms']):.1f}; {of_peak}"


def ops(argument, listed):
    found = those(rows("ops-cpu"), "ops-cpu", run=argument)
    models = [those(found, "ops-cpu", model=key) for _, key in listed]
    step, peak = ([those(of, "ops-cpu", operator=what)[0] for of in models] for what in ("(step)", "(peak)"))
    body = []
    for operator, impl in dict.fromkeys((r["operator"], r["implementation"]) for of in models for r in of if r["implementation"]):
        line, most = [operator, impl], 0
        for of, whole, high in zip(models, step, peak):
            r = next((r for r in of if (r["operator"], r["implementation"]) == (operator, impl)), None)
            most = max(most, float(r["ms"]) / float(whole["ms"]) if r else 0)
            line.append(rate(r, high) if r else "")
        if most >= 0.01:
            body.append(line)
    body.append(["**step**", ""] + [f"{float(r['ms']):.1f}; {float(r['gflops']):,.0f} GFLOP/s" for r in step])
    body.append(["**peaks**", ""] + [f"{float(r['gflops']):,.0f} GFLOP/s, {float(r['gbs']):.1f} GB/s" for r in peak])
    return markdown(["operator", "implementation"] + [label for label, _ in listed], body)


def add_ops(run, date, processor, loops, *files):
    path = top / "doc/data/ops-cpu.csv"
    head = "run,date,processor,loops,model,batch,operator,implementation,calls,ms,gflops,gbs".split(",")
    new = not path.exists()
    with open(path, "a", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        if new:
            w.writerow(head)
        for name in files:
            b = json.loads(pathlib.Path(name).read_text())
            front = [run, date, processor, loops, b["model"], b["batch"]]
            for o in b["ops"]:
                w.writerow(front + [o["op"], o["impl"], o["calls"]] + [f"{o[k]:.4g}" for k in ("ms", "gflops_per_s", "gb_per_s")])
            w.writerow(front + ["(step)", "", "", f"{b['ms_per_step']:.5g}", f"{b['gflops_per_s']:.4g}", ""])
            w.writerow(front + ["(peak)", "", "", "", f"{b['peak_gflops_per_s']:.4g}", f"{b['peak_gb_per_s']:.4g}"])


def made(comment):
    first, *more = comment.strip().split("\n")
    kind, _, argument = first.strip().partition(" ")
    maker = {"parts": parts, "race": race, "few": few, "steps": steps, "ops": ops, "newest": newest}.get(kind)
    if not maker:
        raise Wrong(f"no kind of table is called '{kind}'")
    listed = []
    for line in more:
        label, arrow, key = line.partition(" <- ")
        if not arrow:
            raise Wrong(f"'{line}' is no LABEL <- KEY")
        listed.append((label.strip(), key.strip()))
    return maker(argument.strip(), listed)


def main():
    if sys.argv[1:2] == ["--ops"] and len(sys.argv) > 6:
        return add_ops(*sys.argv[2:])
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    failed = count = 0
    for page in sorted((top / "doc").glob("*.md")):
        old = page.read_text()

        def replace(m):
            nonlocal count, failed
            count += 1
            place = f"{page.relative_to(top)}:{old.count(chr(10), 0, m.start()) + 1}"
            try:
                table = made(m.group(2))
            except Wrong as e:
                print(f"{place}: {e}", file=sys.stderr)
                failed += 1
                return m.group(0)
            if table != m.group(3) and sys.argv[1:]:
                print(f"{place}: the table is not what its data say; tests/bench/tables.py makes it anew", file=sys.stderr)
                failed += 1
            return m.group(1) + table + m.group(4)

        marks = re.findall(r"<!-- (?:table |end )", old)
        if marks != ["<!-- table ", "<!-- end "] * (len(marks) // 2):
            print(f"{page.relative_to(top)}: a table has no end, or an end no table", file=sys.stderr)
            failed += 1
            continue
        new = BLOCK.sub(replace, old)
        if new != old and not sys.argv[1:] and not failed:
            page.write_text(new)
    print(f"{count} tables, {failed} failed")
    sys.exit(failed > 0)


main()
