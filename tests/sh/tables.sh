#!/bin/sh
# Tables of pages say what their measurements say, and the check that tells does tell.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
command -v python3 >/dev/null || skip 'there is no python3'
cd "$work" || exit 99
expect 0 python3 "$CT_SRCDIR/tests/bench/tables.py" --check
prints '^[0-9]* tables, 0 failed'
# of copies that can be spoilt
mkdir -p doc tests/bench
cp -R "$CT_SRCDIR/doc/data" doc/data
cp "$CT_SRCDIR/doc/race.md" doc/race.md
cp "$CT_SRCDIR/tests/bench/tables.py" tests/bench/tables.py
chmod -R u+w doc tests
expect 0 python3 tests/bench/tables.py --check
sed 's/^as it was,none,1,1,33.87/as it was,none,1,1,43.87/' doc/data/race-parts.csv > new && mv new doc/data/race-parts.csv
expect 1 python3 tests/bench/tables.py --check
says 'doc/race.md:[0-9]*: the table is not what its data say'
prints ' tables, 1 failed'
expect 0 python3 tests/bench/tables.py
checks=$((checks + 1))
grep -q '^| as it was | 3 of 3 | 39\.2 (' doc/race.md || fail 'the mean is another'
expect 0 python3 tests/bench/tables.py --check
cp doc/race.md whole
while read -r wrong told; do
    sed "s/^as it was <- none/as it was <- $wrong/" whole > doc/race.md
    expect 1 python3 tests/bench/tables.py --check
    says "$told"
done <<'E2'
nothing race-parts.csv has no row with
none.of::this race-parts.csv has no row with
E2
sed 's/^as it was <- none/as it was/' whole > doc/race.md
expect 1 python3 tests/bench/tables.py
says "'as it was' is no LABEL <- KEY"
sed 's/^<!-- table parts as it was/<!-- table pasts as it was/' whole > doc/race.md
expect 1 python3 tests/bench/tables.py
says "no kind of table is called 'pasts'"
sed '0,/^<!-- end -->/s/^<!-- end -->//' whole > doc/race.md
expect 1 python3 tests/bench/tables.py --check
says 'a table has no end, or an end no table'
expect 1 python3 tests/bench/tables.py --chek
# what `bench` measured becomes data, and a page's table
cp whole doc/race.md
rm -f doc/data/ops-cpu.csv
"$captrain" bench textcnn-small --batch 4 --height 16 --width 24 --warmup 1 --steps 1 --threads 1 --backend cpu --ops --json --quiet > bench.json || fail 'bench'
expect 0 python3 tests/bench/tables.py --ops a 2026-01-01 'A Processor' loops bench.json
printf '%s\n' '<!-- table ops a' 'small <- textcnn-small' '-->' '<!-- end -->' > doc/new.md
expect 0 python3 tests/bench/tables.py
for row in '^| operator | implementation | small |' '^| conv2d | cpu\.[a-z0-9]* | [0-9.]*; [0-9.,]* G[FB].* [0-9]* % |' '^| \*\*step\*\* | | [0-9.]*; [0-9.,]* GFLOP/s |'; do
    checks=$((checks + 1))
    grep -q "$row" doc/new.md || fail "the page has no row '$row'"
done
expect 0 python3 tests/bench/tables.py --check
finish
