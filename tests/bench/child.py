"""child.py OUT ERR COMMAND: runs a line for the shell with nothing between, its output in the files OUT and ERR, and prints its wall
time (s) and its largest resident set (kB) as wait4() tells them. Exit status 1 if it failed."""
import os
import sys
import time

flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
out, err = os.open(sys.argv[1], flags), os.open(sys.argv[2], flags)
start = time.monotonic()
pid = os.fork()
if pid == 0:
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.execvp("/bin/sh", ["sh", "-c", "exec " + sys.argv[3]])
_, status, usage = os.wait4(pid, 0)
print("%.6f %d" % (time.monotonic() - start, usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) != 0)
