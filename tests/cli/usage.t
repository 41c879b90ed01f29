# Words, options and what is said of wrong ones.

$ captrain --version
| captrain VERSION

$ captrain -V
| captrain VERSION

$ captrain doctor --version
| captrain VERSION

$ captrain nonsense
! captrain: unknown verb 'nonsense'; see captrain --help
? 2

$ captrain trian
! captrain: unknown verb 'trian'; did you mean 'train'? See captrain --help
? 2

# The names that other programs have for it.
$ captrain evaluate model data
! captrain: unknown verb 'evaluate'; did you mean 'eval'? See captrain --help
? 2

$ captrain my.yaml
! captrain: 'my.yaml' stands without a verb; did you mean 'captrain train my.yaml'?
? 2

$ captrain help nonsense
! captrain help: unknown topic 'nonsense'; topics are the verbs, configuration keys and their sections, config, config-md and man
? 2

$ captrain help evaluate
! captrain help: unknown topic 'evaluate' (did you mean 'eval'?); topics are the verbs, configuration keys and their sections, config, config-md and man
? 2

$ captrain train --nonsense
! captrain: unknown option '--nonsense'; see captrain train --help
? 2

# An option that is a configuration key.
$ captrain train --epochs 3
! captrain: unknown option '--epochs'; train.epochs is a configuration key: --set train.epochs=...; see captrain train --help
? 2

$ captrain train --batch-size=64
! captrain: unknown option '--batch-size'; train.batch_size is a configuration key: --set train.batch_size=...; see captrain train --help
? 2

$ captrain eval --jsno a b
! captrain: unknown option '--jsno'; did you mean '--json'? See captrain eval --help
? 2

$ captrain train a b
! captrain train: one word too many: 'b'
? 2

$ captrain eval onlymodel
! captrain eval: needs MODEL DATA
? 2

$ captrain predict onlymodel
! captrain predict: needs MODEL FILE...
? 2

$ captrain bench textcnn --batch
! captrain: --batch needs a value: N|auto
? 2

$ captrain bench textcnn --batch 0
! captrain: --batch: '0' is not a whole number from 1 to 16777216, or auto
? 2

$ captrain bench textcnn --batch 1.5
! captrain: --batch: '1.5' is not a whole number from 1 to 16777216, or auto
? 2

$ captrain bench textcnn --batch automatic
! captrain: --batch: 'automatic' is not a whole number from 1 to 16777216, or auto
? 2

$ captrain bench --op add --batch auto
! captrain: bench: --op times calls of a batch that is said; --batch auto is for steps
? 2

$ captrain bench textcnn-small --warmup 0
! captrain: --warmup: '0' is not a whole number from 1 to 1000000
? 2

$ captrain --threads -1 bench textcnn
! captrain: --threads: '-1' is not a whole number from 0 to 4096
? 2

$ captrain --quiet --verbose doctor
! captrain: --verbose and --quiet exclude each other
? 2

$ captrain gen nonsense --out x
! captrain: gen: unknown kind 'nonsense'; the kinds are: text, slider, gestures
? 2

$ captrain gen text
! captrain: gen: needs --out DIR
? 2

$ captrain gen text --out x --style nonsense
! captrain: unknown text style 'nonsense'; the styles are simple, plain, hard, lines, dots, warp, dense, dark, outline, shadow, grid, clutter, mixed, and files (.yaml)
? 2

$ captrain gen text --out x --font NoSuchFont.ttf
! captrain: font NoSuchFont.ttf is not installed; install it, or name its folder in CAPTRAIN_FONT_PATH
? 2

$ captrain gen text --out x --size 2
! captrain: gen: --size: '2' is not a number from 4 to 400
? 2

$ captrain monitor --device one
! captrain: --device: 'one' is neither a whole number from 0 to 4095 nor 'all'
? 2

$ captrain monitor --interval 0
! captrain: --interval: '0' is not a number from 0.01 to 3600
? 2

$ captrain monitor --count 0
! captrain: --count: '0' is not a whole number from 1 to 1000000000
? 2

$ captrain monitor --backend cpu --device 1
! captrain: backend cpu: there is no device 1; it has 1, counted from 0
? 2

$ captrain tune --batch 3
! captrain: tune: --batch and --precision belong to --model; a configuration has train.batch_size and train.precision
? 2

$ captrain tune old/cnn.yaml --model textcnn
! captrain: tune: --model stands instead of CONFIG and --set
? 2

$ captrain export
! captrain export: needs MODEL
? 2

$ captrain export old/run-cnn
! captrain export: needs --out FILE
? 2

$ captrain import-torch old/choices.json
! captrain import-torch: needs --out FILE
? 2

$ captrain selftest --ctc a --golden b
! captrain selftest: --golden and --ctc exclude each other
? 2

$ captrain train --resume
! captrain: --resume needs the run directory: give --out DIR
? 2

# Backends: one that is not there is an error, never a fall-back.
$ captrain bench textcnn-small --backend nonsense
! captrain: there is no backend 'nonsense'; the names are auto, cuda, cpu
? 2

$ captrain --backend cuda bench textcnn-small
! captrain: backend cuda: no plug-in captrain-cuda.so in FOLDERS
? 2

$ captrain monitor --backend nonsense
! captrain: there is no backend 'nonsense'; the names are auto, cuda, cpu
? 2

$ captrain gen text --out x --backend cpu
! captrain gen: pictures are drawn without a backend; --backend means nothing here
? 2

$ captrain check old/pictures --backend cpu
! captrain: check: --backend needs --config: without a training nothing is computed on one
? 2

$ CAPTRAIN_KERNELS=mmx captrain bench textcnn-small --batch 1 --backend cpu
~ s/have [a-z0-9, ]*$/have SETS/
! captrain: cpu: CAPTRAIN_KERNELS asks for the inner loops 'mmx'; this processor and build have SETS
? 2
