/* The table of keys: the only place, with the tables of the tasks that it joins, that knows their names, defaults and
 * ranges. */
#include <config.h> /* the one of configure: in quotes it would be this room's */

#include "config/internal.h"
#include "config/keys.h"

static const ct_config_row run[] = {
    { STRING(name, "captrain"), .unit = "", .reader = "trainer",
      .doc = "Name of the run; without --out the run directory is runs/<date>-<name>." },
};

static const ct_config_row model[] = {
    { CHOICE(model.name, "textcnn",
             "textcnn textcnn-small=textcnn_small crnn crnn-stacked=crnn_stacked crnn-small=crnn_small reader "
             "reader-large=reader_large resnet18 resnet34 resnet50 resnet101 resnet152 slider=Lite-HRNet-18+LiteFPN "
             "slider-small=slider_small hrnet-w32=hrnet_w32 hrnet-w48=hrnet_w48 tfnet=TFNet tfnet-small=tfnet_small"),
      .aliases = "Params.moduleChoice", .unit = "", .reader = "models",
      .doc = "Which model is built. textcnn* read texts of one length, crnn* and reader* texts of any; slider* and "
             "hrnet-* solve slider puzzles; tfnet* read sign language." },
    { FLOAT(model.width, "1", 0, 16), ABOVE, .unit = "factor", .reader = "models",
      .doc = "Multiplies the channel count of every layer; counts are rounded to multiples of 8, at least 8." },
    { INT(model.hidden, "0", 0, 65536), .aliases = "model.hidden_size Params.hiddenSize", .unit = "units",
      .reader = "models",
      .doc = "Units of textcnn's hidden linear layer, channels of textcnn-small's last convolution and of what "
             "reader sees in a column, units of crnn's LSTMs in one direction; 0 takes the model's own." },
    { FLOAT(model.dropout, "-1", -1, 1), BELOW, .unit = "probability", .reader = "models",
      .doc = "Dropout before the last layer; -1 takes the model's own." },
    { ENUM(model.init, "default", "default dirac"), .unit = "", .reader = "models",
      .doc = "How weights start. dirac: as default, but each convolution's first filters hand channels on as they are "
             "(torch.nn.init.dirac_), as many as it reads." },
    { ENUM(model.fuse, "auto", "auto weighted add attention"), .unit = "", .reader = "models",
      .doc = "How the neck of slider and hrnet models joins a map with the next finer one: by two learned weights, by "
             "adding, or by a gate for each channel; auto takes the model's own." },
};

static const ct_config_row sources[] = {
    { PATHS(data.train, "synth:text"), .values = "synth:text synth:slider synth:gestures",
      .aliases = "data.processed_dir dataset.train_data_path Path.trainDataPath", .unit = "", .reader = "data",
      .doc = "Folder with the training images, label file or LMDB database of them, or a list of several; or "
             "synth:text, synth:slider or synth:gestures for the built-in generators. Slider models: synth:slider, "
             "models of sign language: synth:gestures unless it is given." },
    { PATHS(data.val, ""), .aliases = "dataset.valid_data_path Path.validDataPath", .unit = "", .reader = "data",
      .doc = "The same for the validation images; empty: data.val_fraction of data.train is held out." },
    { PATHS(data.test, ""), .aliases = "dataset.test_data_path Path.testDataPath", .unit = "", .reader = "data",
      .doc = "The same for images that are scored once, after training, with the best weights; empty: none." },
    { FLOAT(data.val_fraction, "0.1", 0, 1), BELOW, .aliases = "data_split.val_ratio", .unit = "share",
      .reader = "data",
      .doc = "Share of data.train held out for validation when data.val is empty; 0 trains without validation." },
};

