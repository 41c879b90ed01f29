#!/bin/sh
# report.html of texts: what it breaks down, and names that look like HTML.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
cat >"$work/a.yaml" <<'YAML'
name: "a <script>alert(1)</script>"
model: {name: crnn-small, width: 0.25, hidden: 16, dropout: 0}
data:
  train: synth:text
  charset: "01<"
  height: 16
  width: 64
  size_rule: fit_height
  width_step: 16
  synth: {style: plain, count: 64, val_count: 24, length_min: 1, length_max: 3}
report: {gallery: 6}
optimizer: {lr: 0.01}
train: {batch_size: 8, epochs: 2, workers: 0, threads: 1}
YAML
# has RUN PATTERN; hasnt RUN PATTERN
has() {
    checks=$((checks + 1))
    grep -q -e "$2" "$work/$1/report.html" || fail "$1/report.html has no '$2'"
}
hasnt() {
    checks=$((checks + 1))
    ! grep -q -i -e "$2" "$work/$1/report.html" || fail "$1/report.html has '$2'"
}
# equal WHAT A B
equal() {
    checks=$((checks + 1))
    [ "$2" = "$3" ] || fail "$1: $2 instead of $3"
}

expect 0 "$captrain" train "$work/a.yaml" --out "$work/a" --quiet
has a 'a &lt;script&gt;alert(1)&lt;/script&gt;'
hasnt a '<script'
hasnt a 'https\{0,1\}://[^w]' # but for the name of SVG
has a '<h3>Confusions: label (row) read as (column)</h3>'
has a '<h3>Right, by character (worst first)</h3>'
has a '<h3>Strings right, by length of the label</h3>'
has a '>Strings right of the surest x %<'
has a '>Reliability<'
has a '<circle class="h".*<title>training: .* at epoch '
has a 'title="[01&lt;;()a-z]* read as [01&lt;;()a-z]*: [0-9]* of [0-9]*"'
has a '<h2>What the model was shown</h2>'
# half as many as report.gallery, with their labels
checks=$((checks + 1))
shown=$(awk '/What the model was shown/ { on = 1 } /<h2>Summary/ { on = 0 } on' "$work/a/report.html" | grep -c '<figure>.*</code><small>synth:text/')
[ "$shown" -eq 3 ] || fail "$shown augmented pictures instead of 3"
# what the cells and rows say adds up to what result.json counts
number() { sed -n "s/^ *\"$1\": \([-0-9.e]*\),\{0,1\}\$/\1/p" "$work/a/result.json" | head -1; }
rows() { awk -v from="$1" 'index($0, from) { on = 1 } on { print } on && /<\/table>/ { exit }' "$work/a/report.html" | tr '>' '\n' |
    sed -n 's/.*title="\([0-9]*\) of \([0-9]*\)".*/\1 \2/p' | awk '{ a += $1; b += $2 } END { print a + 0, b + 0 }'; }
lengths=$(rows 'Strings right, by length')
equal 'strings in the rows of lengths' "${lengths#* }" 24
checks=$((checks + 1))
awk -v n="${lengths% *}" -v acc="$(number string_accuracy)" 'BEGIN { d = n / 24 - acc; exit d < -1e-9 || d > 1e-9 }' ||
    fail "${lengths% *} right strings in the rows of lengths, string_accuracy $(number string_accuracy)"
# wrong ones: the surest first
sure=$(awk '/Wrong predictions, the surest first/ { on = 1 } /Right, but least sure/ { on = 0 } on' "$work/a/report.html" |
    sed -n 's/.*<small>\([0-9.]*\) % sure.*/\1/p')
checks=$((checks + 1))
[ -n "$sure" ] || fail 'no wrong predictions'
equal 'order of the wrong ones' "$sure" "$(printf '%s\n' "$sure" | sort -rn)"
checks=$((checks + 1))
[ "$(grep -c '<figure>' "$work/a/report.html")" -le 9 ] || fail 'more pictures than report.gallery and half as many'
checks=$((checks + 1))
[ "$(wc -c <"$work/a/report.html")" -lt 400000 ] || fail 'the report is large'
finish
