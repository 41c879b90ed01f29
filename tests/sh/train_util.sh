# A training that takes a second or two; sourced by the train tests behind lib.sh.
# One compute thread and no spinning: the test machine may be busy, and results must not depend on it.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
cat >"$work/tiny.yaml" <<'YAML'
name: tiny
model: {name: textcnn-small, width: 0.5, hidden: 32}
data:
  train: synth:text
  charset: "0123"
  height: 16
  width: 40
  synth: {style: plain, count: 100, val_count: 30, length: 2}
augment: {shift: 1, noise: 0.05}
optimizer: {ema_decay: 0.9}
train: {batch_size: 16, epochs: 2, workers: 1}
log: {interval_steps: 3}
YAML

# tiny DIR OPTIONS...: trains it into $work/DIR
tiny() {
    dir=$1
    shift
    "$captrain" train "$work/tiny.yaml" --threads 1 --out "$work/$dir" "$@"
}

# value KEY DIR: a scalar of result.json
value() {
    sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$work/$2/result.json" | head -1
}

# same KEY DIR DIR: result.json agrees
same() {
    checks=$((checks + 1))
    a=$(value "$1" "$2") b=$(value "$1" "$3")
    [ -n "$a" ] && [ "$a" = "$b" ] || fail "$1 of $2 is '$a', of $3 '$b'"
}