static const ct_config_row pixels[] = {
    { INT(data.height, "60", 8, 4096), .unit = "pixels", .reader = "data, models",
      .doc = "Height of the images the model sees (with data.crop: a part of). Slider models have their own unless "
             "it is given." },
    { INT(data.width, "160", 8, 4096), .unit = "pixels", .reader = "data, models",
      .doc = "Width of the images the model sees (with data.crop: a part of). Slider models have their own unless "
             "it is given." },
    { INT(data.crop, "0", 0, 4096), .unit = "pixels", .reader = "plan, models",
      .doc = "Side of the square cut out of images of data.height x data.width, all that the model sees: drawn while "
             "training, else the middle; 0: the whole image." },
    { INT(data.channels, "1", 1, 3), .unit = "", .reader = "data, models",
      .doc = "1: gray (0.299 R + 0.587 G + 0.114 B), 3: RGB. Slider models: RGB unless it is given." },
    { ENUM(data.size_rule, "resize", "resize refuse fit_height letterbox"), .unit = "", .reader = "data",
      .doc = "Images of another size are resized, or refused. fit_height (crnn only): to data.height and at most "
             "data.width, keeping the aspect ratio, padded right to a multiple of data.width_step. letterbox "
             "(of slider models): "
             "keeping it, padded all round." },
    { INT(data.width_step, "32", 1, 4096), .unit = "pixels", .reader = "data",
      .doc = "fit_height: widths are padded to multiples of this; smaller: less padding, more different batches." },
    { INT(data.min_width, "0", 0, 4096), .unit = "pixels", .reader = "data",
      .doc = "fit_height: images that would be narrower are stretched to this; 0: to the least width the model can "
             "read." },
    { AT(data.background), .type = CT_KEY_COLOR, .def = "white", .unit = "", .reader = "data",
      .doc = "Colour behind transparent pixels, of padding and of what augmentation moves in: white, black, a gray "
             "value 0..255, [r, g, b] or \"#rrggbb\"." },
    { INT(data.max_bad, "0", 0, 1e9), .unit = "samples", .reader = "data",
      .doc = "Unusable samples (unreadable image, label outside the charset, ...) that are tolerated; they are "
             "always listed." },
    { ENUM(data.cache, "auto", "auto=true=yes=on pixels files false=no=off"), .unit = "", .reader = "data",
      .doc = "What is kept in the cache directory (CAPTRAIN_CACHE_DIR): decoded images (pixels), the files as they are "
             "(files: smaller, decoded again for every batch), nothing (false: pixels in memory); auto: pixels up to "
             "8 GB, else files." },
    { ENUM(data.resident, "auto", "auto true=yes=on false=no=off"), .unit = "", .reader = "trainer",
      .doc = "Upload the decoded training images to the device once; batches then send their numbers only. auto: where "
             "the device has its own memory and they fit beside the training. Same weights either way." },
    { LIST(data.mean, CT_KEY_FLOAT_LIST, "[0]", 1, 3, -10, 10), .unit = "", .reader = "models, model file",
      .doc = "Subtracted from pixels scaled to [0,1]; one number, or one per channel." },
    { LIST(data.std, CT_KEY_FLOAT_LIST, "[1]", 1, 3, 0, 10), ABOVE, .unit = "", .reader = "models, model file",
      .doc = "Divides pixels after the mean was subtracted; one number, or one per channel." },
};

static const ct_config_row generated[] = {
    { INT(data.synth.count, "20000", 1, 1e8), .unit = "samples", .reader = "synth",
      .doc = "Images generated for training." },
    { INT(data.synth.val_count, "2000", 0, 1e8), .unit = "samples", .reader = "synth",
      .doc = "Images generated for validation; none of them is a training image." },
    { INT(data.synth.seed, "1", 0, 9007199254740992.0), .unit = "", .reader = "synth",
      .doc = "Seed of the generator; image i is a function of (seed, i)." },
};

static const ct_config_row fresh[] = {
    { BOOL(data.synth.fresh, "false"), .unit = "", .reader = "synth",
      .doc = "Draw new training images in every epoch, while training, instead of data.synth.count images once; an "
             "epoch still has data.synth.count of them. Clips are drawn once." },
};

