#!/bin/sh
# predict in scripts: lines as they come, names and pictures on standard input, readers that go, pictures that are rejected.
# 10,000 pictures go through the pipe into head with CT_LONG=1, 640 without.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
model=$CT_SRCDIR/tests/old/0.1/run-cnn
pictures=$CT_SRCDIR/tests/old/0.1/pictures
copies=54
[ -n "${CT_LONG:-}" ] && copies=834
i=0
while [ $i -lt $copies ]; do
    for f in "$pictures"/*.png; do printf '%s\n' "$f"; done
    i=$((i + 1))
done >"$work/names"
count=$(wc -l <"$work/names" | tr -d ' ')

# same WHAT A B
same() {
    checks=$((checks + 1))
    cmp -s "$2" "$3" || fail "$1: $2 and $3 differ"
}
# holds FILE LINES
holds() {
    checks=$((checks + 1))
    [ "$(wc -l <"$1" | tr -d ' ')" -eq "$2" ] || fail "$1 has $(wc -l <"$1") lines instead of $2"
}

# --- all lines, in order; what --json and plain output say, too ---
"$captrain" predict "$model" - --jsonl --threads 1 <"$work/names" >"$work/lines" 2>"$work/err" || fail "exit $?"
holds "$work/lines" "$count"
sed 's/^{"file":"\(.*\)","text":.*/\1/' "$work/lines" >"$work/order"
same "order" "$work/order" "$work/names"
checks=$((checks + 1))
[ ! -s "$work/err" ] || fail "noise"
expect 0 "$captrain" predict "$model" "$pictures" --jsonl --threads 1
head -12 "$work/lines" | sed 's/"confidence.*//' >"$work/a"
sed 's/"confidence.*//' "$work/out" >"$work/b"
same "folder and names" "$work/a" "$work/b"
expect 0 "$captrain" predict "$model" "$pictures" --threads 1
cut -f 2 "$work/out" >"$work/a"
sed 's/.*"text":"\([^"]*\)".*/\1/' "$work/b" >"$work/c"
same "texts, plain and lines" "$work/a" "$work/c"

# --- a reader that goes: three lines, no noise, also where the caller has SIGPIPE ignored ---
for ignored in '' PIPE; do
    # shellcheck disable=SC2086
    ( [ -z "$ignored" ] || trap '' PIPE
      "$captrain" predict "$model" - --jsonl --threads 1 2>"$work/err" <"$work/names"
      echo $? >"$work/code" ) | head -3 >"$work/out"
    holds "$work/out" 3
    checks=$((checks + 2))
    [ ! -s "$work/err" ] || fail "noise behind head (SIGPIPE ignored: '$ignored')"
    # all may have been written before head went
    case $(cat "$work/code") in 0|141) ;; *) fail "exit $(cat "$work/code") behind head" ;; esac
done
checks=$((checks + 1))
[ -n "${CT_QUICK:-}" ] || [ "$(cat "$work/code")" = 141 ] || [ "$count" -lt 10000 ] || fail "was not ended by SIGPIPE"

# --- a dialogue: a line is answered before the next is written ---
mkfifo "$work/to" "$work/from"
"$captrain" predict "$model" - --jsonl --threads 1 <"$work/to" >"$work/from" 2>"$work/err" &
reader=$!
exec 7>"$work/to" 8<"$work/from"
for f in "$pictures/00_000006.png" "$work/absent.png" "$pictures/11_000011.png"; do
    echo "$f" >&7
    checks=$((checks + 1))
    IFS= read -r line <&8
    case $line in "{\"file\":\"$f\","*) ;; *) fail "answer to $f: $line" ;; esac
done
exec 7>&- 8<&-
wait $reader
code=$?
checks=$((checks + 1))
[ $code -eq 1 ] || fail "exit code of a dialogue with a bad name"
says '^captrain: 1 of 3 pictures could not be read$'

# --- bad ones are lines, the others are read; empty lines are none ---
printf '%s\n\n%s\r\n%s' "$pictures/00_000006.png" "$work/names" "$pictures/11_000011.png" >"$work/mixed"
"$captrain" predict "$model" - "$pictures/00_000007.png" --jsonl --threads 1 <"$work/mixed" >"$work/out" 2>"$work/err"
code=$?
checks=$((checks + 1))
[ $code -eq 1 ] || fail "exit code with a bad file"
holds "$work/out" 4
prints '"error":"cannot open'
printf 'a\0b\n' | "$captrain" predict "$model" - --jsonl >"$work/out" 2>"$work/err"
says 'standard input:1: has a zero byte.*not -print0'
head -c 100000 /dev/zero | tr '\0' x | "$captrain" predict "$model" - --jsonl >"$work/out" 2>"$work/err"
says 'standard input:1: more than 65536 bytes without an end of line'
: | "$captrain" predict "$model" - --jsonl >"$work/out" 2>"$work/err" || fail "an empty list is no error"
holds "$work/out" 0

