/* Keys of other programs (PyTorch loaders, the reference systems): accepted and reported. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include "config/keys.h"

#define NOTED(n, why) \
    { .name = n, .cls = CT_CLASS_NOTED, .type = CT_KEY_STRING, .unit = "", .reader = "none", .doc = why }

static const char channels_last[] = "activations are always NHWC";
static const char threads_share[] =
    "loader threads share memory with the trainer; nothing is pinned or copied between processes";
static const char no_compile[] = "the plan is built and optimised before every run";
static const char tf32_key[] = "TF32 is chosen by train.precision: tf32";
static const char run_dir[] = "everything a run writes is in its run directory (--out)";
static const char one_label[] =
    "labels come from file names, or from a label file beside the images: data.labels";
static const char always_timed[] = "time, speed and ETA are always shown and logged";
static const char measured[] =
    "metrics.jsonl and the TensorBoard files hold the measurements; profiling is `captrain profile`";
static const char scored[] = "data.test is scored after training, and report.html shows predictions";
static const char unused_there[] = "not used by the program it comes from either";
static const char clamped[] = "probabilities in the padding are kept within 1e-4 and 1 - 1e-4, as its code does";
static const char averaged[] = "the mean is over the cells that count, of which there is at least one";
static const char mindspore[] = "a MindSpore setting; captrain plans memory and kernels itself";

static const ct_config_row rows[] = {
    NOTED("pin_memory", threads_share),
    NOTED("train.pin_memory", threads_share),
    NOTED("data.pin_memory", threads_share),
    NOTED("Params.pinmMemory", threads_share),
    NOTED("persistent_workers", threads_share),
    NOTED("train.persistent_workers", threads_share),
    NOTED("data.persistent_workers", threads_share),
    NOTED("prefetch_factor", "the loader's ring has a fixed, bounded size"),
    NOTED("train.prefetch_factor", "the loader's ring has a fixed, bounded size"),
    NOTED("data.prefetch_factor", "the loader's ring has a fixed, bounded size"),
    NOTED("training.prefetch_size", "the loader's ring has a fixed, bounded size"),
    NOTED("non_blocking", threads_share),
    NOTED("train.non_blocking", threads_share),
    NOTED("channels_last", channels_last),
    NOTED("train.channels_last", channels_last),
    NOTED("compile_model", no_compile),
    NOTED("train.compile_model", no_compile),
    NOTED("compile_mode", no_compile),
    NOTED("train.compile_mode", no_compile),
    NOTED("cudnn_benchmark", "kernels are chosen by shape and device, the same in every run"),
    NOTED("train.cudnn_benchmark", "kernels are chosen by shape and device, the same in every run"),
    NOTED("hardware.cudnn_benchmark", "kernels are chosen by shape and device, the same in every run"),
    NOTED("hardware.allow_tf32", tf32_key),
    NOTED("hardware.matmul_allow_tf32", tf32_key),
    NOTED("hardware.cudnn_allow_tf32", tf32_key),
    NOTED("model.model_path", "the model is chosen by model.name"),
    NOTED("eval.metrics", "every metric is computed in every evaluation"),
    NOTED("eval.test_visualization.enabled", scored),
    NOTED("eval.test_visualization.output_dir", scored),
    NOTED("eval.test_visualization.max_samples", scored),
    NOTED("eval.test_visualization.save_format", scored),
    NOTED("checkpoints.save_dir", run_dir),
    NOTED("checkpoints.save_best", "the best weights are always kept, in checkpoints/best.safetensors"),
    NOTED("checkpoints.save_strategy", "checkpoint names are fixed; checkpoint.keep says how many stay"),
    NOTED("logging.log_dir", run_dir),
    NOTED("logging.tensorboard_dir", run_dir),
    NOTED("logging.auto_launch_tensorboard", "captrain starts no other program; run tensorboard on the run directory"),
    NOTED("logging.tensorboard_port", "captrain starts no other program; run tensorboard on the run directory"),
    NOTED("logging.time_tracking.enabled", always_timed),
    NOTED("logging.time_tracking.log_to_tensorboard", always_timed),
    NOTED("logging.time_tracking.display_eta", always_timed),
    NOTED("logging.time_tracking.update_interval", always_timed),
    NOTED("logging.time_tracking.time_format", always_timed),
    NOTED("logging.time_tracking.show_progress_bar", always_timed),
    NOTED("logging.tb_items", "every scalar is written"),
    NOTED("logging.level", "--verbose and --quiet choose what is printed"),
    NOTED("logging.save_logs", "run.log is always written"),
    NOTED("monitoring.wandb.enabled", measured),
    NOTED("monitoring.wandb.project", measured),
    NOTED("monitoring.wandb.entity", measured),
    NOTED("monitoring.wandb.tags", measured),
    NOTED("monitoring.profile.enabled", measured),
    NOTED("monitoring.profile.wait", measured),
    NOTED("monitoring.profile.warmup", measured),
    NOTED("monitoring.profile.active", measured),
    NOTED("monitoring.profile.repeat", measured),
    NOTED("data_split.train_ratio", "training takes what data.val_fraction does not hold out"),
    NOTED("data_split.test_ratio", "no part is set aside for a test; data.test names a folder of its own"),
    NOTED("data_split.shuffle", "the split is always drawn by lot, from train.seed"),
    NOTED("data_split.auto_split", "there is a split whenever data.val is not given"),
    NOTED("loss.loss_class", unused_there),
    NOTED("loss_class", unused_there),
    NOTED("loss.weight_schedule", unused_there),
    NOTED("weight_schedule", unused_there),
    NOTED("loss.balance_losses", unused_there),
    NOTED("balance_losses", unused_there),
    NOTED("loss.padding_bce.eps", clamped),
    NOTED("padding_bce.eps", clamped),
    NOTED("loss.angle.eps", averaged),
    NOTED("angle.eps", averaged),
    NOTED("angle_loss.eps", averaged),
    NOTED("file_naming.*", one_label),
    NOTED("paths.*", run_dir),
    NOTED("dataset.name", "the data set is the folder data.train"),
    NOTED("Params.dataSetName", "the data set is the folder data.train"),
    NOTED("Path.bestModuleSavePath", run_dir),
    NOTED("Path.currentModuleSavePath", run_dir),
    NOTED("Params.device", "the backend is chosen by train.backend or --backend"),
    NOTED("dataset.batch_size", "preprocessing is not batched; training takes train.batch_size"),
    NOTED("dataset.num_workers", "decoding takes train.workers threads"),
    NOTED("dataset.chunk_size", threads_share),
    NOTED("dataset.maxtasksperchild", threads_share),
    NOTED("dataset.gc_interval", threads_share),
    NOTED("model.device_id", "the device is chosen by --backend"),
    NOTED("model.enable_graph_kernel", mindspore),
    NOTED("model.enable_reduce_precision", "precision is chosen by train.precision"),
    NOTED("model.enable_auto_mixed_precision", "precision is chosen by train.precision"),
    NOTED("model.force_pynative_mode", mindspore),
    NOTED("training.max_rowsize", mindspore),
    NOTED("training.enable_data_sink", mindspore),
    NOTED("gpu_optimization.*", mindspore),
};
const ct_key_table ct_keys_foreign = CT_KEY_TABLE(rows);
