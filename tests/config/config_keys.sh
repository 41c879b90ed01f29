#!/bin/sh
# Every key of the configuration is read by something: for each row of the table with a field, such as train.batch_size,
# some file outside src/config must use that field, as in cfg->train.batch_size or c->data.synth.count. A section may be
# reached through a pointer to its struct: `t->batch_size` counts in a file that takes the address of (or copies) the
# section, as in `t = &cfg->train`, or that has a `ct_cfg_train *` or `ct_cfg_train_keys *`.
#   tests/config/config_keys.sh          checks the tree; CT_SRCDIR is its top, else the current directory
set -u
top=${CT_SRCDIR:-.}
tmp=${TMPDIR:-/tmp}/ct-config-keys.$$
mkdir "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# list_keys FILE...: keys with a field, from the tables. The macros take the field as first argument.
list_keys()
{
    cat "$@" | sed -n -e 's/^ *{ *\(BOOL\|INT\|FLOAT\|ENUM\|CHOICE\|STRING\|PATH\|PATHS\|LIST\|AT\)(\([a-z0-9_.]*\)[,)].*/\2/p'
}

# unread KEYS FILES: prints the keys of the list that no file reads.
unread()
{
    while read -r key; do
        section=${key%.*}
        field=${key##*.}
        if [ "$section" = "$key" ]; then
            pattern="(cfg|config|conf|c)(->|\\.)$field([^a-z0-9_(]|\$)"
            # shellcheck disable=SC2046
            grep -Eq "$pattern" $(cat "$2") && continue
        else
            dotted=$(printf '%s' "$key" | sed 's/\./\\./g')
            # shellcheck disable=SC2046
            grep -Eq "(^|[^a-z0-9_])(cfg|config|conf|c)(->|\\.)$dotted([^a-z0-9_.]|\\.[vn]([^a-z0-9_]|\$)|\$)" $(cat "$2") && continue
            place=$(printf '%s' "$section" | sed 's/\./\\./g')
            found=
            # A pointer to the section: "&cfg->train" or a copy "= cfg->train;", and then "->batch_size" in that file.
            while read -r file; do
                if grep -Eq "(^|[^a-z0-9_])(cfg|config|conf|c)(->|\\.)$place *[;,)]|ct_cfg_${section##*.}(_keys)? *\\*" "$file" && grep -Eq "(->|\\.)$field([^a-z0-9_(]|\$)" "$file"; then
                    found=1
                    break
                fi
            done < "$tmp/each"
            [ -n "$found" ] && continue
        fi
        echo "$key"
    done < "$1"
}

# The files to look at, comments and strings taken out, so that a key named in a message does not count.
strip()
{
    mkdir -p "$tmp/src"
    n=0
    : > "$tmp/each"
    while read -r file; do
        n=$((n + 1))
        sed -e 's/"\([^"\\]\|\\.\)*"/""/g' -e 's,//.*,,' -e 's,/\*[^*]*\*/,,g' -e '/^ *\/\*/,/\*\//d' "$file" > "$tmp/src/$n.c"
        echo "$tmp/src/$n.c" >> "$tmp/each"
    done
}

status=0

# The check can fail: a made-up tree with two keys, of which one is only mentioned.
cat > "$tmp/table" <<'END'
    { INT(train.batch_size, "64", 1, 65536),
    { INT(train.epochs, "30", 1, 1e6), .aliases = "epochs",
    { FLOAT(data.synth.count, "1", 1, 2) },
    { INT(early_stopping.patience, "1", 1, 2), .aliases = "patience" },
    { INT(model.classes, "1", 1, 2) },
END
cat > "$tmp/user.c" <<'END'
int f(const ct_config *cfg) { /* train.epochs */ return cfg->train.batch_size + cfg->data.synth.count_of + strlen("cfg->train.epochs"); }
bool stop(const ct_cfg_early_stopping *rule) { return rule->patience > 0; }
int other(const spec *s) { return g(s->model) + s->model.classes; }
END
list_keys "$tmp/table" > "$tmp/keys"
echo "$tmp/user.c" | strip
got=$(unread "$tmp/keys" "$tmp/each" | tr '\n' ' ')
if [ "$got" != "train.epochs data.synth.count model.classes " ]; then
    echo "config_keys.sh: self-check: expected train.epochs, data.synth.count and model.classes as unread, got: $got"
    status=1
fi

# The table of all and those of the tasks that it joins.
list_keys "$top"/src/config/schema.c "$top"/src/config/keys_*.c > "$tmp/keys"
count=$(wc -l < "$tmp/keys")
rows=$(cat "$top"/src/config/schema.c "$top"/src/config/keys_*.c | grep -c '^    { [A-Z]*(')
merged=$(cat "$top"/src/config/schema.c "$top"/src/config/keys_*.c | grep -c 'CT_CLASS_MERGED') # no fields
shown=$("${CT_BUILDDIR:-.}/captrain" help config-md | grep -c '^| `[a-z_.0-9]*` | `.*` | .* | .* | .* |$')
if [ "$count" -lt 50 ] || [ "$count" -ne "$rows" ] || [ $((count + merged)) -ne "$shown" ]; then
    echo "config_keys.sh: found $count keys in $rows rows of src/config; the program knows $shown with $merged merged ones"
    status=1
fi
find "$top/src" "$top/backends" -name '*.c' ! -path '*/src/config/*' | LC_ALL=C sort | strip
unread "$tmp/keys" "$tmp/each" > "$tmp/unread"
if [ -s "$tmp/unread" ]; then
    echo "config_keys.sh: nobody reads these keys:"
    sed 's/^/  /' "$tmp/unread"
    status=1
else
    echo "config_keys.sh: all $count keys are read"
fi
exit $status