# --- one picture ---
one=$pictures/00_000006.png
"$captrain" predict "$model" - --jsonl --threads 1 <"$one" >"$work/out" 2>"$work/err" || fail "a picture on standard input"
"$captrain" predict "$model" - --threads 1 <"$one" >"$work/a"
"$captrain" predict "$model" "$one" --threads 1 | sed "s|^[^	]*|-|" >"$work/b"
same "a picture's bytes and its name" "$work/a" "$work/b"
head -c 500 "$one" | "$captrain" predict "$model" - --jsonl --threads 1 >"$work/out" 2>"$work/err"
prints '^{"file":"-","error":"damaged PNG'

# --- rejected ---
expect 0 "$captrain" predict "$model" "$pictures" --jsonl --threads 1 --reject-below 0.6
says '^[0-9]* of 12 pictures are rejected: their confidence is below 0.6$'
checks=$((checks + 1))
awk -F '"confidence":' '{ split($2, c, ","); low = c[1] < 0.6; marked = /"text":null/ && /"rejected":true/; if (low != marked) bad++; if (!low && !/"rejected":false/) bad++; n += low }
    END { exit bad || n == 0 || n == NR }' "$work/out" || fail "what is rejected is not what is below"
expect 0 "$captrain" predict "$model" "$pictures" --threads 1 --reject-below 0.6
prints "	.*	0\.[0-5][0-9]*	rejected$"
# --- only what may be: the same text with both decoders where there is one answer, errors that say why ---
ctc=$CT_SRCDIR/tests/old/0.1/run-crnn
for decoder in greedy beam; do
    expect 0 "$captrain" predict "$ctc" "$pictures" --jsonl --threads 1 --decoder $decoder --charset 1 --length 2
    checks=$((checks + 1))
    [ "$(grep -c '"text":"11"' "$work/out")" -eq 12 ] || fail "--charset 1 --length 2 leaves 11 alone"
    expect 0 "$captrain" predict "$ctc" "$pictures" --jsonl --threads 1 --decoder $decoder --length 3-4
    checks=$((checks + 1))
    [ "$(grep -Ec '"text":"[0-3]{3,4}"' "$work/out")" -eq 12 ] || fail "--length 3-4"
    expect 1 "$captrain" predict "$ctc" "$pictures" --jsonl --threads 1 --decoder $decoder --length 17
    checks=$((checks + 1))
    [ "$(grep -c '"error":"too narrow for --length: its 16 time steps' "$work/out")" -eq 12 ] || fail "--length 17"
done
expect 0 "$captrain" predict "$model" "$pictures" --jsonl --threads 1 --charset 12 --length 2
checks=$((checks + 1))
[ "$(grep -Ec '"text":"[12]{2}"' "$work/out")" -eq 12 ] || fail "--charset 12"
expect 0 "$captrain" eval "$model" "$pictures" --threads 1 --charset 2
prints '^string accuracy  0.00 %'
expect 2 "$captrain" predict "$model" "$pictures" --length 3-4
says 'reads exactly 2 characters, 3-4 leaves nothing'
expect 2 "$captrain" predict "$model" "$pictures" --charset 0x
says "the model cannot read 'x' (U+0078); it reads 0123"
for wrong in 0 x 4-3 2- 65 -3; do
    expect 2 "$captrain" predict "$ctc" "$pictures" --length=$wrong
    says "length: '$wrong' is neither a number of characters from 1 to 64 nor two of them"
done
expect 0 "$captrain" predict "$model" "$pictures" --jsonl --threads 1
sed 's/,"confidence.*//' "$work/out" >"$work/a"
expect 0 "$captrain" predict "$model" "$pictures" --jsonl --threads 1 --length trained
sed -i 's/,"confidence.*//' "$work/out"
same "a fixed length is the one it was trained with" "$work/a" "$work/out"
expect 2 "$captrain" predict "$ctc" "$pictures" --length trained # files of 0.1 do not say it
says 'length: this model does not say how many characters its training labels had'

for wrong in 1.5 -1 x nan ''; do
    expect 2 "$captrain" predict "$model" "$pictures" --reject-below "$wrong"
    says "reject-below: .* is not a number from 0 to 1"
done
expect 2 "$captrain" predict "$model" "$pictures" --json --jsonl
says 'exclude each other'
finish
