#!/bin/sh
# The house rules that a compiler does not check: who may include and call whom, which calls live in one place only, which words
# belong to one task, text form, sizes.
#   tests/floors.sh            the rules are first run on a small bad tree and must find everything wrong in it; then on the sources
#   tests/floors.sh --matrix   who includes whom: x does, . may, ! does and may not
#   tests/floors.sh --shrink   takes what is mended out of tests/floors.list, lowers its numbers to today's, adds nothing
# Which room may include which is read out of the table of HACKING.md. tests/floors.list names what does not keep the rules yet,
# and the circles of files that stay, with their reasons.
set -u
src=${CT_SRCDIR:-.}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

MOST_FUNCTION=70 # lines, signature and braces included
MOST_ROOM=4000   # lines of a room of src
MOST_WIDTH=120   # columns
MOST_FILE=700    # lines; more is a warning

# sources: every source file of the tree one stands in; what the build or a tool makes is none.
sources() {
    find src backends tests -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \
        -o -name '*.inc' -o -name '*.cpp' -o -name '*.cc' -o -name '*.hpp' \) \
        ! -name '*.pb-c.[ch]' ! -path src/config.h ! -path src/config/quickstart.c 2> /dev/null | LC_ALL=C sort
}

# strip FILE...: the sources without comments and without the contents of string literals (#include lines keep theirs),
# as FILE:LINE:TEXT. Line numbers stay.
strip() {
    awk '
    FNR == 1 { comment = 0 }
    !comment && !/["\047]|\/[*\/]/ { print FILENAME ":" FNR ":" $0; next }
    {
        out = ""; line = $0; n = length(line); i = 1
        include = line ~ /^[ \t]*#[ \t]*include/
        while (i <= n) {
            two = substr(line, i, 2); c = substr(line, i, 1)
            if (comment) {
                if (!(k = index(substr(line, i), "*/"))) break
                comment = 0; i += k + 1; out = out " "; continue
            }
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

# table: the rooms of HACKING.md from low to high, as ROOM:LINE:ROOMS THAT IT MAY INCLUDE. `src/` is left out of names.
table() {
    awk -F'|' '/^\| `(src|backends|tests)[^`]*\/` *\|/ {
        room = $2; gsub(/[ `]/, "", room); sub(/^src\//, "", room); sub(/\/$/, "", room)
        may = $4; gsub(/[^a-z_.\/ ]/, "", may)
        print room ":" FNR ":" may
    }' HACKING.md
}

# What the rules below print: KIND:KEY:VALUE:PLACE:MESSAGE. KIND and KEY are what tests/floors.list has to name for it to pass, VALUE
# a number that the list bounds; with KIND "-" nothing helps.

# The rooms of files, shared by the awk programs that follow: may[A, B], room_of(PATH FROM THE TOP).
rooms_awk='
    function load_table(file,   line, f, i, n, w) {
        while ((getline line < file) > 0) {
            split(line, f, ":")
            room[++rooms] = f[1]; order[f[1]] = rooms
            n = split(f[3], w, " ")
            for (i = 1; i <= n; i++) {
                may[f[1], w[i]] = 1
                if (check_table && w[i] != "all" && w[i] != "captrain.h" && !(w[i] in order && order[w[i]] < rooms))
                    print "-:-:0:HACKING.md:" f[2] ":" f[1] " may include " w[i] ", which does not stand below it in the table"
            }
            top = f[1]; sub(/\/.*/, "", top); tops[top] = 1
        }
    }
    function room_of(path,   dir) {
        sub(/^src\//, "", path)
        dir = path
        if (!sub(/\/[^\/]*$/, "", dir)) return "src"
        for (;;) {
            if (dir in order || dir ~ /^task\/[^\/]+$/) return dir
            if (!sub(/\/[^\/]*$/, "", dir)) return dir
        }
    }
    function allowed(file, here, there) {
        if (here == there || (here, there) in may || (here, "all") in may) return 1
        return file == "src/task/registry.c" && there ~ /^task\// # the one list of tasks
    }'

# includes: reads strip's output; prints includes that the table does not allow, or of a library that belongs to one room.
includes() {
    awk -F: -v table="$tmp/table" "$rooms_awk"'
    BEGIN { check_table = 1; load_table(table) }
    function bad(why) { print "-:-:0:" $1 ":" $2 ":" why ": " inc }
    $3 ~ /^[ \t]*#[ \t]*include/ {
        inc = $3; sub(/^[^"<]*["<]/, "", inc); sub(/[">].*$/, "", inc)
        file = $1; here = room_of(file)
        if (here != "src" && !(here in order)) {
            if (!(here in told)) bad("no room " here " in the table of HACKING.md")
            told[here] = 1
            next
        }
        if (here !~ /^(backends\/cuda|tests)/ &&
            inc ~ /^(cuda|cudnn|cublas|nccl|nvml|curand|cusparse|cusolver)[A-Za-z_0-9]*(\.h|\/)/)
            bad("a CUDA header outside backends/cuda")
        if (here != "backends/mpi" && inc ~ /^mpi[-.a-z]*\.h$/) bad("a header of MPI outside backends/mpi")
        if (here !~ /^backends\/cpu/ && inc ~ /^(cblas|omp|f77blas|lapacke?|openblas_config)\.h$/)
            bad("a header of BLAS or OpenMP outside backends/cpu")
        if (inc ~ /\.\.\// || inc ~ /^src\//) bad("include paths start at src/ or at the top")
        first = inc; sub(/\/.*/, "", first)
        if (inc !~ /\// || !(first in tops) || inc ~ /\.\.\//) next
        there = room_of(inc)
        if (here == "src" || !allowed(file, here, there))
            print "rooms:" here " " there ":1:" file ":" $2 ":" here " may not include " there ": " inc
    }'
}

# calls: reads strip's output; prints calls that have one place in the house.
calls() {
    awk -F: '
    function call(names) { return text ~ ("(^|[^A-Za-z0-9_.>])(" names ")[ \t]*\\(") }
    function bad(why) { print "-:-:0:" $1 ":" $2 ":" why }
    {
        file = $1; text = $0; sub(/^[^:]*:[^:]*:/, "", text)
        if (file ~ /^tests\//) next
        if (file !~ /src\/base\/env\.c$/ && call("getenv|secure_getenv")) bad("getenv outside base/env.c")
        if (file !~ /^src\/cli\// && call("exit|_exit|_Exit|quick_exit|abort")) bad("exit or abort outside src/cli")
        # The program stands on captrain.h alone and so has no ct_malloc().
        if (file !~ /src\/base\/alloc\.c$/ && file !~ /^(src\/cli|backends\/cuda)\// &&
            call("malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf|vasprintf|aligned_alloc|posix_memalign"))
            bad("allocation outside base/alloc.c")
        if (file !~ /src\/base\/alloc\.c$/ && file !~ /^src\/cli\// && call("free")) bad("free() outside base/alloc.c: ct_free()")
        # The progress bar is told where it is drawn; it and log lines keep out of the way of each other by ct_log_set_hooks().
        if (file !~ /^src\/cli\// && file !~ /src\/base\/log\.c$/ && !call("ct_bar_begin") &&
            (call("printf|puts|putchar|perror") || text ~ /(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)/))
            bad("only src/cli and base/log.c write to the terminal")
        if (text ~ /^[ \t]*#[ \t]*if[ \t]+0([ \t]|$)/) bad("#if 0: version control keeps old code")
    }'
}

# circles: reads strip's output; files of src that use functions or data of each other in a circle, headers that include each
# other in one, and uses that the table of rooms does not allow whatever header declares them.
circles() {
    awk -F: -v table="$tmp/table" "$rooms_awk"'
    BEGIN { load_table(table) }
    function edge(from, to, what) {
        if ((from, to) in tie) {
            if (!index(" " tie[from, to] " ", " " what " ") && ++ties[from, to] < 5) tie[from, to] = tie[from, to] " " what
        } else { tie[from, to] = what; next_of[from] = next_of[from] " " to; nodes[from] = nodes[to] = 1 }
    }
    function define(name) { if (name in home && home[name] != $1) twice[name] = 1; home[name] = $1 }
    $1 !~ /^src\// { next }
    {
        text = $0; sub(/^[^:]*:[^:]*:/, "", text)
        if (text ~ /^[ \t]*#/) {
            if (text ~ /^[ \t]*#[ \t]*include/ && $1 ~ /\.h$/) {
                inc = text; sub(/^[^"<]*["<]/, "", inc); sub(/[">].*$/, "", inc)
                if (inc ~ /\//) edge($1, "src/" inc, "#include")
            }
            next
        }
        if ($1 == "src/captrain.h" && text ~ /^[a-z].*\(/) {
            name = text; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
            public[name] = 1
        }
        if ($1 !~ /\.c$/) next
        body[++lines] = text; file[lines] = $1; at[lines] = $2
        # What stands in the first column begins a definition: NAME( of a function, NAME = or NAME[] = of data.
        if (text ~ /^[A-Za-z_]/) {
            name = ""
            if (text !~ /^(static|typedef|extern|enum|union)[ \t]/) {
                name = text
                if (text ~ /^[^=]*\(/) { sub(/[ \t]*\(.*/, "", name); function_ = 1 }
                else if (text ~ /=/) { sub(/[ \t]*(\[[^=]*)?=.*/, "", name); function_ = 0 }
                else name = ""
                sub(/^.*[ \t*]/, "", name)
                if (name != "" && !function_) { define(name); name = "" }
            }
        }
        if (name != "" && (text ~ /^\{/ || text ~ /\)[ \t]*\{/)) { define(name); name = "" }
        else if (name != "" && text ~ /;[ \t]*$/) name = ""
    }
    END {
        for (i = 1; i <= lines; i++) {
            n = split(body[i], word, /[^A-Za-z_0-9]+/)
            for (k = 1; k <= n; k++) {
                w = word[k]
                if (!(w in home) || w in twice || home[w] == file[i]) continue
                edge(file[i], home[w], w)
                a = room_of(file[i]); b = room_of(home[w])
                if (w in public && (a, "captrain.h") in may) continue
                if (!allowed(file[i], a, b) && !((file[i], w) in said)) {
                    said[file[i], w] = 1
                    print "rooms:" a " " b ":1:" file[i] ":" at[i] ":" a " may not use " b ": " w " of " home[w]
                }
            }
        }
        for (v in nodes) { # what can be reached from v
            n = split(next_of[v], queue, " ")
            for (k = 1; k <= n; k++) {
                if ((v, queue[k]) in reach) continue
                reach[v, queue[k]] = 1
                m = split(next_of[queue[k]], more, " ")
                for (j = 1; j <= m; j++) if (!((v, more[j]) in reach)) queue[++n] = more[j]
            }
        }
        for (v in nodes) if ((v, v) in reach) {
            n = 0
            for (u in nodes) if ((v, u) in reach && (u, v) in reach) {
                for (k = n++; k > 0 && set[k - 1] > u; k--) set[k] = set[k - 1]
                set[k] = u
            }
            if (set[0] != v) continue # told by its first file
            key = v; why = ""
            for (k = 1; k < n; k++) key = key " " set[k]
            for (k = 0; k < n; k++) for (j = 0; j < n; j++) if (k != j && (set[k], set[j]) in tie)
                why = why "; " set[k] " -> " set[j] " (" tie[set[k], set[j]] ")"
            print "circle:" key ":0:" v ":0:a circle of files" why
        }
    }'
}

# words FILE...: words of the text task outside it, its tests and the tables of keys, once a line that has one.
words() {
    # shellcheck disable=SC2046
    set -- $(printf '%s\n' "$@" |
        grep -Ev '^(tests/|src/task/text/|src/config/(keys_[a-z]*|check_text|schema)\.[ch]$|src/config/config\.h$)')
    [ $# = 0 ] || awk '
    tolower($0) ~ /charset|string_accuracy|char_accuracy/ { n[FILENAME]++; line[FILENAME] = FNR }
    END {
        for (f in n)
            print "word:" f ":" n[f] ":" f ":" line[f] ":" n[f] " lines say charset, string_accuracy or char_accuracy outside src/task/text"
    }' "$@"
}

# names FILE...: names of tasks where files belong to none: outside their rooms, the list of tasks, the models, the tables of
# keys and the tests. A text may be anybody's.
names() {
    awk '
    BEGIN {
        for (i = 1; i < ARGC; i++)
            if (split(ARGV[i], part, "/") > 3 && part[1] "/" part[2] == "src/task" && part[3] != "text") task[part[3]] = 1
    }
    FILENAME ~ /^(tests|src\/models|src\/config)\// || FILENAME == "src/task/registry.c" { nextfile }
    {
        line = tolower($0)
        for (t in task)
            if (index(line, t) && index(FILENAME, "src/task/" t "/") != 1)
                print "-:-:0:" FILENAME ":" FNR ":the name of a task, " t ", is for its own room"
    }' "$@"
}

# text FILE...: tabs, blanks at line ends, long functions; lines that are too wide in rooms that are not listed.
text() {
    LC_ALL=C awk -v most="$MOST_FUNCTION" -v width="$MOST_WIDTH" -v table="$tmp/table" "$rooms_awk"'
    BEGIN { load_table(table) }
    function bad(why) { print "-:-:0:" FILENAME ":" FNR ":" why }
    FNR == 1 { inside = 0; begin = 0 }
    /\t/ { bad("tab") }
    /[ \t\r]$/ { bad("blank at the end of the line") }
    length($0) > width {
        s = $0; gsub(/[\200-\277]/, "", s) # characters, not bytes
        if (length(s) > width) print "wide:" room_of(FILENAME) ":0:" FILENAME ":" FNR ":wider than " width " columns"
    }
    /^[A-Za-z_].*\(/ && !inside {
        begin = FNR
        name = $0; sub(/^START_TEST\(/, "", name); sub(/[()].*/, "", name); sub(/.*[ *]/, "", name)
    }
    /^\{/ { inside = 1 }
    /^\}/ {
        if (inside && begin && FNR - begin + 1 > most)
            print "long:" FILENAME " " name ":" FNR - begin + 1 ":" FILENAME ":" begin ":" name "() has " FNR - begin + 1 " lines"
        inside = 0; begin = 0
    }' "$@"
}

# tree: rooms that are too large, that are no row of the table, have no room.mk that begins with what lives there; rows without a
# room, and files that HACKING.md names and that are not there.
tree() {
    grep -no '`[a-z_]*/[A-Za-z_/.]*\.[a-z]*`' HACKING.md | tr -d '`' | while IFS=: read -r line path; do
        [ -e "$path" ] || [ -e "src/$path" ] || echo "absent:$path:0:HACKING.md:$line:there is no $path"
    done
    find src -mindepth 1 -maxdepth 1 -type d | LC_ALL=C sort | while read -r dir; do
        room=${dir#src/}
        grep -q "^$room:" "$tmp/table" || echo "-:-:0:$dir:0:no room $room in the table of HACKING.md"
        head -n 1 "$dir/room.mk" 2> /dev/null | grep -q '^# .*[.:]' ||
            echo "-:-:0:$dir/room.mk:1:has no first comment that says what lives there"
    done
    cut -d: -f1 "$tmp/table" | while read -r room; do
        case $room in backends* | tests) dir=$room ;; *) dir=src/$room ;; esac
        [ -d "$dir" ] || echo "absent:$room:0:HACKING.md:0:there is no $dir"
    done
    xargs wc -l < "$tmp/sources" | awk -v most="$MOST_ROOM" -v table="$tmp/table" "$rooms_awk"'
    BEGIN { load_table(table) }
    $2 ~ /^src\// { n[room_of($2)] += $1 }
    END { for (r in n) if (n[r] > most) print "room:" r ":" n[r] ":src/" r ":0:the room has " n[r] " lines" }'
}

# all TREE: every rule over a tree; what is wrong, as PLACE:MESSAGE, is in $tmp/found. List and table are the tree's own.
# With $shrink set, the list is written anew.
shrink=
all() {
    (
        cd "$1" || exit 99
        sources > "$tmp/sources"
        [ -s "$tmp/sources" ] || { echo "no sources under $1"; exit 0; }
        table > "$tmp/table"
        # No name in the house has blanks.
        # shellcheck disable=SC2046
        set -- $(cat "$tmp/sources")
        strip "$@" > "$tmp/stripped"
        {
            includes < "$tmp/stripped"
            calls < "$tmp/stripped"
            circles < "$tmp/stripped"
            words "$@"
            names "$@"
            text "$@"
            tree
        } > "$tmp/raw"
        [ -f tests/floors.list ] || : > "$tmp/empty.list"
        list=tests/floors.list
        [ -f "$list" ] || list=$tmp/empty.list
        # A row of the list: KIND KEY... [NUMBER] [# why]. What it names passes, up to the number; it must still be there.
        awk -v list="$list" -v out="${shrink:+$tmp/list}" '
        BEGIN {
            while ((getline line < list) > 0) {
                row[++rows] = line
                why = line; if (!sub(/^[^#]*#[ ]*/, "", why)) why = ""
                sub(/[ ]*#.*/, "", line)
                if (line == "") continue
                n = split(line, w, " "); id = w[1] ":"
                bound = 0
                if (w[1] ~ /^(rooms|word|long|room)$/) bound = w[n--]
                for (i = 2; i <= n; i++) id = id (i > 2 ? " " : "") w[i]
                listed[id] = rows; most[id] = bound
                if (w[1] ~ /^(rooms|circle|absent)$/ && why == "")
                    print list ":" rows ":" w[1] " needs a word that says why: # ..."
            }
        }
        {
            split($0, f, ":"); key[NR] = f[1] ":" f[2]
            if (f[1] == "circle") { # all in one folder: "circle FOLDER/" stands for it
                n = split(f[2], w, " "); dir = w[1]; sub(/[^\/]*$/, "", dir)
                for (i = 2; i <= n; i++) { other = w[i]; sub(/[^\/]*$/, "", other); if (other != dir) dir = "" }
                if (dir != "" && ("circle:" dir) in listed) key[NR] = "circle:" dir
            }
            sum[key[NR]] += f[3]; place[NR] = $0; sub(/^[^:]*:[^:]*:[^:]*:/, "", place[NR])
        }
        END {
            for (i = 1; i <= NR; i++) if (!(key[i] in listed) || sum[key[i]] > most[key[i]] + 0) print place[i]
            for (k in listed) {
                r = listed[k]
                if (!(k in sum)) gone[r] = "is mended: take it out"
                else if (sum[k] < most[k] + 0) less[r] = sum[k]
            }
            if (!out) {
                for (r in gone) print list ":" r ":" gone[r] " (tests/floors.sh --shrink): " row[r]
                for (r in less) print list ":" r ":is " less[r] " now (tests/floors.sh --shrink): " row[r]
            } else for (r = 1; r <= rows; r++) if (!(r in gone)) {
                if (r in less) {
                    why = row[r]; if (!sub(/^[^#]*#/, "  #", why)) why = ""
                    sub(/[ ]*(#.*)?$/, "", row[r]); sub(/[0-9]+$/, less[r], row[r]); row[r] = row[r] why
                }
                print row[r] > out
            }
        }' "$tmp/raw" | LC_ALL=C sort -t: -k1,1 -k2,2n
    )
}

# matrix: reads strip's output; the table with what is used of it.
matrix() {
    awk -F: -v table="$tmp/table" "$rooms_awk"'
    BEGIN { load_table(table) }
    $3 ~ /^[ \t]*#[ \t]*include/ {
        inc = $3; sub(/^[^"<]*["<]/, "", inc); sub(/[">].*$/, "", inc)
        first = inc; sub(/\/.*/, "", first)
        if (inc ~ /\// && first in tops) used[room_of($1), room_of(inc)] = 1
    }
    END {
        for (i = 1; i <= rooms; i++) {
            if (room[i] == "tests") continue
            line = sprintf("%3d %-16s", i, room[i])
            for (k = 1; k <= rooms; k++) {
                if (room[k] == "tests") continue
                u = (room[i], room[k]) in used; m = allowed("", room[i], room[k])
                line = line " " (i == k ? "#" : u ? (m ? "x" : "!") : m ? "." : " ") " "
            }
            sub(/ *$/, "", line); print line
        }
    }'
}

case ${1:-} in
--matrix)
    cd "$src" || exit 99
    table > "$tmp/table"
    # shellcheck disable=SC2046
    strip $(sources) | matrix
    exit 0
    ;;
--shrink)
    shrink=1
    all "$src" > /dev/null
    cp "$tmp/list" "$src/tests/floors.list"
    exit
    ;;
esac

# ---- self-check: a tree in which every line marked BAD must be reported and no other ----
bad=$tmp/bad
mkdir -p "$bad/tests/sh" "$bad/backends/cpu" "$bad/backends/cuda"
for room in base data graph exec task task/text session cli wide; do mkdir -p "$bad/src/$room"; done
for room in base data graph exec task session cli wide; do echo "# What lives here." > "$bad/src/$room/room.mk"; done
cat > "$bad/HACKING.md" << 'EOF2'
| room | holds | may include |
|---|---|---|
| `src/base/` | what all stand on | |
| `src/data/` | | base |
| `src/graph/` | | base, session BAD |
| `backends/` | the door | base |
| `backends/cpu/` | | base, backends |
| `backends/cuda/` | | base, backends |
| `src/exec/` | | base, graph, backends |
| `src/task/` | | base, data |
| `src/session/` | | base, graph, task |
| `src/task/text/` | | base, data, task |
| `src/cli/` | | captrain.h base |
| `src/wide/` | | base |
| `src/absent/` | | base |
| `tests/` | | all |
`session/session.c` and `src/cli/main.c` are there;
`session/nothing.c` is not. BAD
EOF2
cat > "$bad/src/base/low.c" << 'EOF2'
#include "config.h"
#include <stdlib.h>
#include "base/alloc.h"
#include "graph/graph.h" /* BAD */
#include "../graph/graph.h" /* BAD */
#include "tests/ct_check.h" /* BAD */
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
void n(void) { ct_graph_check(s); } /* BAD */
void o(void) { ct_public(); } /* BAD */
EOF2
cat > "$bad/src/data/mid.c" << 'EOF2'
#include "base/status.h"
#include "graph/graph.h" /* BAD */
#include "backends/backend.h" /* BAD */
#include <png.h>
#include <cblas.h> /* BAD */
#include <omp.h> /* BAD */
#include <cuda_runtime.h> /* BAD */
#include <mpi.h> /* BAD */
#include <sys/stat.h>
int ct_mid(void)
{
    return 1; /* Charset, of which only the last line is told */
} /* BAD string_accuracy */
EOF2
cat > "$bad/src/data/ops.def" << 'EOF2'
#include "exec/exec.h" /* BAD */
EOF2
cat > "$bad/src/graph/high.c" << 'EOF2'
#include "base/status.h"
#include "exec/exec.h" /* BAD */
int ct_graph_check(const char *s)
{
    return ct_low_of(s);
}
EOF2
printf '#include "graph/b.h"\n' > "$bad/src/graph/a.h"
printf '#include "graph/a.h"\n' > "$bad/src/graph/b.h"
cat > "$bad/src/graph/low.c" << 'EOF2'
int ct_low_of(const char *s)
{
    return s ? ct_graph_check(s + 1) : 0;
}
EOF2
cat > "$bad/src/exec/top.c" << 'EOF2'
#include "backends/backend.h"
#include "graph/graph.h"
#include "backends/cpu/kern.h" /* BAD */
EOF2
cat > "$bad/src/task/registry.c" << 'EOF2'
#include "task/text/text.h"
const ct_task *const tasks[] = { &ct_task_text };
EOF2
cat > "$bad/src/task/task.c" << 'EOF2'
#include "task/text/text.h" /* BAD */
const char *name(void) { return ct_task_text.name; } /* BAD */
EOF2
cat > "$bad/src/task/text/text.c" << 'EOF2'
#include "task/task.h"
#include "session/session.h" /* BAD */
/* a charset is at home here */
const ct_task ct_task_text = { "text" };
EOF2
mkdir -p "$bad/src/task/slider"
cat > "$bad/src/task/slider/slider.c" << 'EOF2'
#include "base/status.h" /* BAD: the table has no such room */
#include "task/task.h"
EOF2
cat > "$bad/src/session/session.c" << 'EOF2'
#include "task/task.h"
#include "data/mid.h"
int string_accuracy;
int slider_steps; /* BAD */
int longer(int a,
           int b)
{
EOF2
awk 'BEGIN {
    for (i = 0; i < 66; i++) print "    a += b;"
    print "}\nint too_long(int a) /* BAD */\n{"
    for (i = 0; i < 68; i++) print "    a++;"
    print "}"
}' >> "$bad/src/session/session.c"
cat > "$bad/src/cli/main.c" << 'EOF2'
#include "captrain.h"
#include "base/text.h"
#include "exec/exec.h" /* BAD */
int main(void) { printf("hello"); ct_public(); exit(0); }
EOF2
printf 'int ct_public(void);\n' > "$bad/src/captrain.h"
printf 'int ct_public(void)\n{\n    return 0;\n}\n' > "$bad/src/exec/public.c"
awk 'BEGIN { for (i = 0; i < 1001; i++) print "int a" i ";" }' > "$bad/src/wide/w.cpp"
for i in 1 2 3; do cp "$bad/src/wide/w.cpp" "$bad/src/wide/w$i.h"; done
cat > "$bad/backends/cpu/conv.c" << 'EOF2'
#include <cblas.h>
#include <omp.h>
#include <sys/mman.h>
#include "base/status.h"
#include "backends/backend.h"
#include "exec/exec.h" /* BAD */
#include "graph/graph.h" /* BAD */
#include "backends/cuda/dev.cuh" /* BAD */
EOF2
cat > "$bad/backends/cuda/conv.cu" << 'EOF2'
#include <cuda_runtime.h>
#include "base/status.h"
#include "tests/emulate/emulate.h" /* BAD */
EOF2
printf '#include "backends/cpu/conv.h" /* BAD */\n' > "$bad/backends/cuda/dev.cuh"
printf '#include "exec/exec.h"\nint a;\t/* BAD */\nint b; /* BAD */ \nint c;\n' > "$bad/tests/text.c"
awk 'BEGIN { s = "int d; /* BAD"; while (length(s) < 118) s = s "."; print s "*/x" }' >> "$bad/tests/text.c"
cat > "$bad/tests/floors.list" << 'EOF2'
# What does not keep the rules yet.
rooms session cli 3 # BAD: is not there
rooms session data 1
word src/session/session.c 2
EOF2
{
    (cd "$bad" && grep -rn BAD . | sed 's/^\.\///; s/^\([^:]*:[0-9]*\):.*/\1/')
    # What has no line to mark: no room.mk, a row without a room, circles, size; of the list the row without a reason, the
    # number that is too high.
    printf '%s\n' HACKING.md:0 src/graph/a.h:0 src/graph/high.c:0 src/wide:0 tests/floors.list:3 tests/floors.list:4
} | LC_ALL=C sort -u > "$tmp/want"
all "$bad" | sed 's/^\([^:]*:[0-9]*\):.*/\1/' | LC_ALL=C sort -u > "$tmp/got"
if ! cmp -s "$tmp/want" "$tmp/got"; then
    echo "floors.sh: the rules do not find what is wrong in the sample tree (< expected, > found):"
    diff "$tmp/want" "$tmp/got"
    exit 99
fi
shrink=1
all "$bad" > /dev/null
shrink=
printf '%s\n' '# What does not keep the rules yet.' 'rooms session data 1' 'word src/session/session.c 1' > "$tmp/want.list"
if ! cmp -s "$tmp/want.list" "$tmp/list"; then
    echo "floors.sh --shrink: the list of the sample tree is not what is left of it (< expected, > written):"
    diff "$tmp/want.list" "$tmp/list"
    exit 99
fi
echo "self-check: all $(wc -l < "$tmp/want") faults of the sample tree found, and nothing else"

# ---- the sources ----
all "$src" > "$tmp/found"
(cd "$src" && xargs wc -l < "$tmp/sources") |
    awk -v most="$MOST_FILE" '$2 != "total" && $1 > most { print "warning: " $2 " has " $1 " lines: too long to read in one sitting" }'
if [ -s "$tmp/found" ]; then
    cat "$tmp/found"
    echo "$(wc -l < "$tmp/found") breaches of the house rules"
    exit 1
fi
echo "$(wc -l < "$tmp/sources") files keep the house rules; tests/floors.list has $(grep -c '^[a-z]' "$src/tests/floors.list") exceptions"
