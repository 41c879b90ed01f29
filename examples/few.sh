#!/bin/sh
# A reader from few labelled pictures, or none: it learns on drawn ones that look like yours, then on yours, then on those that it reads
# itself: doc/recipes/few.md.
#   few.sh LABELLED OUT [UNLABELLED] [--charset CHARS] [--length N|A-B] [--sure X] [--test FOLDER] [-- OPTIONS...]
# LABELLED: folder, or label file, of up to some 500 pictures whose labels captrain finds; -: there are none. OUT: folder for all that is
# made. UNLABELLED: folder of more pictures of that kind; default LABELLED. --charset: all characters there may be, --length: how many of
# them a text has; where left out, as in the labelled pictures. --sure: with which confidence its own texts are believed; 0.5. --test:
# labelled pictures to be scored on the way. OPTIONS go to all trainings (--threads 4), e.g. a short trial: -- --set train.steps=20
# CAPTRAIN names the program, if it is not in the path. What is finished is not done again.
set -eu

usage() {
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

labelled='' out='' unlabelled='' charset='' length='' believed=0.5 tested=''
while [ $# -gt 0 ]; do
    case $1 in
    --) shift; break ;;
    --charset | --length | --sure | --test)
        [ $# -ge 2 ] || usage
        case $1 in
        --charset) charset=$2 ;;
        --length) length=$2 ;;
        --sure) believed=$2 ;;
        --test) tested=$2 ;;
        esac
        shift
        ;;
    -?*) usage ;;
    *)
        if [ -z "$labelled" ]; then labelled=$1
        elif [ -z "$out" ]; then out=$1
        elif [ -z "$unlabelled" ]; then unlabelled=$1
        else usage; fi
        ;;
    esac
    shift
done
[ -n "$out" ] || usage
if [ "$labelled" = - ]; then
    labelled=
    if [ -z "$unlabelled" ] || [ -z "$charset" ] || [ -z "$length" ]; then
        echo "few.sh: without labelled pictures UNLABELLED, --charset and --length are needed" >&2
        exit 2
    fi
fi
captrain=${CAPTRAIN:-captrain}
mkdir -p "$out"

# What the labelled pictures say: characters and lengths of labels.
all=${charset:+data.charset=$charset}
if [ -n "$labelled" ]; then
    said=$("$captrain" check "$labelled" --json | tr -d '\n')
    case $said in
    *'"lengths":{"'*) ;;
    *) "$captrain" check "$labelled"; exit 1 ;;
    esac
    lengths=$(printf '%s\n' "$said" | sed 's/.*"lengths":{//; s/}.*//' | tr ',' '\n' | sed 's/^[^0-9]*\([0-9]*\).*/\1/' | sort -n)
    : "${length:=$(printf '%s\n' "$lengths" | head -n 1)-$(printf '%s\n' "$lengths" | tail -n 1)}"
    # the configuration has it; of JSON's escapes those that a charset may have
    : "${charset:=$(printf '%s\n' "$said" | sed 's/.*"charset":"//; s/"[,}].*//; s/\\\(["\\]\)/\1/g')}"
fi

# What all of them look like, and the configuration: of the labelled ones, or of some that are drawn.
[ -e "$out/style.yaml" ] ||
    "$captrain" fit-style "${unlabelled:-$labelled}" --charset "$charset" --length "$length" --out "$out/style.yaml"
if [ -z "$labelled" ] && [ ! -e "$out/alike" ]; then
    "$captrain" gen text --style "$out/style.yaml" --charset "$charset" --length "$length" --count 200 --out "$out/alike"
fi
[ -e "$out/real.yaml" ] || "$captrain" init "${labelled:-$out/alike}" --out "$out/real.yaml"

# A training of OUT/$1.yaml: into OUT/$2, beginning with OUT/$3 unless that is empty; interrupted it goes on. Then it is scored.
run() {
    config=$1 into=$2 from=$3
    shift 3
    if [ ! -e "$out/$into/result.json" ]; then
        if [ -e "$out/$into/config.yaml" ]; then set -- "$@" --resume
        elif [ -n "$from" ]; then set -- "$@" --init "$out/$from/checkpoints/best.safetensors"; fi
        "$captrain" train "$out/$config.yaml" --out "$out/$into" ${all:+--set "$all"} "$@"
    fi
    if [ -n "$tested" ]; then
        echo "$into:"
        "$captrain" eval "$out/$into" "$tested"
    fi
}

# Drawn ones are changed more than real ones: what the generator does not draw as yours are must not be learned by heart.
run real drawn '' --set data.train=synth:text --set "data.synth.style=$out/style.yaml" --set data.synth.fresh=true --set data.synth.count=8000 \
    --set data.synth.val_count=500 --set "data.synth.length_min=${length%-*}" --set "data.synth.length_max=${length#*-}" \
    --set augment.rotate=6 --set augment.scale=0.1 --set augment.shear=0.15 --set augment.blur=0.7 --set augment.noise=0.05 \
    --set augment.contrast=0.2 --set augment.brightness=0.1 --set train.batch_size=32 --set train.epochs=4 "$@"
