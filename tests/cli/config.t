# Configuration keys: their help, and what is said of wrong ones.

$ captrain help train.epochs
| train.epochs = 30
|       an integer between 1 and 1000000 (epochs)
|       Passes over the training images.
|       also: sched.epochs train.num_epochs training.num_epochs epochs

$ captrain help early_stopping
| early_stopping.enabled = false
|       true or false
|       End training when validation no longer improves. Giving early_stopping.patience switches it
|       on.
| early_stopping.patience = 10
|       an integer between 1 and 1000000 (evaluations)
|       Evaluations in a row without improvement before training ends.
|       also: eval.early_stopping.patience sched.patience training.early_stopping_patience
| early_stopping.min_epochs = 0
|       an integer between 0 and 1000000 (epochs)
|       Never ends earlier. The best weights are tracked from the first epoch on.
|       also: eval.early_stopping.min_epochs sched.min_epochs
| early_stopping.min_delta = 0
|       a number between 0 and 1000000000
|       Improvements up to this do not count.
| early_stopping.second_guard.metric = ""
|       a text
|       A second metric: an evaluation that improves it takes three evaluations back off those without
|       improvement; empty: none.
|       also: eval.early_stopping.second_guard.metric
| early_stopping.second_guard.mode = auto
|       auto, min, max
|       Whether less or more of that metric is better; auto: as the metric is. Another is an error.
|       also: eval.early_stopping.second_guard.mode
| early_stopping.second_guard.min_delta = 0
|       a number between 0 and 1000000000
|       Improvements of that metric up to this do not count.
|       also: eval.early_stopping.second_guard.min_delta

# Every key and its default.
$ captrain help config | grep ' = '
| name = captrain
| model.name = textcnn
| model.width = 1
| model.hidden = 0
| model.dropout = -1
| model.init = default
| model.fuse = auto
| model.classes = 0
| data.train = synth:text
| data.val = ""
| data.test = ""
| data.val_fraction = 0.1
| data.labels = ""
| data.root = ""
| data.charset = ""
| data.length = 0
| data.letter_case = keep
| data.label_separator = _
| data.label_side = before
| data.train_labels = ""
| data.val_labels = ""
| data.test_labels = ""
| data.vocab = all
| data.max_frames = 0
| data.frames_step = 16
| dataset.crop_size = 0
| data.height = 60
| data.width = 160
| data.crop = 0
| data.channels = 1
| data.size_rule = resize
| data.width_step = 32
| data.min_width = 0
| data.background = white
| data.max_bad = 0
| data.cache = auto
| data.resident = auto
| data.mean = [0]
| data.std = [1]
| data.synth.style = simple
| data.synth.count = 20000
| data.synth.val_count = 2000
| data.synth.seed = 1
| data.synth.length = 4
| data.synth.length_min = 0
| data.synth.length_max = 0
| data.synth.fonts = []
| data.synth.sizes = []
| data.synth.styles = []
| data.synth.without_styles = []
| data.synth.confusions = []
| data.synth.backgrounds = ""
| data.synth.width = 0
| data.synth.height = 0
| data.synth.words = 40
| data.synth.signers = 8
| data.synth.glosses_min = 2
| data.synth.glosses_max = 5
| data.synth.fresh = false
| letterbox.target_size = []
| letterbox.fill_value = -1
| coordinate.downsample = 4
| coordinate.align = true
| heatmap.sigma = 1.5
| data_split.stratify_by_image = true
| augment.probability = 1
| augment.shift = 0
| augment.scale = 0
| augment.rotate = 0
| augment.shear = 0
| augment.noise = 0
| augment.blur = 0
| augment.brightness = 0
| augment.contrast = 0
| augment.flip = 0
| augment.tempo = 0
| loss.name = auto
| loss.label_smoothing = 0
| loss.focal.alpha = 1.5
| loss.focal.beta = 4
| loss.focal.pos_threshold = 0.8
| loss.focal.eps = 1e-8
| loss.offset.beta = 1
| loss.offset.around = false
| loss.hard_negative.margin = -1
| loss.hard_negative.reduction = mean
| loss.angle.pos_threshold = 0.7
| loss.padding_bce.enabled = auto
| loss.padding_bce.max_loss_per_pixel = 10
| loss.y_axis.enabled = auto
| loss.y_axis.tau = 1
| loss.y_axis.log_stretch = true
| loss.y_axis.row_ce_weight = 1
| loss.y_axis.emd_weight = 0.3
| loss.use_angle = auto
| loss.use_hard_negative = auto
| loss.weights.heatmap = -1
| loss.weights.offset = -1
| loss.weights.hard_negative = -1
| loss.weights.angle = -1
| loss.weights.padding_bce = -1
| loss.weights.y_axis = -1
| loss.ctc_weights = [1, 1, 1, 1, 1]
| loss.kd_weight = 25
| loss.kd_temperature = 8
| loss.kd_mask = false
| loss.kd_detach = false
| loss.ctc_blank_id = 0
| loss.ctc_reduction = mean
| optimizer.name = adamw
| optimizer.lr = 1e-3
| optimizer.betas = [0.9, 0.999]
| optimizer.eps = 1e-8
| optimizer.weight_decay = 0.01
| optimizer.momentum = 0.9
| optimizer.nesterov = false
| optimizer.decay_norm_bias = false
| optimizer.clip_grad_norm = 0
| optimizer.ema_decay = 0
| optimizer.groups = []
| optimizer.muon.momentum = 0.95
| optimizer.muon.nesterov = true
| optimizer.muon.steps = 5
| optimizer.muon.lr_factor = 1
| optimizer.muon.adjust_lr = match_rms_adamw
| optimizer.muon.first = true
| optimizer.muon.last = false
| schedule.name = warmup_cosine
| schedule.warmup_epochs = 1
| schedule.min_lr = 0
| schedule.milestones = []
| schedule.gamma = 0.1
| schedule.t0 = 10
| schedule.t_mult = 2
| schedule.pct_start = 0.3
| schedule.div_factor = 25
| schedule.final_div_factor = 1e4
| schedule.lr_rule = none
| schedule.reference_batch = 256
| train.batch_size = 64
| train.batch_per_process = 0
| train.parts = 0
| train.sync_norm = false
| train.epochs = 30
| train.steps = 0
| train.seed = 42
| train.workers = auto
| train.precision = fp32
| train.amp = false
| train.accumulate = 1
| train.last_batch = keep
| train.recompute = none
| train.deterministic = true
| train.exact = false
| train.strict = false
| train.graph = true
| train.tune = ""
| train.threads = 0
| train.backend = auto
| train.nan_policy = stop
| train.nan_limit = 10
| train.loss_scale = 65536
| train.loss_scale_growth = 2000
| train.freeze = []
| train.progressive.epochs = 0
| train.progressive.width = 0.5
| train.progressive.height = 1
| train.target = ""
| eval.every_epochs = 1
| eval.every_steps = 0
| eval.select_by = auto
| eval.ema = true
| eval.visualization.num_best_samples = 3
| eval.visualization.num_worst_samples = 3
| eval.visualization.num_heatmap_samples = 6
| eval.visualization.save_predictions = true
| eval.visualization.save_heatmaps = true
| early_stopping.enabled = false
| early_stopping.patience = 10
| early_stopping.min_epochs = 0
| early_stopping.min_delta = 0
| early_stopping.second_guard.metric = ""
| early_stopping.second_guard.mode = auto
| early_stopping.second_guard.min_delta = 0
| checkpoint.every_steps = 0
| checkpoint.every_epochs = 1
| checkpoint.keep = 3
| group.engine = auto
| group.port = 0
| group.deadline = 30
| group.bucket_mb = 25
| log.interval_steps = 10
| log.tensorboard = true
| report.gallery = 24
| model.input_channels = 0
| sched.warmup_epochs = 0

