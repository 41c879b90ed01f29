#!/bin/sh
# The house rules that a compiler does not check: who may include whom, which calls live in one place only, text form.
# First the rules are run on a small bad tree and must find everything wrong in it; then on the sources.
set -u
src=${CT_SRCDIR:-.}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

# strip FILE...: the C sources without comments and without the contents of string literals (#include lines keep theirs),
# as FILE:LINE:TEXT. Line numbers stay.
strip() {
    awk '
    FNR == 1 { comment = 0 }
    {
        out = ""; line = $0; n = length(line); i = 1
        include = line ~ /^[ \t]*#[ \t]*include/
        while (i <= n) {
            two = substr(line, i, 2); c = substr(line, i, 1)
            if (comment) { if (two == "*/") { comment = 0; i += 2; out = out " " } else i++; continue }
            if (two == "/*") { comment = 1; i += 2; continue }
            if (two == "//") break
            if (!include && (c == "\"" || c == "\047")) {
                quote = c; out = out c; i++
                while (i <= n && substr(line, i, 1) != quote) i += substr(line, i, 1) == "\\" ? 2 : 1
                out = out quote; i++; continue
            }
            out = out c; i++
        }
        print FILENAME ":" FNR ":" out
    }' "$@"
}

# floors: reads strip's output; prints every include of a higher floor, of the wrong room, or of a library that belongs to
# one room. The floor table is the one of HACKING.md.
floors() {
    awk -F: '
    BEGIN {
        floor["base"] = 1
        floor["ops"] = 2; floor["formats"] = 2; floor["decode"] = 2
        floor["config"] = 3; floor["image"] = 3; floor["data"] = 4; floor["synth"] = 5
        floor["graph"] = 6; floor["models"] = 7; floor["exec"] = 8; floor["harness"] = 9; floor["measure"] = 10; floor["task"] = 11
        floor["program"] = 12; floor["session"] = 13; floor["weights"] = 14; floor["run"] = 15; floor["report"] = 15; floor["bench"] = 15
        floor["selftest"] = 15; floor["api"] = 16; floor["cli"] = 17
    }
    function room(path,   p) {
        sub(/^.*\/src\//, "", path); sub(/^src\//, "", path)
        split(path, p, "/"); return p[1]
    }
    function bad(why) { printf "%s:%s: %s: %s\n", $1, $2, why, inc }
    $3 ~ /^[ \t]*#[ \t]*include/ {
        inc = $3; sub(/^[^"<]*["<]/, "", inc); sub(/[">].*$/, "", inc)
        file = $1
        if (file !~ /(^|\/)(backends\/cuda|tests\/emulate|tests\/gpu)\// && inc ~ /^(cuda|cudnn|cublas|nccl|nvml|curand|cusparse|cusolver)[A-Za-z_0-9]*(\.h|\/)/)
            bad("a CUDA header outside backends/cuda")
        if (file !~ /(^|\/)backends\/cpu\// && inc ~ /^(cblas|omp|f77blas|lapacke?|openblas_config)\.h$/)
            bad("a header of BLAS or OpenMP outside backends/cpu")
        if (inc ~ /\.\.\//) bad("include paths start at src/ or at the top")
        if (file ~ /(^|\/)backends\//) {
            if (inc ~ /\// && inc !~ /^(base|ops|backends|sys)\// && (inc ~ /^(src|tests)\// || floor[room(inc)]))
                bad("a backend may include base/, ops/ and backends/ only")
        } else if (file ~ /(^|\/)src\/[a-z]+\//) {
            here = room(file); there = room(inc)
            if (!(here in floor)) { bad("room " here " is not in the floor table"); next }
            if (here == "cli") {
                if ((inc ~ /\// && (there in floor) && there != "cli" && there != "config") || inc ~ /^backends\//)
                    bad("cli may include captrain.h, cli/ and config/ only")
            } else if (inc ~ /^backends\//) {
                if (here == "harness" && inc == "backends/cpu/ref/ref.h") next # the specification that operators are checked against
                if (inc != "backends/backend.h") bad("the rooms of a backend are behind backends/backend.h")
                else if (floor[here] < floor["exec"]) bad("a backend is known from exec/ upwards")
            } else if ((there in floor) && inc ~ /\// && floor[there] > floor[here]) {
                bad("floor " floor[here] " (" here ") includes floor " floor[there] " (" there ")")
            }
        }
    }'
}

# calls: reads strip's output; prints calls that have one place in the house.
calls() {
    awk -F: '
    function call(names) { return text ~ ("(^|[^A-Za-z0-9_.>])(" names ")[ \t]*\\(") }
    function bad(why) { printf "%s:%s: %s\n", $1, $2, why }
    {
        file = $1; text = $0; sub(/^[^:]*:[^:]*:/, "", text)
        if (file ~ /(^|\/)tests\//) next
        if (file !~ /src\/base\/env\.c$/ && call("getenv|secure_getenv")) bad("getenv outside base/env.c")
        if (file !~ /(^|\/)src\/cli\// && call("exit|_exit|_Exit|quick_exit|abort")) bad("exit or abort outside src/cli")
        # The program stands on captrain.h alone and so has no ct_malloc().
        if (file !~ /src\/base\/alloc\.c$/ && file !~ /(^|\/)(src\/cli|backends\/cuda)\// &&
            call("malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf|vasprintf|aligned_alloc|posix_memalign"))
            bad("allocation outside base/alloc.c")
        if (file !~ /src\/base\/alloc\.c$/ && file !~ /(^|\/)src\/cli\// && call("free")) bad("free() outside base/alloc.c: ct_free()")
        # The progress bar is told where it is drawn; it and log lines keep out of the way of each other by ct_log_set_hooks().
        if (file !~ /(^|\/)src\/cli\// && file !~ /src\/base\/log\.c$/ && !call("ct_bar_begin") &&
            (call("printf|puts|putchar|perror") || text ~ /(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)/))
            bad("only src/cli and base/log.c write to the terminal")
        if (text ~ /^[ \t]*#[ \t]*if[ \t]+0([ \t]|$)/) bad("#if 0: version control keeps old code")
    }'
}

# text FILE...: tabs and blanks at line ends.
text() {
    awk '
    /\t/ { print FILENAME ":" FNR ": tab" }
    /[ \t\r]$/ { print FILENAME ":" FNR ": blank at the end of the line" }
    ' "$@"
}

# all TREE: every rule over a tree; prints what is wrong.
all() {
    (
        cd "$1" || exit 99
        find src backends tests -name '*.[ch]' ! -name '*.pb-c.[ch]' 2> /dev/null | LC_ALL=C sort > "$tmp/list"
        [ -s "$tmp/list" ] || { echo "no sources under $1"; exit 0; }
        # No name in the house has blanks.
        # shellcheck disable=SC2046
        set -- $(cat "$tmp/list")
        strip "$@" > "$tmp/stripped"
        floors < "$tmp/stripped"
        calls < "$tmp/stripped"
        text "$@"
    )
}

# ---- self-check: a tree in which every line marked BAD must be reported and no other ----
bad=$tmp/bad
mkdir -p "$bad/src/base" "$bad/src/data" "$bad/src/graph" "$bad/src/exec" "$bad/src/cli" "$bad/backends/cpu" "$bad/tests"
cat > "$bad/src/base/low.c" << 'EOF'
#include "config.h"
#include <stdlib.h>
#include "base/alloc.h"
#include "graph/graph.h" /* BAD */
#include "../graph/graph.h" /* BAD */
/* getenv("X"), malloc(1) and exit(0) in a comment are fine,
   also abort() on its second line */
static const char *s = "exit(1) /* in a string */ malloc(2)";
void f(void) { const char *v = getenv("HOME"); } /* BAD */
void g(void) { exit(1); } /* BAD */
void h(void) { abort(); } /* BAD */
void *i(void) { return malloc (3); } /* BAD */
void j(void *p) { free(p); ct_free(p); } /* BAD */
void k(void) { ct_malloc(3, "x"); at_exit(1); s->exit(2); }
void l(void) { printf("x"); } /* BAD */
void m(void) { fprintf(stderr, "x"); } /* BAD */
#if 0 /* BAD */
#endif
EOF
cat > "$bad/src/data/mid.c" << 'EOF'
#include "base/status.h"
#include "graph/graph.h" /* BAD */
#include "backends/backend.h" /* BAD */
#include <png.h>
#include <cblas.h> /* BAD */
#include <omp.h> /* BAD */
#include <cuda_runtime.h> /* BAD */
EOF
cat > "$bad/src/graph/high.c" << 'EOF'
#include "base/status.h"
#include "data/dataset.h"
#include "exec/exec.h" /* BAD */
EOF
cat > "$bad/src/exec/top.c" << 'EOF'
#include "backends/backend.h"
#include "graph/graph.h"
#include "backends/cpu/kern.h" /* BAD */
EOF
cat > "$bad/src/cli/main.c" << 'EOF'
#include "captrain.h"
#include "config/config.h"
#include "run/run.h" /* BAD */
int main(void) { printf("hello"); exit(0); }
EOF
cat > "$bad/backends/cpu/conv.c" << 'EOF'
#include <cblas.h>
#include <omp.h>
#include <sys/mman.h>
#include "base/status.h"
#include "ops/ops.h"
#include "backends/backend.h"
#include "exec/exec.h" /* BAD */
#include "graph/graph.h" /* BAD */
#include "run/run.h" /* BAD */
EOF
printf 'int a;\t/* BAD */\nint b; /* BAD */ \nint c;\n' > "$bad/tests/text.c"
(cd "$bad" && grep -rn BAD . | sed 's/^\.\///; s/^\([^:]*:[0-9]*\):.*/\1/' | LC_ALL=C sort -u) > "$tmp/want"
all "$bad" | sed 's/^\([^:]*:[0-9]*\):.*/\1/' | LC_ALL=C sort -u > "$tmp/got"
if ! cmp -s "$tmp/want" "$tmp/got"; then
    echo "floors.sh: the rules do not find what is wrong in the sample tree (< expected, > found):"
    diff "$tmp/want" "$tmp/got"
    exit 99
fi
echo "self-check: all $(wc -l < "$tmp/want") faults of the sample tree found, and nothing else"

# ---- the sources ----
all "$src" > "$tmp/found"
(cd "$src" && find src backends tests -name '*.[ch]' ! -name '*.pb-c.[ch]' -exec wc -l {} +) |
    awk '$2 != "total" && $1 > 700 { print "warning: " $2 " has " $1 " lines: too long to read in one sitting" }'
(cd "$src" && find src backends tests -name '*.[ch]' ! -name '*.pb-c.[ch]' -exec cat {} +) | LC_ALL=C.UTF-8 awk '
    length($0) > 120 { n++ }
    END { if (n) print "warning: " n " of " NR " lines are wider than 120 columns" }'
if [ -s "$tmp/found" ]; then
    cat "$tmp/found"
    echo "$(wc -l < "$tmp/found") breaches of the house rules"
    exit 1
fi
echo "$(wc -l < "$tmp/list") files keep the house rules"