last=drawn
if [ -n "$labelled" ]; then
    run real tuned drawn "$@"
    last=tuned
fi

# ---- what it reads itself: texts of pictures without labels that a network is sure of are learned as if somebody had told them.
# One half of the pictures teaches a network, which reads the other half, and so on: none reads what it was taught with. ----
rounds=6 # at most: they end when nine in ten of both halves are read for sure
steps=1000

# Checksum, bytes and name of each picture of a folder, in the order of the checksums: by lot, but the same each time.
pictures() {
    find -H "$1" -maxdepth 1 -type f \( -iname '*.png' -o -iname '*.jpg' -o -iname '*.jpeg' -o -iname '*.bmp' -o -iname '*.webp' \) \
        -exec cksum {} + | sort
}

# Those of $out/all that are labelled: in the folder LABELLED, whatever their names, or by a name that stands in the label file.
labelled_ones() {
    if [ -d "$labelled" ]; then
        pictures "$labelled"
    elif [ -n "$labelled" ]; then
        awk 'NR == FNR { text = text "\n" $0; next } { name = $0; sub(/.*\//, "", name) } index(text, name)' "$labelled" "$out/all"
    fi
}

# Names of the others, 4,000 at most, each picture once.
unlabelled_ones() {
    pictures "$unlabelled" >"$out/all"
    labelled_ones >"$out/known"
    awk 'FILENAME == ARGV[1] { seen[$1, $2] = 1; next } !seen[$1, $2]++' "$out/known" "$out/all" | sed 's/^[0-9]* [0-9]* //' | head -n 4000
    rm "$out/all" "$out/known"
}

# A half of them, of which OUT/$1 is sure: into the folder OUT/read$2, with its texts.
read_half() {
    into=$out/read$2
    if [ ! -e "$into/labels.txt" ]; then
        mkdir -p "$into"
        awk -v half=$(($2 % 2)) 'NR % 2 == half' "$out/unlabelled" |
            "$captrain" predict "$out/$1" - --length "$length" --reject-below "$believed" >"$out/read" ||
            { [ $? -eq 1 ] && [ -s "$out/read" ]; } # some pictures cannot be read
        awk -F '\t' 'NF == 3 && $2 != ""' "$out/read" >"$out/sure"
        if [ -s "$out/sure" ]; then cut -f 1 "$out/sure" | tr '\n' '\0' | xargs -0 sh -c 'cp "$@" "$0"' "$into"; fi
        awk -F '\t' '{ sub(/.*\//, "", $1); print $1 "\t" $2 }' "$out/sure" >"$into/labels.part"
        mv "$into/labels.part" "$into/labels.txt"
        rm "$out/read" "$out/sure"
    fi
    sure=$(grep -c . "$into/labels.txt" || true)
    echo "few.sh: $1 is sure of $sure of $(((count + $2 % 2) / 2)) pictures"
}

# OUT/$1.yaml: as the first one, with the labelled pictures and the folders OUT/read$2, OUT/read$3...
configure() {
    into=$out/$1.yaml
    shift
    list=${labelled:+\"$(quoted "$labelled")\"}
    for n in "$@"; do list="$list${list:+, }\"$(quoted "$out/read$n")\""; done
    list=$list awk '/^  train: / { $0 = "  train: [" ENVIRON["list"] "]" } { print }' "$out/real.yaml" >"$into"
}

quoted() { printf '%s\n' "$1" | sed 's/[\\"]/\\&/g'; }

# The end: which network to take.
finish() {
    echo "few.sh: it reads by: captrain predict $out/$last --length $length PICTURE..."
    exit 0
}

[ -n "$unlabelled" ] || finish
[ -e "$out/unlabelled" ] || { unlabelled_ones >"$out/unlabelled.part" && mv "$out/unlabelled.part" "$out/unlabelled"; }
count=$(grep -c . "$out/unlabelled" || true)
if [ "$count" -lt 20 ]; then
    echo "few.sh: only $count pictures of $unlabelled are not labelled: it does not teach itself" >&2
    finish
fi
i=0 before=0
while [ $i -lt $rounds ]; do
    i=$((i + 1))
    read_half "$last" $i
    if [ "$sure" -lt 10 ]; then
        echo "few.sh: that is too few to learn from" >&2
        finish
    fi
    configure taught$i $i
    run taught$i taught$i drawn --set train.epochs=1000000 --set train.steps=$steps "$@"
    last=taught$i
    [ $((before < sure ? before : sure)) -lt $((count * 9 / 20)) ] || break
    before=$sure
done
read_half "$last" $((i + 1))
configure taught $i $((i + 1))
run taught taught drawn --set train.epochs=1000000 --set train.steps=$((2 * steps)) "$@"
last=taught
finish
