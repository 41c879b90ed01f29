#!/bin/sh
# LMDB databases of samples, good and spoilt.
. "$(dirname "$0")/lib.sh"
make_lmdb=$CT_BUILDDIR/tests/data/make_lmdb
cd "$work" || exit 99
mkdir db
"$make_lmdb" db </dev/null
case $? in
0) ;;
77)
    echo x >db/data.mdb
    "$captrain" check db >out 2>"$work/err" && fail 'a database is read without liblmdb'
    says 'built without liblmdb; install it'
    finish || exit 1
    echo 'this build has no liblmdb'
    exit 77
    ;;
*) exit 99 ;;
esac
expect 0 "$captrain" gen text --out p --count 12 --seed 1 --charset xyz --length 3 --width 48 --height 24
lines() { for f in p/*.png; do printf '%s\t%s\n' "$f" "$(basename "${f%%_*}")"; done; }
# database NAME: of what comes from stdin
database() {
    rm -rf "${1:?}"
    mkdir "$1"
    "$make_lmdb" "$1" || fail "$1 cannot be made"
    rm "$1/lock.mdb"
}
lines | database db
chmod -R a-w db
expect 0 "$captrain" check db --json
prints '"samples":{"train":12'
prints '"labels_from":{"train":"db/data.mdb"'
prints '"charset":"xyz"'
expect 1 test -e db/lock.mdb
expect 0 "$captrain" check p --json # the same pictures, sizes and characters as files
cat >c.yaml <<'END'
model: {name: textcnn-small, width: 0.25}
data: {train: db, height: 24, width: 48, val_fraction: 0.25}
train: {epochs: 2, batch_size: 4, threads: 1}
END
for cache in pixels files false; do expect 0 "$captrain" train c.yaml --out run-$cache --set data.cache=$cache; done
expect 0 "$captrain" eval run-pixels db --json
prints '"samples": *12'
(cd db && CAPTRAIN_CACHE_DIR=$CAPTRAIN_CACHE_DIR expect 0 "$captrain" check .)
expect 0 "$captrain" init db
expect 0 "$captrain" train db.yaml --out run-init --threads 1 --set train.steps=1 --set train.epochs=2
lines | sed 2,3d | database db2
expect 0 "$captrain" train c.yaml --out both --set 'data.train=[db, db2, p]' --set data.val_fraction=0.1
expect 0 grep -q '"train_samples": *31' both/metrics.jsonl # of 34, a tenth held out
expect 0 "$captrain" doctor
prints '^databases  *LMDB$'

# --- spoilt: exit 1, which database, what is wrong ---
spoilt() { # PATTERN
    expect 1 "$captrain" check bad
    cat out >>err 2>/dev/null
    cat "$work/out" >>"$work/err"
    says "$1"
    expect 1 "$captrain" train c.yaml --set data.train=bad --out never
    says "$1"
}
printf '=num-samples\t\n' | database bad
spoilt 'bad/data.mdb: has no key num-samples: databases are read that have'
printf '=num-samples\t1x\n' | database bad
spoilt "num-samples is '1x', not a number"
printf '=num-samples\t-1\n' | database bad
spoilt "num-samples is '-1', not a number"
printf '=num-samples\t99999999\n' | database bad
spoilt 'num-samples is 99999999, but the database has 1 entries'
{ lines; printf '=num-samples\t13\n'; } | database bad
spoilt 'image-000000013: the database has no'
{ lines; printf '=label-000000012\t\n'; } | database bad
expect 1 "$captrain" train c.yaml --set data.train=bad --out never
says 'image-000000012: the label is empty'
{ lines; printf '=image-000000012\tno picture\n'; } | database bad
spoilt 'image-000000012: '
lines | database bad
printf 'a.png,xyz\n' >bad/labels.csv
spoilt 'bad/labels.csv: lies beside a database'
rm bad/labels.csv
cp "$(find p -name '*.png' | head -n 1)" bad
spoilt 'a picture beside a database'
rm bad/*.png
: >bad/data.mdb
spoilt 'is too short for an LMDB database'
cp c.yaml bad/data.mdb
spoilt 'is too short for an LMDB database'
head -c 9000 /dev/zero >bad/data.mdb
spoilt 'is no LMDB database'
# cut off, and every page's head spoilt in turn: refused by name, or without harm; never a crash
head -c 20000 db/data.mdb >bad/data.mdb
spoilt 'bad/data.mdb: the database is damaged: '
page=0
pages=$(($(wc -c <db/data.mdb) / 4096))
while [ $page -lt $pages ]; do
    for at in 0 10 12 16 17 18 30; do
        chmod -R u+w bad
        cp -f db/data.mdb bad/data.mdb
        chmod u+w bad/data.mdb
        printf '\377\377\377' | dd of=bad/data.mdb bs=1 seek=$((page * 4096 + at)) conv=notrunc 2>/dev/null
        "$captrain" check bad >out 2>err
        rc=$?
        checks=$((checks + 1))
        [ $rc -le 1 ] || fail "page $page, byte $at: exit $rc"
        if grep -q -e AddressSanitizer -e 'runtime error' err; then fail "page $page, byte $at: sanitizer"; fi
    done
    page=$((page + 1))
done
# a database under a name of its own beside pictures
mkdir beside
cp p/*.png beside
cp db/data.mdb beside/words.lmdb
expect 1 "$captrain" check beside
says 'words.lmdb: a database beside pictures that is not read'
finish