static const ct_config_row augment[] = {
    { FLOAT(augment.probability, "1", 0, 1), .unit = "share", .reader = "plan",
      .doc = "Share of the training images that are augmented at all; augment.flip and data.crop do not ask it." },
    { INT(augment.shift, "0", 0, 256), .unit = "pixels", .reader = "plan",
      .doc = "Moves the image by up to this many whole pixels to every side." },
    { FLOAT(augment.scale, "0", 0, 1), BELOW, .unit = "factor", .reader = "plan",
      .doc = "Scales by a factor in [1 - scale, 1 + scale]." },
    { FLOAT(augment.rotate, "0", 0, 180), .unit = "degrees", .reader = "plan",
      .doc = "Rotates about the middle by up to this angle either way." },
    { FLOAT(augment.shear, "0", 0, 2), .unit = "factor", .reader = "plan",
      .doc = "Shears horizontally by up to this factor (tangent of the angle) either way." },
    { FLOAT(augment.noise, "0", 0, 1), .unit = "of the pixel range", .reader = "plan",
      .doc = "Adds Gaussian noise with a standard deviation up to this." },
    { FLOAT(augment.blur, "0", 0, 16), .unit = "pixels", .reader = "plan",
      .doc = "Blurs with a Gaussian of a standard deviation up to this." },
    { FLOAT(augment.brightness, "0", 0, 1), .unit = "of the pixel range", .reader = "plan",
      .doc = "Adds up to this, either way." },
    { FLOAT(augment.contrast, "0", 0, 1), .unit = "factor", .reader = "plan",
      .doc = "Multiplies the distance from the mean by a factor in [1 - contrast, 1 + contrast]." },
    { FLOAT(augment.flip, "0", 0, 1), .unit = "share", .reader = "plan",
      .doc = "Share of the training images that are mirrored, left for right. Not for text and slider models, whose "
             "images mean something else then." },
};

static const ct_config_row loss[] = {
    { ENUM(loss.name, "auto",
           "auto softmax=cross_entropy soft_margin=multilabel_soft_margin ctc slider_early slider_late basic tfnet"),
      .unit = "", .reader = "models",
      .doc = "softmax: cross-entropy per position. soft_margin: one sigmoid per class. ctc: readers and crnn models. "
             "slider_late, slider_early, basic (heatmaps and offsets alone): slider models. tfnet: sign language. "
             "auto: ctc, slider_late, tfnet, else softmax." },
    { FLOAT(loss.label_smoothing, "0", 0, 1), BELOW, .unit = "share", .reader = "models",
      .doc = "Share of the target spread evenly over all classes (softmax; ctc: at every step, blank included)." },
};