$ captrain help man | head -n 3
| .TH CAPTRAIN 1 "" "captrain VERSION" "User Commands"
| .SH NAME
| captrain \- train, evaluate and use CAPTCHA\-type vision models

# The manual page has the keys and the variables of the environment.
$ captrain help man | grep -c 'batch_size'
| 6

$ captrain help man | grep 'CAPTRAIN_\|OPENBLAS\|NO_COLOR'
| Draws labelled images. KIND text: text CAPTCHAs as PNG files named LABEL_INDEX.png. Fonts are looked for in CAPTRAIN_FONT_PATH and the system's font folders; the styles use DejaVu. A character that a font does not have is an error. `captrain gen text \-\-style list` describes the styles.
| seed of the test data; default CAPTRAIN_SEED or 1
| Starts VERB, a verb of this program with its operands and options, in several processes: composes a command for mpirun of Open MPI or mpiexec of MPICH, prints it and runs it. Each process gets its share of the cores, bound to it where that is possible, and \-\-threads to match, unless VERB's options have \-\-threads. SIGINT (Ctrl\-C), SIGTERM, SIGUSR1 and SIGHUP reach all processes: a training saves and ends. The exit code is that of the processes. Where several machines take part, Open MPI is told to take CAPTRAIN_*, OMP_*, OPENBLAS_*, NCCL_*, UCX_* and LD_LIBRARY_PATH along.
| What is kept in the cache directory (CAPTRAIN_CACHE_DIR): decoded images (pixels), the files as they are (files: smaller, decoded again for every batch), nothing (false: pixels in memory); auto: pixels up to 8 GB, else files.
| Fonts, one by lot for each character: names looked up in CAPTRAIN_FONT_PATH and the system's font folders, or paths; []: the style's own. Each must have every character.
| .B CAPTRAIN_VERBOSE
| .B CAPTRAIN_BACKEND_PATH
| .B CAPTRAIN_CACHE_DIR
| .B CAPTRAIN_CACHE_GB
| The user's cache directory; used if CAPTRAIN_CACHE_DIR is not set.
| .B CAPTRAIN_SEED
| .B CAPTRAIN_FONT_PATH
| .B CAPTRAIN_DATADIR
| .B OPENBLAS_CORETYPE
| .B CAPTRAIN_KERNELS
| .B NO_COLOR
| .B CAPTRAIN_NVML
| .B CAPTRAIN_NCCL
| .B CAPTRAIN_MPIRUN
| .B CAPTRAIN_SHARED

