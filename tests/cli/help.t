# The help of the program and of every verb.

$ captrain --help
| captrain: a trainer for CAPTCHA-type vision models
|
|   captrain                      train the built-in example: nothing to prepare
|   captrain VERB [OPTION]...
|
| Verbs:
|   train        train a model
|   eval         score a model on labelled images
|   predict      read images with a model
|   gen          draw labelled images
|   check        examine a folder of labelled images
|   init         write a configuration for a folder of labelled images
|   import-torch make a model file from PyTorch weights
|   export       write the weights of a model, or the model as ONNX, for other programs
|   plan         print what a training would do, without doing it
|   bench        time training steps, or single operators
|   tune         measure which implementations are fastest here
|   profile      tell where the time of a training step goes
|   selftest     check every operator on this machine
|   doctor       tell what this machine and build offer
|   monitor      watch power, load, clocks and memory of a device
|   launch       run a verb in several processes, started by mpirun
|   compare      runs beside each other: results, and keys that differ
|   race         time trainings up to a target, over seeds
|   fit-style    find a generator's style that looks like given pictures
|   completion   print what bash or zsh completes command lines with
|   help         help on a verb, on configuration keys, or the man page
|
| Options of every verb (before or after it):
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V
|
| `captrain VERB --help` tells more; `captrain help config` lists the configuration keys, `captrain help augment` those of a section,
| `captrain help train.epochs` tells of one.
| Exit codes: 0 done; 1 failed; 2 usage, configuration or backend not available; 75 saved, may be started again with --resume;
| 129, 130, 143 stopped by SIGHUP, SIGINT, SIGTERM after saving.