static const ct_config_row optimizer[] = {
    { ENUM(optimizer.name, "adamw", "adamw adam sgd muon"), .aliases = "optimizer.type", .unit = "",
      .reader = "trainer",
      .doc = "adamw: decoupled weight decay. adam: L2 in the gradient. sgd: with momentum, L2 in the gradient. "
             "muon: orthogonalised momentum for matrices and filters, adamw for the rest." },
    { FLOAT(optimizer.lr, "1e-3", 0, 100), ABOVE,
      .aliases = "optimizer.learning_rate train.lr train.learning_rate training.learning_rate Params.lr lr",
      .unit = "", .reader = "trainer", .doc = "Learning rate, before schedule.lr_rule." },
    { LIST(optimizer.betas, CT_KEY_FLOAT_LIST, "[0.9, 0.999]", 2, 2, 0, 1), BELOW, .unit = "", .reader = "trainer",
      .doc = "Decay of the first and second moment (adamw, adam, muon's rest)." },
    { FLOAT(optimizer.eps, "1e-8", 0, 1), ABOVE, .unit = "", .reader = "trainer",
      .doc = "Added to the root of the second moment (adamw, adam, muon's rest)." },
    { FLOAT(optimizer.weight_decay, "0.01", 0, 10), .aliases = "training.weight_decay weight_decay",
      .unit = "", .reader = "trainer",
      .doc = "Weight decay." },
    { FLOAT(optimizer.momentum, "0.9", 0, 1), BELOW, .unit = "", .reader = "trainer", .doc = "Momentum (sgd)." },
    { BOOL(optimizer.nesterov, "false"), .unit = "", .reader = "trainer", .doc = "Nesterov momentum (sgd)." },
    { BOOL(optimizer.decay_norm_bias, "false"), .unit = "", .reader = "trainer",
      .doc = "Decay normalisation parameters and biases, too (PyTorch's default; false leaves them alone)." },
    { FLOAT(optimizer.clip_grad_norm, "0", 0, 1e9), .aliases = "training.gradient_clip_norm train.clip_grad_norm",
      .unit = "",
      .reader = "trainer", .doc = "Gradients are scaled down to this global L2 norm; 0: off." },
    { FLOAT(optimizer.ema_decay, "0", 0, 1), BELOW, .aliases = "train.ema_decay", .unit = "", .reader = "trainer",
      .doc = "Decay, per optimizer step, of the running average of weights and buffers; 0: off." },
    { LIST(optimizer.groups, CT_KEY_STR_LIST, "[]", 0, 100, -INF, INF), .unit = "", .reader = "trainer",
      .doc = "\"PATTERN lr=FACTOR decay=NUMBER by=muon|adamw\": parameters (as in train.freeze) with settings of their "
             "own. lr multiplies the rate; decay replaces weight_decay; by (muon only) updates. Later rules win." },
    { FLOAT(optimizer.muon.momentum, "0.95", 0, 1), BELOW, .unit = "", .reader = "trainer",
      .doc = "Momentum of the matrices (muon)." },
    { BOOL(optimizer.muon.nesterov, "true"), .unit = "", .reader = "trainer",
      .doc = "Nesterov momentum of the matrices (muon)." },
    { INT(optimizer.muon.steps, "5", 1, 20), .unit = "steps", .reader = "trainer",
      .doc = "Steps of Newton-Schulz that make an update orthogonal (muon)." },
    { FLOAT(optimizer.muon.lr_factor, "1", 0, 1e6), ABOVE, .unit = "factor", .reader = "trainer",
      .doc = "Matrices take optimizer.lr times this, the rest optimizer.lr (muon)." },
    { ENUM(optimizer.muon.adjust_lr, "match_rms_adamw", "match_rms_adamw original"), .unit = "", .reader = "trainer",
      .doc = "Factor of a matrix's rate by its shape (muon), as torch.optim.Muon's adjust_lr_fn. match_rms_adamw: "
             "0.2 sqrt(longer side), for AdamW's rates. original: sqrt(max(1, rows/columns)), for 20 times those." },
    { BOOL(optimizer.muon.first, "true"), .unit = "", .reader = "trainer",
      .doc = "Matrices that read the input before any other are among muon's; false: adamw takes them." },
    { BOOL(optimizer.muon.last, "false"), .unit = "", .reader = "trainer",
      .doc = "Matrices behind which no other lies are among muon's; false: adamw takes them." },
};

