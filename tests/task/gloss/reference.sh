#!/bin/sh
# A configuration of the program that trains this model elsewhere, key by key: each has its meaning, or is named with the
# reason why it has none, and a misspelt one is an error.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
file=$CT_SRCDIR/tests/task/gloss/reference/gpu_config.json
cd "$work" || exit 99

# Clips in the layout of its data set, the label files elsewhere.
expect 0 "$captrain" gen gestures --out set --count 10 --seed 3 --glosses 4 --signers 2 --length 1-2 --size 32
mkdir -p clips/named
mv set clips/video
mv clips/video/*.csv clips/named

# plans CODE FILE MORE...: what a training with it would do
plans() {
    code=$1 what=$2
    shift 2
    expect "$code" "$captrain" plan "$what" --threads 1 --set model.name=tfnet-small "$@"
}
plans 0 "$file" --set train.steps=1
cp err notes

expect 0 "$captrain" train "$file" --threads 1 --set model.name=tfnet-small --set model.width=0.5 --set train.steps=1 \
    --out run --quiet
# holds LINE...: lines of the run's own configuration, in which every key stands
holds() {
    for line in "$@"; do
        checks=$((checks + 1))
        grep -q "^ *$line\( *#.*\)*$" run/config.yaml || fail "config.yaml has no '$line'"
    done
}
holds 'train: clips/video/train' 'val: clips/video/dev' 'test: clips/video/test' \
    'train_labels: clips/named/train.csv' 'val_labels: clips/named/dev.csv' 'test_labels: clips/named/test.csv' \
    'width: 32' 'height: 32' 'max_frames: 50' 'hidden: 16' 'backend: cpu' 'batch_size: 1' 'lr: 1e-05' 'epochs: 5' \
    'workers: 1' 'weight_decay: 1e-05' 'clip_grad_norm: 0.5' 'every_epochs: 1' 'patience: 3' 'enabled: true' \
    'name: adam' 'name: multistep' 'milestones: \[35, 45\]' 'gamma: 0.2' 'interval_steps: 5' 'kd_temperature: 8' \
    'kd_weight: 25'

# without effect, but told
for key in dataset.name model.device_id model.enable_graph_kernel model.enable_reduce_precision \
    model.enable_auto_mixed_precision model.force_pynative_mode training.prefetch_size training.max_rowsize \
    training.enable_data_sink gpu_optimization.enable_graph_mode gpu_optimization.enable_mem_reuse \
    gpu_optimization.max_device_memory gpu_optimization.enable_profiling gpu_optimization.enable_dump \
    gpu_optimization.enable_memory_offload gpu_optimization.mempool_block_size paths.checkpoint_dir paths.log_dir \
    paths.output_dir paths.best_model_path paths.current_model_path logging.level logging.save_logs; do
    checks=$((checks + 1))
    grep -q "gpu_config.json:[0-9]*:[0-9]*: $key is not used" notes || fail "no note about $key"
done

# every key of the last level, misspelt, one by one
sed -n 's/^ *"\([a-z_0-9]*\)": [^{].*/\1/p' "$file" | grep -v -e '_dir$' -e '_model_path$' \
    -e '^enable_\(graph_mode\|mem_reuse\|profiling\|dump\|memory_offload\)$' -e '^max_device' -e '^mempool' | sort -u >keys
while read -r key; do
    sed "0,/\"$key\": /s//\"${key}q\": /" "$file" >misspelt.json
    plans 2 misspelt.json
    says "unknown key '[a-z_.]*${key}q'"
done <keys

# what cannot be meant here
sed 's/"ctc_blank_id": 0/"ctc_blank_id": 3510/' "$file" >other.json
plans 2 other.json
says 'loss.ctc_blank_id'
sed 's/"ctc_reduction": "mean"/"ctc_reduction": "sum"/' "$file" >other.json
plans 2 other.json
says 'loss.ctc_reduction'
sed 's/"lr_scheduler": {/"lr_scheduler": {"steps": 3,/' "$file" >other.json
plans 2 other.json
says "unknown key 'optimizer.lr_scheduler.steps'"
sed 's,clips/named/dev.csv,clips/named/none.csv,' "$file" >other.json
plans 1 other.json
says 'clips/named/none.csv'

# a model of another task says what it does not read
expect 0 "$captrain" gen text --out texts --count 4 --seed 1
sed -e 's/"TFNet"/"textcnn"/' -e 's,clips/video/[a-z]*,texts,' -e 's/"crop_size": 32/"crop_size": 48/' "$file" >other.json
expect 0 "$captrain" plan other.json --threads 1
says 'data.train_labels has no effect: only models of sign language'
says 'dataset.crop_size has no effect: only models of sign language'
finish