$ captrain help config-md | head -n 12
| # Configuration
|
| <!-- Written by the program from its table of keys; do not edit. -->
|
| A configuration is a YAML or JSON file. Keys may be nested (`train: {epochs: 3}`) or dotted
| (`train.epochs: 3`); `--set train.epochs=3` overrides the file, the last one wins. Unknown keys, values
| of the wrong type or outside their range are errors with file, line and column. `1e-3` is a number,
| `1_000` and `1e3` are integers. Aliases, anchors and tags of YAML are not supported. The resolved
| configuration, with every key, is `config.yaml` in the run directory. A path that is no UTF-8 text, or has
| control characters, stands there as `bytes:` and its bytes, with %XX for those that are no plain ASCII and
| for `%`; such a value may be given, too.
|

# Mistyped keys, by what is near.
$ captrain check old/pictures --config quickstart --set data.lenght=5
! captrain: --set data.lenght=5: unknown key 'data.lenght'; did you mean 'data.length'?
? 2

$ captrain train --set nonsense
! captrain: --set: 'nonsense' is not of the form KEY=VALUE
? 2

$ captrain train --set optimiser.lr=1
! captrain: --set optimiser.lr=1: unknown key 'optimiser.lr'; did you mean 'optimizer.lr'?
? 2

$ printf 'train:\n  batch_sise: 4\n' >typo.yaml; captrain train typo.yaml
! captrain: typo.yaml:2:3: unknown key 'train.batch_sise'; did you mean 'train.batch_size'?
? 2

$ printf 'train: [1, 2\n' >syntax.yaml; captrain train syntax.yaml
! captrain: syntax.yaml:2:1: not valid YAML: did not find expected ',' or ']', while parsing a flow sequence
? 2

$ printf 'train: {epochs: 3}\ntrain: {epochs: 4}\n' >twice.yaml; captrain train twice.yaml
! captrain: twice.yaml:2:9: train.epochs is given twice (before at twice.yaml:1:9)
? 2

$ captrain train absent.yaml
! captrain: absent.yaml: there is no such file, and no example of that name is installed
? 2

# Values.
$ captrain train --set optimizer.lr=-1
! captrain: --set optimizer.lr=-1: optimizer.lr: must be above 0 and at most 100 (got '-1')
? 2

$ captrain train --set optimizer.name=adamx
! captrain: --set optimizer.name=adamx: optimizer.name: must be one of adamw, adam, sgd, muon (got 'adamx')
? 2

$ captrain train --set model.width=x
! captrain: --set model.width=x: model.width: must be a number (got 'x')
? 2

$ captrain train --set model.name=textcn
! captrain: --set model.name=textcn: model.name: must be one of textcnn, textcnn-small, crnn, crnn-stacked, crnn-small, reader, reader-large, resnet18, resnet34, resnet50, resnet101, resnet152, slider, slider-small, hrnet-w32, hrnet-w48, tfnet, tfnet-small (got 'textcn')
? 2

$ captrain train --set train.batch_size=automatic
! captrain: --set train.batch_size=automatic: train.batch_size: must be an integer (got 'automatic'); auto is possible, too
? 2

$ captrain train --set data.charset=0
! captrain: --set data.charset=0: data.charset has only one character
? 2

$ captrain plan --model nonsense
! captrain: there is no model 'nonsense'; did you mean 'crnn'? (models: textcnn, textcnn-small, crnn, crnn-stacked, crnn-small, reader, reader-large, resnet18, resnet34, resnet50, resnet101, resnet152, slider, slider-small, hrnet-w32, hrnet-w48, tfnet, tfnet-small)
? 2

# Values that do not go together.
$ captrain train old/cnn.yaml --set amp=true --set train.precision=fp32
! captrain: --set amp=true: train.amp means train.precision: bf16, but --set train.precision=fp32 says train.precision: fp32; give one of the two
? 2

$ captrain train old/crnn.yaml --set loss.name=softmax
! captrain: loss.name: softmax does not suit model.name: crnn-small, which needs ctc
? 2

$ captrain train old/cnn.yaml --set data.size_rule=fit_height
! captrain: data.size_rule: fit_height gives images of several widths, model.name: textcnn-small reads one (resize or refuse)
? 2

$ captrain train old/cnn.yaml --set train.precision=tf32 --out x --backend cpu
! captrain: train.precision: tf32 is a mode of NVIDIA tensor cores, which backend cpu does not have; use fp32, bf16 or fp16
? 2

# Keys of other programs that mean nothing here.
$ captrain check old/pictures --config old/crnn.yaml --set pin_memory=true >/dev/null
! note: --set pin_memory=true: pin_memory is not used: loader threads share memory with the trainer; nothing is pinned or copied between processes