static const ct_config_row schedule[] = {
    { ENUM(schedule.name, "warmup_cosine",
           "constant=none cosine=CosineAnnealingLR warmup_cosine multistep=MultiStepLR "
           "warm_restarts=CosineAnnealingWarmRestarts one_cycle=OneCycleLR triangular"),
      .aliases = "sched.name optimizer.lr_scheduler optimizer.lr_scheduler.type", .unit = "", .reader = "trainer",
      .doc = "Learning rate over time. warmup_cosine: rises linearly over warmup_epochs, then half a cosine to "
             "min_lr. one_cycle (OneCycleLR): half a cosine up, one down; triangular: straight." },
    { FLOAT(schedule.warmup_epochs, "1", 0, 1e6), .unit = "epochs", .reader = "trainer",
      .doc = "Linear rise at the start (warmup_cosine)." },
    { FLOAT(schedule.min_lr, "0", 0, 100), .aliases = "sched.min_lr sched.cosine_min_lr",
      .unit = "", .reader = "trainer",
      .doc = "Lowest learning rate of the cosine schedules, before lr_rule." },
    { LIST(schedule.milestones, CT_KEY_INT_LIST, "[]", 0, 8, 1, 1e6), .aliases = "optimizer.lr_scheduler.milestones",
      .unit = "epochs", .reader = "trainer",
      .doc = "multistep: the learning rate is multiplied by gamma when each of these epochs is complete; up to 8." },
    { FLOAT(schedule.gamma, "0.1", 0, 1), ABOVE, .aliases = "optimizer.lr_scheduler.gamma",
      .unit = "factor", .reader = "trainer", .doc = "Factor of multistep." },
    { FLOAT(schedule.t0, "10", 0, 1e6), ABOVE, .aliases = "sched.t0", .unit = "epochs", .reader = "trainer",
      .doc = "Length of the first cycle of warm_restarts." },
    { FLOAT(schedule.t_mult, "2", 1, 100), .aliases = "sched.t_mult", .unit = "factor", .reader = "trainer",
      .doc = "Each cycle of warm_restarts is this many times as long as the one before; a whole number." },
    { FLOAT(schedule.pct_start, "0.3", 0, 1), .unit = "share", .reader = "trainer",
      .doc = "Share of the steps until the rate is highest (one_cycle, triangular)." },
    { FLOAT(schedule.div_factor, "25", 1, 1e9), .unit = "factor", .reader = "trainer",
      .doc = "The first step's rate is optimizer.lr divided by this (one_cycle, triangular)." },
    { FLOAT(schedule.final_div_factor, "1e4", 0, 1e9), ABOVE, .unit = "factor", .reader = "trainer",
      .doc = "The last step's rate is the first step's divided by this (one_cycle, triangular)." },
    { ENUM(schedule.lr_rule, "none", "none linear sqrt"), .unit = "", .reader = "trainer",
      .doc = "Scales learning rates by (effective batch / reference_batch), or its square root." },
    { INT(schedule.reference_batch, "256", 1, 1e6), .unit = "samples", .reader = "trainer",
      .doc = "The batch optimizer.lr was chosen for (lr_rule linear and sqrt)." },
};

