#!/bin/sh
# Hostile pickles and archives: each is refused with a word that says why, within 300 MB, nothing in it is run, and no model is made.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
python=$(command -v python3) || { echo "no python3, which makes the files"; exit 77; }

mkdir "$work/bad"
"$python" "$CT_SRCDIR/tests/pickle/hostile.py" "$work/bad" >"$work/rows" || exit 99
cat >"$work/run.py" <<'PY'
# One import of each file: what is wrong about it is printed. At most 20 s for one; times are told and decide nothing.
import os, subprocess, sys, time
captrain, work = sys.argv[1:]
model, ran = os.path.join(work, "model"), os.path.join(work, "bad", "ran")
most, longest, n, wrong = 0, 0, 0, 0
for row in open(os.path.join(work, "rows")):
    name, says = row.rstrip("\n").split("\t")
    err = open(os.path.join(work, "said"), "w+b")
    begin = time.monotonic()
    p = subprocess.Popen(["timeout", "20", captrain, "import-torch", os.path.join(work, "bad", name + ".pth"), "--model", "textcnn-small",
                          "--charset", "ab", "--length", "2", "--set", "data.height=16", "--set", "data.width=40", "--set",
                          "model.width=0.25", "--set", "model.hidden=8", "--out", model], stdin=subprocess.DEVNULL, stderr=err)
    _, status, used = os.wait4(p.pid, 0)
    longest, mb, n = max(longest, time.monotonic() - begin), used.ru_maxrss / 1024, n + 1
    most = max(most, mb)
    err.seek(0)
    said = err.read().decode(errors="replace")
    for what, bad in (("exit %d" % os.waitstatus_to_exitcode(status), os.waitstatus_to_exitcode(status) != 1),
                      ("does not say '%s'" % says, says not in said), ("a model was made", os.path.exists(model)),
                      ("something was run", os.path.exists(ran)), ("sanitizer report", "Sanitizer" in said or "runtime error" in said),
                      ("%d MB" % mb, mb > 300 and not os.environ.get("CT_QUICK"))):  # a sanitizer's own memory says nothing
        if bad:
            wrong += 1
            print("%s: %s: %s" % (name, what, said[:500]))
print("%d files, %d faults; at most %d MB, %.2f s for one" % (n, wrong, most, longest))
sys.exit(1 if wrong or n < 30 else 0)
PY
checks=$((checks + 1))
"$python" "$work/run.py" "$captrain" "$work" || fail 'see above'
# what is read by no model of the first: a storage whose checksum is wrong, refused when its tensor is wanted
expect 1 "$CT_BUILDDIR/tests/pickle/same" "$work/bad/crc-storage.pth"
says "the checksum of 'archive/data/0'"
finish