$ captrain train --help
| captrain train [CONFIG] [OPTION]...
|
| Trains the model that CONFIG describes: a YAML or JSON file, or the name of a shipped example
| (quickstart, wilhelmy2013, wilhelmy2013-crnn, captcha-package, captcha-package-crnn,
| captcha-package-many, race-captcha). Without CONFIG it is the built-in example, which draws its own
| pictures. The run directory receives config.yaml, metrics.jsonl, run.log, result.json, report.html,
| TensorBoard events and checkpoints. SIGINT (Ctrl-C), SIGTERM, SIGUSR1 and SIGHUP (a closed terminal;
| not under nohup) finish the step, save and stop.
|
| Options:
|   --set KEY=VALUE
|       set a configuration key; may be given often, later ones win
|   --out DIR
|       run directory; default runs/<date>-<name>. One that holds a run is an error without --resume
|   --resume
|       continue the run in DIR from its newest undamaged checkpoint; with none, start anew and say so
|   --init MODEL
|       start from the weights of a model file, or of the best one in a run's folder; the last layer
|       goes by character
|   --tune FILE
|       implementations as `captrain tune` chose them, or auto: measured now, unless they are known;
|       the same as --set train.tune=FILE
|   --no-graph
|       queue every operator anew in every step instead of replaying a recorded step, to find faults;
|       the same as --set train.graph=false
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain eval --help
| captrain eval MODEL DATA [OPTION]...
|
| Reads every labelled image of DATA with MODEL (a checkpoint, or a run's folder: its best one) and
| prints string and character accuracy, the character error rate, errors by position or (models with
| CTC) insertions and deletions, and the most frequent confusions. Every sample is scored or the call
| fails.
|
| Options:
|   --batch N
|       images per batch; default 64
|   --json
|       print one JSON object
|
| Options of the task text:
|   --decoder NAME
|       greedy or, for models with CTC, beam; default greedy
|   --beam-width N
|       texts that --decoder beam follows at a time; default 10
|   --charset CHARS
|       only texts of these characters, which the model must know, are read: the most probable one of
|       them
|   --length N|A-B|trained
|       only texts of N, or A to B, characters are read, or of as many as training labels had; a
|       picture too narrow for that is an error
|
| Options of the task gloss:
|   --labels FILE
|       sign language: label file of the clips; default FOLDER.csv beside FOLDER, or FOLDER.corpus.csv
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain predict --help
| captrain predict MODEL FILE... [OPTION]...
|
| Prints a line for each image: file, text, confidence, with tabs between them; one that
| --reject-below rejects has no text and the word rejected behind its confidence. MODEL is a
| checkpoint, or a run's folder: its best one; FILE is an image, or a folder: all images in it, or -:
| standard input, which is one image where it begins as PNG, JPEG, BMP and WebP files do, and else the
| name of an image in each line. Classes, geometry, normalisation and the calibration of the
| confidence come from the model file; nothing else is needed. A file that cannot be read is reported,
| the others are still read, and the exit code is 1.
|
| Options:
|   --json
|       print a JSON array
|   --jsonl
|       print a JSON object a line, each batch as soon as it is read; pictures that cannot be read are
|       lines, too
|   --reject-below X
|       mark what is read with a confidence below X, 0 to 1, as rejected
|
| Options of the task text:
|   --decoder NAME
|       greedy or, for models with CTC, beam; default greedy
|   --beam-width N
|       texts that --decoder beam follows at a time; default 10
|   --charset CHARS
|       only texts of these characters, which the model must know, are read: the most probable one of
|       them
|   --length N|A-B|trained
|       only texts of N, or A to B, characters are read, or of as many as training labels had; a
|       picture too narrow for that is an error
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain gen --help
| captrain gen KIND [OPTION]...
|
| Draws labelled images. KIND text: text CAPTCHAs as PNG files named LABEL_INDEX.png. Fonts are looked
| for in CAPTRAIN_FONT_PATH and the system's font folders; the styles use DejaVu. A character that a
| font does not have is an error. `captrain gen text --style list` describes the styles.
|
| Options:
|   --out DIR
|       folder to write into; created if need be
|   --count N
|       number of images; default 1000
|   --seed S
|       seed; image i is a function of (S, i) alone; default 1
|   --like RUN|CONFIG
|       draw what its model reads: characters, lengths, size, style
|   --force
|       write into a folder that is not empty
|
| Options of the task text:
|   --style NAME|FILE
|       style of the pictures, or a file of one; `list` prints the styles
|   --print
|       draw nothing, print the style's parameters as a file has them
|   --charset CHARS
|       characters to draw from, UTF-8; default 0-9A-Z
|   --length N|LO-HI
|       characters per image; default 4
|   --width W
|       pixels; default 160
|   --height H
|       pixels; default 60
|   --font NAME
|       font file: a name to look up or a path; given more than once, each character is drawn in one
|       of them; default the style's
|   --size PX
|       size of the letters, pixels per em in an image 60 pixels high; may be given more than once;
|       default the style's
|
| Options of the task slider:
|   --style NAME
|       slider: a style that is drawn; may be given more than once; `list` prints them
|   --without-style NAME
|       slider: a style that is left out, may be given more than once
|   --confusion NAME
|       slider: a kind of confusion; given more than once, each as often; default the reference's
|       shares
|   --backgrounds DIR
|       slider: folder of pictures to use as backgrounds
|   --width W
|       slider: pixels, with --height; default sizes by lot
|   --height H
|       slider: pixels, with --width
|   --components
|       slider: write the clean background and the piece alone, too
|   --json
|       slider: print what was drawn, and how fast, as JSON
|
| Options of the task gloss:
|   --glosses N
|       gestures: words there are; default 40
|   --signers N
|       gestures: signers, of whom the last is in the test only; default 8
|   --length N|LO-HI
|       gestures: glosses of a clip; default 2-5
|   --size PX
|       gestures: height and width, pixels; default 96
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain check --help
| captrain check DATA [OPTION]...
|
| Decodes everything in DATA and reports unreadable files, labels that a model could not give,
| duplicates by pixels (also across training and validation), sizes and what the labels are made of.
| Without --config only unreadable files or an empty folder give exit code 1; with it, whatever would
| make that training fail.
|
| Options:
|   --config CONFIG
|       judge the data as a training with this configuration would
|   --set KEY=VALUE
|       set a configuration key
|   --labels FILE
|       label file of DATA; default: found by its name
|   --json
|       print one JSON object
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain import-torch --help
| captrain import-torch FILE [OPTION]...
|
| Reads a PyTorch state dict, a .pth or .pt file of torch.save or a safetensors file, and writes a
| model file that eval, predict and train --init take. Nothing in the file is run: what is no tensor,
| dict, list, number or text is refused by name. In a checkpoint the state dict is found, whatever is
| beside it. Tensors go by PyTorch's names; the order of their elements is converted, floating point
| types are converted to the model's. Every tensor must be there in the right shape and none may be
| left over (num_batches_tracked apart); those that are not are listed. Where shapes and order say
| what is meant, --yes or --write-map take them so.
|
| Options:
|   --out MODEL
|       model file to write
|   --model NAME
|       model the weights belong to; default model.name of the configuration
|   --config CONFIG
|       configuration the model file carries: image size, mean, std; default all defaults
|   --set KEY=VALUE
|       set a configuration key
|   --map OLD=NEW
|       rename tensors: OLD is a name or its first parts (module.=, backbone=cnn); may be given more
|       than once, the first rule that fits is applied
|   --map-file FILE
|       more such rules, one a line
|   --map-preset NAME
|       names and normalisation of another program: crnn.pytorch, torchvision.resnet, timm.resnet
|   --key NAME
|       dict of a checkpoint that is meant (ema, state.net); default state_dict, model, ... or the
|       only one
|   --yes
|       take tensors by shape and order where names do not fit
|   --write-map FILE
|       write how tensors would be taken as rules for --map-file, to look through and change; makes no
|       model
|   --force
|       replace a file that exists
|
| Options of the task text:
|   --charset CHARS
|       the characters of the classes in class order, UTF-8, without the blank of a CTC model (which
|       is class 0); default data.charset
|   --length N|A-B
|       characters per label; for models of any length, the most, or the least and the most that
|       training labels had; default data.length or the model's
|
| Options of the task gloss:
|   --vocab FILE
|       sign language: the words, vocabulary.json or a word in each line
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain export --help
| captrain export MODEL [OPTION]...
|
| Writes the weights of MODEL (the averaged ones where the model is read with them) as a safetensors
| file: with the torch layout a state dict that safetensors.torch.load_file() and load_state_dict()
| take. import-torch reads it back bit by bit. With --format onnx it writes a graph that ONNX Runtime
| and others run, reads the file back, runs it over validation samples of the run and compares what it
| reads and all scores with the model; a file that differs is not left behind.
|
| Options:
|   --out FILE
|       file to write; its ending is that of the format
|   --format NAME
|       safetensors: the weights (default); onnx: a graph that runs
|   --for PROGRAM
|       onnx: as PROGRAM loads it, and with it what it wants beside: ddddocr (1.6) or ddddocr-1.5 (1.4
|       and 1.5)
|   --opset N
|       onnx: operator set, 11 to 20; default 17, for ddddocr-1.5 12
|   --normalise WHERE
|       onnx: inside: pixels 0..1 go in (default); outside: pixels with mean and std taken off
|   --no-fold
|       onnx: batch norms stay nodes of their own
|   --prove N
|       onnx: pictures or clips that the file is proved with; default 2000
|   --check FILE
|       prove an ONNX file of MODEL that is there; nothing is written
|   --layout NAME
|       torch: shapes and element order of PyTorch (default); captrain: as trained here
|   --map OLD=NEW
|       rename tensors, as for import-torch, with this program's names on the left
|   --map-file FILE
|       more such rules, one a line
|   --force
|       replace a file that exists
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain plan --help
| captrain plan [CONFIG] [OPTION]...
|
| Prints every operator with shapes, FLOPs, bytes and chosen implementation, the parameters, the bytes
| of each arena, the peak, the largest micro-batch for a given memory, the effective batch, the
| learning rate after scaling, and the precision receipt: what each operator was asked to compute in
| and what it does. Touches no tensor.
|
| Options:
|   --model NAME
|       plan a model of the catalogue instead of a configuration
|   --batch N
|       with --model: samples per step; default 64
|   --precision P
|       with --model: fp32, tf32, bf16, fp16 or f64; default fp32
|   --height H
|       with --model: pixels of the model's pictures; default the model's, here and below
|   --width W
|       with --model: pixels
|   --frames F
|       with --model: pictures of a clip, for models of clips
|   --vocab N
|       with --model: classes, the blank of CTC included
|   --hidden N
|       with --model: as model.hidden
|   --recompute
|       with --model: recompute activations block by block instead of keeping them
|   --memory SIZE
|       memory for which the largest micro-batch is reported; default: the device's
|   --set KEY=VALUE
|       set a configuration key
|   --json
|       print one JSON object
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain bench --help
| captrain bench [MODEL] [OPTION]...
|
| Times whole training steps (forward, loss, backward, optimizer) of a model of the catalogue
| (model.name in `captrain help config`) on resident data. With --op it times single operator calls
| instead, each implementation that accepts them, beside the machine's peaks measured in the same
| process.
|
| Options:
|   --batch N|auto
|       samples per step; default 64; auto: as many as the free memory holds
|   --steps K
|       timed steps; default 20
|   --warmup K
|       steps before; default 3
|   --precision P
|       fp32, tf32, bf16, fp16 or f64; default fp32
|   --loss NAME
|       a loss of the model: softmax, soft_margin, ctc, basic, early, late or tfnet; default the usual
|   --height H
|       pixels of the model's pictures; default the model's, here and below
|   --width W
|       pixels
|   --frames F
|       pictures of a clip, for models of clips
|   --vocab N
|       classes, the blank of CTC included
|   --hidden N
|       as model.hidden
|   --recompute
|       recompute activations block by block instead of keeping them
|   --ops
|       also the time of every operator and implementation, beside the peaks of this machine
|   --calls
|       also the time of every distinct operator call
|   --op NAME|CALL
|       instead of steps, every implementation of single calls: those of operator NAME in MODEL's step
|       (without MODEL: in textcnn's, resnet18's and resnet50's), or one CALL as `plan --json` and
|       REPRO lines print it
|   --exact
|       only implementations that do not trade accuracy for speed
|   --deterministic
|       only implementations with the same bits in every run
|   --tune FILE
|       implementations as `captrain tune` chose them
|   --no-graph
|       queue every operator anew in every step instead of replaying a recorded step
|   --json
|       print one JSON object
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain tune --help
| captrain tune [CONFIG] [OPTION]...
|
| Measures every implementation that accepts each distinct operator call of a training, in each
| variant it has, prints a table and writes the fastest ones to a file for train.tune (train --tune
| FILE); train --tune auto does that by itself. Without it, the choice is a fixed function of shape
| and processor. Other choices give other last bits, so a run keeps those it began with: they are
| stored in its directory and in every checkpoint.
|
| Options:
|   --model NAME
|       the training step of a model of the catalogue instead of a configuration
|   --batch N
|       with --model: samples per step; default 64
|   --precision P
|       with --model: fp32, tf32, bf16, fp16 or f64; default fp32
|   --set KEY=VALUE
|       set a configuration key
|   --exact
|       only implementations that do not trade accuracy for speed
|   --deterministic
|       only implementations with the same bits in every run
|   --out FILE
|       where the choices go; default choices.json
|   --json
|       print one JSON object
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain profile --help
| captrain profile [CONFIG] [OPTION]...
|
| Runs training steps and times the loader, the copy to the device, the queueing of calls, every
| operator beside this machine's measured ceilings, and reading back; then says what holds training up
| and which key to turn. Trains nothing that is kept.
|
| Options:
|   --model NAME
|       the training step of a model of the catalogue instead of a configuration
|   --batch N
|       with --model: samples per step; default 64
|   --precision P
|       with --model: fp32, tf32, bf16, fp16 or f64; default fp32
|   --set KEY=VALUE
|       set a configuration key
|   --steps K
|       steps measured in each of the ways; default 20
|   --json
|       print one JSON object
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain selftest --help
| captrain selftest [OPTION]...
|
| Runs every implementation of every operator against the reference within the tolerance table and
| prints a table; or, with --golden, repeats the steps of a PyTorch golden file and prints the
| differences of loss, gradients and parameters per tensor, worst first; or, with --ctc, compares CTC
| losses and gradients sample by sample, in f64 with the reference and in f32 with each backend's
| normal implementation.
|
| Options:
|   --golden FILE
|       compare with a PyTorch golden file (safetensors) instead; implies exact implementations
|   --inexact
|       with --golden: the implementations a training takes by default, Winograd convolutions among
|       them; gradients within 100 times the file's noise
|   --ctc FILE
|       compare with a file of CTC losses and gradients (safetensors) instead
|   --op NAME
|       only this operator
|   --impl NAME
|       only this implementation; NAME:VARIANT: only that variant of it
|   --variants
|       every variant as well that a library offers of a call, as tune times them
|   --data PATTERN
|       only this pattern of test data, as a failure prints it
|   --case CALL
|       only this call, as a failure prints it
|   --seed S
|       seed of the test data; default CAPTRAIN_SEED or 1
|   --full
|       the shapes of the real models as well
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain doctor --help
| captrain doctor [OPTION]...
|
| Prints CPU features, cores, BLAS and its kernel set, OpenMP, memory, fonts, cache directory,
| environment, and the backends found or why not; of each device versions, precisions, telemetry, and
| a smoke test: a small model is trained for a moment and its losses are compared with the
| reference's. Exit code 1 if that fails.
|
| Options:
|   --json
|       print one JSON object
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain compare --help
| captrain compare RUN RUN... [OPTION]...
|
| Prints a table of what runs came to, the best marked by a star, and the configuration keys in which
| they differ. Of a run that has not finished, metrics are those of its last scoring. Runs of
| different tasks may stand beside each other; a dash says that a run has no such number. The page of
| --html needs no other file.
|
| Options:
|   --html FILE
|       also write one page with the tables and the curves over each other
|   --json
|       print one JSON object
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain monitor --help
| captrain monitor [OPTION]...
|
| Prints a line for each device and reading: power and its limit, share of the time that a kernel ran
| and that memory was used, temperature, clocks and their maximum, memory of all processes, and what
| holds the clocks down. What a device does not tell is left out, or null with --json. It asks the
| driver and starts nothing on the device. Of the backend cpu it is the whole machine.
|
| Options:
|   --device N|all
|       which device of the backend, counted from 0; default all
|   --interval S
|       seconds between two readings, 0.01 to 3600; default 1
|   --count N
|       readings; default: until it is stopped
|   --json
|       print one JSON object a line
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain launch --help
| captrain launch [OPTION]... VERB [OPTION OF VERB]...
|
| Starts VERB, a verb of this program with its operands and options, in several processes: composes a
| command for mpirun of Open MPI or mpiexec of MPICH, prints it and runs it. Each process gets its
| share of the cores, bound to it where that is possible, and --threads to match, unless VERB's
| options have --threads. SIGINT (Ctrl-C), SIGTERM, SIGUSR1 and SIGHUP reach all processes: a training
| saves and ends. The exit code is that of the processes. Where several machines take part, Open MPI
| is told to take CAPTRAIN_*, OMP_*, OPENBLAS_*, NCCL_*, UCX_* and LD_LIBRARY_PATH along.
|
| Options:
|   -n N
|       processes; default one for each device of the backend, which is 1 without cards
|   --hosts A,B
|       machines, which ssh reaches without a password and which have this program, the data and the
|       folder this is started in under the same paths; A:4,B:4 says how many processes each takes,
|       else they are shared out evenly
|   --restarts K
|       start a training that saved and ended with exit code 75 again, with --resume, at most K times;
|       needs its --out DIR
|   --dry-run
|       print the command and start nothing
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

$ captrain help --help
| captrain help [TOPIC] [OPTION]...
|
| Prints help. TOPIC is a verb, a configuration key (train.epochs) or a section of them (augment),
| `config` (every configuration key), `config-md` (the same in Markdown) or `man` (the manual page in
| roff).
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V

# The same in other words.
$ captrain plan --help >a && captrain plan -h >b && captrain --help plan >c && captrain help plan >d && cmp a b && cmp a c && cmp a d

$ captrain help >a && captrain --help >b && cmp a b

$ captrain race --help
| captrain race [CONFIG]... [OPTION]...
|
| Trains every CONFIG once per seed until a validation reaches the target, and prints seconds, samples
| and steps up to there, their means and spread. Seconds count from the beginning of the run, data and
| plans included, scoring apart. Another program can race along (--command). Seeds take turns: one of
| all before the next. Every run is a folder as `train` makes it, below that of the race, which also
| gets race.json, race.csv and race.svg. A seed that does not reach the target is told, not an error.
|
| Options:
|   --target METRIC=VALUE
|       what a validation has to reach: a metric of the task, '=', a value as result.json has it;
|       default train.target of CONFIG
|   --seeds N
|       runs of each, with as many seeds; default 3
|   --seed N
|       the first of them; default 1
|   --every STEPS
|       validate after every so many optimizer steps, which is how exactly times are known; the same
|       as --set eval.every_steps=STEPS
|   --command COMMAND
|       another program that races, a line for the shell in which {seed}, {target} and {threads} are
|       filled in; it prints a line of JSON at each of its validations: seconds, samples, steps,
|       metric
|   --set KEY=VALUE
|       set a configuration key, for every CONFIG; may be given often
|   --out DIR
|       folder of the race; default runs/<date>-race. One that holds a race is an error without
|       --resume
|   --resume
|       go on with the race in DIR: what is finished is not run again
|   --json
|       print one JSON object
|
| Options of every verb:
|   --backend NAME
|       backend to compute on: auto, cpu, cuda; a backend that cannot run is an error, never a
|       fall-back
|   --threads N
|       compute threads; 0 = all cores this process may use
|   --verbose
|       say more; also -v
|   --quiet
|       errors only; also -q
|   --help
|       help on the verb; also -h
|   --version
|       print the version; also -V