static const ct_config_row train[] = {
    { INT(train.batch_size, "64", 1, 65536), .word = "auto",
      .aliases = "training.batch_size Params.batchSize batch_size", .unit = "samples", .reader = "trainer",
      .doc = "Samples per micro-step; the effective batch is batch_size * accumulate. auto: the largest multiple of 8 "
             "whose step fits the device's free memory, at most the training images; the run keeps it. Of several "
             "processes each computes its part of it." },
    { INT(train.batch_per_process, "0", 0, 65536), .unit = "samples", .reader = "trainer",
      .doc = "Samples per micro-step of each process of a group: train.batch_size becomes so many times their "
             "number. 0: train.batch_size is what all of them compute together." },
    { INT(train.parts, "0", 0, 1024), .unit = "parts", .reader = "trainer",
      .doc = "Cuts every batch into so many parts (a power of two), which any such number of processes up to it "
             "shares: all train the same bits. Batch norms see a part. 0: each process computes its samples at once." },
    { BOOL(train.sync_norm, "false"), .unit = "", .reader = "trainer",
      .doc = "Batch norms of several processes see the samples of all, as one process would, instead of their own. "
             "Each norm then waits for the others twice a step." },
    { INT(train.epochs, "30", 1, 1e6), .aliases = "sched.epochs train.num_epochs training.num_epochs epochs",
      .unit = "epochs", .reader = "trainer", .doc = "Passes over the training images." },
    { INT(train.steps, "0", 0, 1e12), .aliases = "train.max_steps", .unit = "steps", .reader = "trainer",
      .doc = "Ends training after this many optimizer steps; 0: train.epochs alone decides." },
    { INT(train.seed, "42", 0, 9007199254740992.0), .aliases = "seed data_split.random_seed", .unit = "",
      .reader = "trainer",
      .doc = "Seed of initialisation, order, augmentation, dropout and the validation split." },
    { INT(train.workers, "auto", 0, 256), .word = "auto",
      .aliases = "train.num_workers training.num_workers Params.numWorkers num_workers", .unit = "threads",
      .reader = "loader",
      .doc = "Threads that decode and assemble batches; 0: the training thread does. auto: the cores that computing "
             "leaves, at least 1, at most 4, and 16 for all processes of a machine. Results do not depend on it." },
    { ENUM(train.precision, "fp32", "fp32=float32 bf16=bfloat16 fp16=float16=half tf32 f64=fp64=float64"), .unit = "",
      .reader = "trainer",
      .doc = "Arithmetic of the heavy operators; weights, statistics and losses stay fp32 (f64: everything is "
             "double). bf16 and fp16 are stored so, and on a CPU computed in fp32; bf16 is multiplied as such by "
             "processors with AVX512-BF16 or AMX." },
    { .name = "train.amp", .cls = CT_CLASS_MERGED, .type = CT_KEY_ENUM,
      .offset = offsetof(struct ct_config_info, amp), .def = "false", .aliases = "amp",
      .values = "false=off=no=fp32 true=on=yes bf16=bfloat16 fp16=float16=half tf32", .unit = "",
      .reader = "config (becomes train.precision)",
      .doc = "PyTorch's word for train.precision: false is fp32, true is bf16. Both set and different is an error." },
    { INT(train.accumulate, "1", 1, 65536), .aliases = "train.gradient_accumulation_steps train.grad_accum",
      .unit = "micro-steps", .reader = "trainer",
      .doc = "Micro-steps whose gradients are summed before one optimizer step." },
    { ENUM(train.last_batch, "keep", "keep drop"), .unit = "", .reader = "loader",
      .doc = "What happens to the last, smaller batch of an epoch." },
    { ENUM(train.recompute, "none", "none auto all"), .unit = "", .reader = "plan",
      .doc = "Gradient checkpointing: activations are computed again in the backward pass to save memory. auto: "
             "only as far as memory asks for it." },
    { BOOL(train.deterministic, "true"), .aliases = "hardware.cudnn_deterministic", .unit = "", .reader = "trainer",
      .doc = "Only algorithms that give the same bits in every run." },
    { BOOL(train.exact, "false"), .unit = "", .reader = "trainer",
      .doc = "Only algorithms that do not trade accuracy for speed: no Winograd convolution." },
    { BOOL(train.strict, "false"), .unit = "", .reader = "trainer",
      .doc = "The run fails before its first step unless every convolution, linear layer, LSTM and gradient of these "
             "is computed as train.precision says (doc/formats.md, receipt.json); the message names operator, node and "
             "reason." },
    { BOOL(train.graph, "true"), .unit = "", .reader = "trainer",
      .doc = "Where the backend can, a step is recorded once and replayed as one piece; false queues every call anew. "
             "Results are the same bits." },
    { PATH(train.tune, ""), .unit = "", .reader = "trainer",
      .doc = "File of implementations that `captrain tune` measured to be fastest here; auto: measured before the "
             "first step, unless the user's cache has them; empty: chosen by shape and processor. Stored in the run, "
             "which is resumed with them. --tune is the same." },
    { INT(train.threads, "0", 0, 1024), .unit = "threads", .reader = "trainer",
      .doc = "Compute threads; 0: every core the process may use. --threads is the same." },
    { CHOICE(train.backend, "auto", "auto cpu cuda=gpu"),
      .aliases = "hardware.device model.device_target train.device device", .unit = "", .reader = "trainer",
      .doc = "Backend; asking for one that is not there is an error. --backend is the same." },
    { ENUM(train.nan_policy, "stop", "stop skip"), .unit = "", .reader = "trainer",
      .doc = "A loss or gradient that is NaN or infinite stops the run, or the step is skipped, counted and "
             "reported." },
    { INT(train.nan_limit, "10", 1, 1e6), .unit = "steps", .reader = "trainer",
      .doc = "nan_policy skip: this many skipped steps in a row stop the run." },
    { FLOAT(train.loss_scale, "65536", 1, 4294967296.0), .unit = "", .reader = "trainer",
      .doc = "First value of the dynamic loss scale (precision fp16)." },
    { INT(train.loss_scale_growth, "2000", 1, 1e9), .unit = "steps", .reader = "trainer",
      .doc = "Good steps after which the loss scale doubles (precision fp16)." },
    { LIST(train.freeze, CT_KEY_STR_LIST, "[]", 0, 1000, -INF, INF), .unit = "", .reader = "trainer",
      .doc = "Parameters that are not trained: names or their first parts (cnn.0), or globs (*.bias). They take no "
             "update and no weight decay; a batch norm both of whose parameters are frozen normalises by its running "
             "statistics, which stay." },
    { FLOAT(train.progressive.epochs, "0", 0, 1e6), .unit = "epochs", .reader = "trainer",
      .doc = "Progressive resizing: so long, from the beginning, the model trains with smaller pictures, which takes "
             "less time; 0: never. Validation always has them as they are." },
    { FLOAT(train.progressive.width, "0.5", 0.5, 1), .unit = "factor", .reader = "trainer",
      .doc = "Of the pictures' width then." },
    { FLOAT(train.progressive.height, "1", 0.5, 1), .unit = "factor", .reader = "trainer",
      .doc = "Of their height; models of any width (crnn, reader) have parameters for one height, which stays 1." },
    { STRING(train.target, ""), .unit = "", .reader = "trainer",
      .doc = "Training ends as soon as a validation reaches this: a metric of the task, '=', a value as result.json "
             "has it (string_accuracy=0.99). result.json says when; empty: none." },
};

