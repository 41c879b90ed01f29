# Using models: a text CNN and a CRNN (tests/old/0.1).

$ captrain eval old/run-cnn old/pictures --threads 1 --backend cpu
| samples          12
| string accuracy  66.67 %  (8 right)
| char accuracy    83.33 %  (20 of 24)
| loss             0.38872
| confidence       uncalibrated, 0.2536 from the accuracy (expected calibration error)
| errors by position:  1: 0  2: 4
| most frequent confusions (label read as):
|   0 -> 3  2
|   1 -> 0  1
|   1 -> 3  1
| wrong (the first 10):
|   00_000006.png  00 read as 03 (44.1 %)
|   01_000010.png  01 read as 00 (39.2 %)
|   10_000003.png  10 read as 13 (46.4 %)
|   11_000000.png  11 read as 13 (59.6 %)

$ captrain eval old/run-crnn old/pictures --threads 1 --backend cpu
| samples          12
| string accuracy  75.00 %  (9 right)
| character errors 12.50 %  (3 edits in 24 characters)
| loss             0.64003
| confidence       uncalibrated, 0.2103 from the accuracy (expected calibration error)
| edits:  substitutions 3  insertions 0  deletions 0
| most frequent confusions (label read as):
|   1 -> 0  3
| wrong (the first 10):
|   10_000003.png  10 read as 00 (56.0 %)
|   11_000001.png  11 read as 10 (69.0 %)
|   11_000002.png  11 read as 01 (40.6 %)

$ captrain eval old/run-crnn old/pictures --threads 1 --backend cpu --decoder beam --beam-width 3
| samples          12
| decoder          beam of 3
| string accuracy  83.33 %  (10 right)
| character errors 8.33 %  (2 edits in 24 characters)
| loss             0.64003
| confidence       uncalibrated, 0.2325 from the accuracy (expected calibration error)
| edits:  substitutions 2  insertions 0  deletions 0
| most frequent confusions (label read as):
|   1 -> 0  2
| wrong (the first 10):
|   10_000003.png  10 read as 00 (56.0 %)
|   11_000001.png  11 read as 10 (69.0 %)

$ captrain predict old/run-cnn old/pictures --threads 1 --backend cpu
| old/pictures/00_000006.png	03	0.4406
| old/pictures/00_000007.png	00	0.6413
| old/pictures/00_000009.png	00	0.6247
| old/pictures/01_000005.png	01	0.8704
| old/pictures/01_000010.png	00	0.3918
| old/pictures/10_000003.png	13	0.4641
| old/pictures/11_000000.png	13	0.5965
| old/pictures/11_000001.png	11	0.8978
| old/pictures/11_000002.png	11	0.3385
| old/pictures/11_000004.png	11	0.6699
| old/pictures/11_000008.png	11	0.6037
| old/pictures/11_000011.png	11	0.5800

$ captrain predict old/run-crnn old/pictures/00_000006.png old/pictures/11_000011.png --threads 1 --backend cpu
| old/pictures/00_000006.png	00	0.9802
| old/pictures/11_000011.png	11	0.6044

# A file that is no picture is said, the others are read.
$ captrain predict old/run-crnn old/cnn.yaml old/pictures/00_000006.png --threads 1 --backend cpu
| old/pictures/00_000006.png	00	0.9802
! captrain: error: old/cnn.yaml: none of PNG, JPEG, BMP and WebP
! captrain: 1 of 2 pictures could not be read
? 1

$ captrain predict old/run-crnn old/cnn.yaml --threads 1 --backend cpu
! captrain: error: old/cnn.yaml: none of PNG, JPEG, BMP and WebP
! captrain: 1 of 1 pictures could not be read
? 1

# What there is not.
$ captrain eval absent old/pictures
! captrain: absent: cannot open: No such file or directory
? 1

$ captrain eval old/run-cnn absent
! captrain: absent: cannot open the folder: No such file or directory
? 1

$ captrain eval old/cnn.yaml old/pictures
! captrain: old/cnn.yaml: no safetensors file, or a damaged one: its first bytes mean a header of 8392569455036669987 bytes, but it has 629 in all
? 1

$ captrain predict old old/pictures
! captrain: old: is a folder, and holds no checkpoints/best.safetensors of a run
? 1

$ mkdir empty; captrain predict old/run-cnn empty; captrain eval old/run-cnn empty
! captrain: empty: no PNG, JPEG, BMP or WebP pictures in this folder (0 other files, 0 sub-folders; sub-folders are not searched)
! captrain: empty: no PNG, JPEG, BMP or WebP pictures in this folder (0 other files, 0 sub-folders; sub-folders are not searched)
? 1

$ head -c 300 old/run-cnn/checkpoints/best.safetensors >cut.safetensors; captrain predict cut.safetensors old/pictures
! captrain: cut.safetensors: no safetensors file, or a damaged one: its first bytes mean a header of 17336 bytes, but it has 300 in all
? 1

# Labels that are none of the model's.
$ mkdir other; cp old/pictures/00_000006.png other/zz_1.png; captrain eval old/run-cnn other
! captrain: other: 1 of 1 samples cannot be used (0 are tolerated, data.max_bad):
!   zz_1.png: label "zz": character 'z' (U+007A) is not in the charset "0123"
? 1

# Decoders.
$ captrain eval old/run-crnn old/pictures --decoder viterbi
! captrain: --decoder: 'viterbi' is neither greedy nor beam
? 2

$ captrain eval old/run-crnn old/pictures --beam-width 3
! captrain: --beam-width belongs to --decoder beam
? 2

$ captrain eval old/run-crnn old/pictures --decoder beam --beam-width 0
! captrain: --beam-width: '0' is not a whole number from 1 to 1000
? 2

$ captrain eval old/run-cnn old/pictures --decoder beam
! captrain: --decoder beam: textcnn-small reads a fixed number of positions, each by itself; beam search is for CTC models
? 2

# Out and in again.
$ captrain export old/run-cnn --out a.safetensors
! wrote a.safetensors: 44 tensors of textcnn-small in PyTorch's layout

$ captrain export old/run-cnn --out a.safetensors
! captrain: a.safetensors exists already: give --force to replace it
? 2

$ captrain export old/run-cnn --out b.safetensors --layout keras
! captrain: export: there is no layout 'keras'; there are torch and captrain
? 2

$ captrain export a.safetensors --out b.safetensors
! captrain: a.safetensors: not a captrain model (its metadata has no 'format_version')
? 1

$ captrain import-torch a.safetensors --model textcnn-small --charset 0123 --length 2 --out m.safetensors --set model.width=0.25 --set model.hidden=8 --set data.height=32 --set data.width=64
! wrote m.safetensors: textcnn-small, 13040 parameters, 2 x 4 classes

$ captrain import-torch a.safetensors --model textcnn-small --charset 01234 --length 2 --out n.safetensors --set model.width=0.25 --set model.hidden=8 --set data.height=32 --set data.width=64
! captrain: a.safetensors: does not fit model textcnn-small (2 tensors; --map OLD=NEW renames):
!   fc.bias: is f32[8] in the file, the model needs f32[10]
!   fc.weight: is f32[8,64] in the file, the model needs f32[10,64]
? 1

$ captrain import-torch a.safetensors --model textcnn-small --out n.safetensors
! captrain: import-torch: the characters of the classes must be given, in class order: --charset
? 2

$ captrain eval m.safetensors old/pictures --threads 1 --backend cpu | head -n 2
| samples          12
| string accuracy  66.67 %  (8 right)