static const ct_config_row evaluation[] = {
    { INT(eval.every_epochs, "1", 1, 1e6), .aliases = "eval.eval_interval training.eval_interval", .unit = "epochs",
      .reader = "trainer",
      .doc = "Validation on the whole validation set after every so many epochs, and at the end." },
    { INT(eval.every_steps, "0", 0, 1e12), .unit = "steps", .reader = "trainer",
      .doc = "Validation also after every so many optimizer steps; 0: off. The training itself does not change." },
};

static const ct_config_row averaged[] = {
    { BOOL(eval.ema, "true"), .unit = "", .reader = "trainer",
      .doc = "Evaluate the averaged weights when optimizer.ema_decay is above 0." },
};

static const ct_config_row early_stopping[] = {
    { BOOL(early_stopping.enabled, "false"), .unit = "", .reader = "trainer",
      .doc = "End training when validation no longer improves. Giving early_stopping.patience switches it on." },
    { INT(early_stopping.patience, "10", 1, 1e6),
      .aliases = "eval.early_stopping.patience sched.patience training.early_stopping_patience",
      .unit = "evaluations",
      .reader = "trainer", .doc = "Evaluations in a row without improvement before training ends." },
    { INT(early_stopping.min_epochs, "0", 0, 1e6), .aliases = "eval.early_stopping.min_epochs sched.min_epochs",
      .unit = "epochs", .reader = "trainer",
      .doc = "Never ends earlier. The best weights are tracked from the first epoch on." },
    { FLOAT(early_stopping.min_delta, "0", 0, 1e9), .unit = "", .reader = "trainer",
      .doc = "Improvements up to this do not count." },
    { STRING(early_stopping.second_guard.metric, ""), .aliases = "eval.early_stopping.second_guard.metric", .unit = "",
      .reader = "trainer",
      .doc = "A second metric: an evaluation that improves it takes three evaluations back off those without "
             "improvement; empty: none." },
    { ENUM(early_stopping.second_guard.mode, "auto", "auto min max"),
      .aliases = "eval.early_stopping.second_guard.mode", .unit = "", .reader = "trainer",
      .doc = "Whether less or more of that metric is better; auto: as the metric is. Another is an error." },
    { FLOAT(early_stopping.second_guard.min_delta, "0", 0, 1e9),
      .aliases = "eval.early_stopping.second_guard.min_delta", .unit = "", .reader = "trainer",
      .doc = "Improvements of that metric up to this do not count." },
};

static const ct_config_row checkpoint[] = {
    { INT(checkpoint.every_steps, "0", 0, 1e12), .unit = "steps", .reader = "trainer",
      .doc = "Save after every so many optimizer steps; 0: off." },
    { INT(checkpoint.every_epochs, "1", 0, 1e6), .aliases = "checkpoints.save_interval training.save_interval",
      .unit = "epochs", .reader = "trainer",
      .doc = "Save after every so many epochs; 0: off. The end is always saved." },
    { INT(checkpoint.keep, "3", 1, 1000), .unit = "files", .reader = "trainer",
      .doc = "Older checkpoints kept besides the last and the best." },
};

static const ct_config_row group[] = {
    { CHOICE(group.engine, "auto", "auto mpi nccl"), .unit = "", .reader = "trainer",
      .doc = "What carries sums between processes that train together (captrain launch, mpirun, srun, torchrun). "
             "nccl: between cards, one for each process. mpi: between CPUs, or cards through the host's memory. auto: "
             "nccl on cards that have it, else mpi." },
    { INT(group.port, "0", 0, 65535), .unit = "", .reader = "trainer",
      .doc = "TCP port of process 0's machine (MASTER_ADDR, or this one) where processes that no MPI knows of meet. "
             "0: the one behind MASTER_PORT, which torchrun holds itself, or 29501." },
    { FLOAT(group.deadline, "30", 1, 86400), .unit = "s", .reader = "trainer",
      .doc = "A process that waits for the others longer than this in a step, or hears nothing of one of "
             "them for as long, ends the run." },
    { INT(group.bucket_mb, "25", 0, 4096), .unit = "MB", .reader = "trainer",
      .doc = "Gradients are summed over the processes in pieces of about this size, smaller ones towards the end of a "
             "step, while others are still computed. 0: in one piece, at its end." },
};

static const ct_config_row output[] = {
    { INT(log.interval_steps, "10", 1, 1e9), .aliases = "logging.log_interval logging.print_interval",
      .unit = "steps",
      .reader = "trainer", .doc = "A line of metrics.jsonl every so many optimizer steps." },
    { BOOL(log.tensorboard, "true"), .aliases = "logging.tensorboard", .unit = "", .reader = "trainer",
      .doc = "Write a TensorBoard file into the run directory: curves, keys, and a few pictures." },
    { INT(report.gallery, "24", 0, 1000), .aliases = "eval.vis_fail_k", .unit = "images", .reader = "report",
      .doc = "Wrong predictions shown with their images in report.html, the surest first; of texts half as many right "
             "ones, the least sure first; and half as many training samples as augmented." },
};

/* The table, in the order of the documentation, in which sections are contiguous: a task adds a line where its keys
 * belong. */
#define PART(rows) &(const ct_key_table)CT_KEY_TABLE(rows)
static const ct_key_table *const table[] = {
    PART(run),
    PART(model),
    &ct_keys_text_model,
    PART(sources),
    &ct_keys_text_labels,
    &ct_keys_gloss_labels,
    PART(pixels),
    &ct_keys_text_style,
    PART(generated),
    &ct_keys_text_length,
    &ct_keys_slider_generated,
    &ct_keys_gloss_generated,
    PART(fresh),
    &ct_keys_slider_geometry,
    PART(augment),
    &ct_keys_gloss_tempo,
    PART(loss),
    &ct_keys_slider_loss,
    &ct_keys_gloss_loss,
    PART(optimizer),
    PART(schedule),
    PART(train),
    PART(evaluation),
    &ct_keys_text_select,
    PART(averaged),
    &ct_keys_slider_shown,
    PART(early_stopping),
    PART(checkpoint),
    PART(group),
    PART(output),
    &ct_keys_slider_foreign,
    &ct_keys_foreign,
};

size_t ct_config_row_count(void)
{
    size_t n = 0;
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++) n += table[t]->n;
    return n;
}

const ct_config_row *ct_config_row_at(size_t i)
{
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++) {
        if (i < table[t]->n) return &table[t]->row[i];
        i -= table[t]->n;
    }
    return NULL;
}

size_t ct_config_row_index(const ct_config_row *row)
{
    size_t before = 0, t = 0;
    for (; t + 1 < sizeof table / sizeof table[0]; before += table[t++]->n)
        if ((uintptr_t)row - (uintptr_t)table[t]->row < table[t]->n * sizeof *row) break;
    return before + (size_t)(row - table[t]->row);
}
