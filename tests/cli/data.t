# Drawing and judging data.

$ captrain gen text --style list
| simple    like the `captcha` package: turned and warped letters, thirty dots, an arc
| plain     easy to read: bold, hardly turned, few dots, a line
| hard      six fonts, a colour per letter, overlap, lines, arcs and dots
| lines     letters behind six to twelve straight lines of other colours
| dots      letters under hundreds of small dots of other colours
| warp      the whole picture bent along sine waves
| dense     large letters that run into each other
| dark      light letters on a dark background that changes across the picture
| outline   hollow letters: only their contour is drawn
| shadow    letters with a shadow on a background that changes across the picture
| grid      letters on a slightly bent grid
| clutter   upright coloured letters on white, some with a shadow, lines and single pixels over them
| mixed     each picture in one of the styles above, drawn by lot

$ captrain gen text --out a --count 3 --seed 5 --charset 01 --length 2
! wrote 3 images of 160x60 pixels to a

$ ls a
| 00_000001.png
| 11_000000.png
| 11_000002.png

# Nothing is overwritten unless that is asked for.
$ captrain gen text --out a --count 3 --seed 5 --charset 01 --length 2
! captrain: a: the folder is not empty
? 1

$ captrain gen text --out a --count 3 --seed 5 --charset 01 --length 2 --force
! wrote 3 images of 160x60 pixels to a

$ captrain gen text --charset "aé漢" --out b --count 2
~ s|[^ ]*/DejaVu[A-Za-z-]*\.ttf|FONT|
! captrain: FONT: this font has no glyph for '漢' (U+6F22)
? 2

$ captrain check old/pictures
| samples: 12, usable: 12, other files and folders: 0
| labels from: the names of the files
|
| duplicates: none
|
| sizes (width x height):
|      64 x 32          12
|
| label lengths (characters):
|       2               12
|
| charset, 2 characters: "01"
| rarest: '0' (U+0030), 9 times; most frequent: '1' (U+0031), 15 times
|
| good: every picture can be read

$ captrain check old/pictures --config old/crnn.yaml
| samples: 12, usable: 12, other files and folders: 0
| labels from: the names of the files
|
| duplicates: none
|
| sizes (width x height):
|      64 x 32          12
|
| label lengths (characters):
|       2               12
|
| charset, 2 characters: "01"
| rarest: '0' (U+0030), 9 times; most frequent: '1' (U+0031), 15 times
|
| buckets (width, usable samples, share of padding):
|      64               12    0.0 %
|
| time steps (CTC): 12 of 12 labels fit their pictures, 0 with none to spare
|   tightest: 00_000006.png needs 3 of 16
|
| good: training can start with this data

# Everything that can be wrong with it.
$ cp -r old/pictures d; chmod u+w d; cp d/00_000006.png d/01_again.png; cp d/00_000006.png d/0z_other.png; cp d/00_000006.png d/00000000000000000000_long.png; echo x >d/00_text.png; echo x >d/notes.txt

$ captrain check d
| samples: 16, usable: 15, other files and folders: 1
| labels from: the names of the files
|
| unreadable files: 1
|   00_text.png: none of PNG, JPEG, BMP and WebP
|
| duplicates: 1 groups of equal pictures, 3 pictures too many; 1 groups with different labels
|   00000000000000000000_long.png 00_000006.png 01_again.png 0z_other.png  [different labels]
|
| sizes (width x height):
|      64 x 32          15
|
| label lengths (characters):
|       2               15
|      20                1
|
| charset, 3 characters: "01z"
| rarest: 'z' (U+007A), 1 times; most frequent: '0' (U+0030), 33 times
|
| NOT GOOD: 1 file cannot be read
! captrain: d: 1 file cannot be read
? 1

$ captrain check d --config old/crnn.yaml
| samples: 16, usable: 13, other files and folders: 1
| labels from: the names of the files
|
| unreadable files: 1
|   00_text.png: none of PNG, JPEG, BMP and WebP
|
| labels outside the charset: 1
|   0z_other.png: label "0z": character 'z' (U+007A) is not in the charset "01"
|
| labels that need more time steps (CTC) than their pictures give: 1
|   00000000000000000000_long.png: label '00000000000000000000' needs 39 time steps, the image of 64 pixels gives 16
|
| duplicates: 1 groups of equal pictures, 3 pictures too many; 1 groups with different labels
|   00000000000000000000_long.png 00_000006.png 01_again.png 0z_other.png  [different labels]
|
| sizes (width x height):
|      64 x 32          15
|
| label lengths (characters):
|       2               15
|      20                1
|
| charset, 2 characters: "01"
| rarest: 'z' (U+007A), 1 times; most frequent: '0' (U+0030), 33 times
|
| buckets (width, usable samples, share of padding):
|      64               13    0.0 %
|
| time steps (CTC): 13 of 14 labels fit their pictures, 0 with none to spare
|   tightest: 00_000006.png needs 3 of 16
|
| NOT GOOD: training would fail: 3 of 16 training samples cannot be used, 0 are tolerated (data.max_bad)
! captrain: d: training would fail: 3 of 16 training samples cannot be used, 0 are tolerated (data.max_bad)
? 1

$ captrain check d --config old/cnn.yaml
| samples: 16, usable: 14, other files and folders: 1
| labels from: the names of the files
|
| unreadable files: 1
|   00_text.png: none of PNG, JPEG, BMP and WebP
|
| labels outside the charset: 1
|   0z_other.png: label "0z": character 'z' (U+007A) is not in the charset "0123"
|
| duplicates: 1 groups of equal pictures, 3 pictures too many; 1 groups with different labels
|   00000000000000000000_long.png 00_000006.png 01_again.png 0z_other.png  [different labels]
|
| sizes (width x height):
|      64 x 32          15
|
| label lengths (characters):
|       2               15
|      20                1
|
| charset, 4 characters: "0123"
| rarest: 'z' (U+007A), 1 times; most frequent: '0' (U+0030), 33 times
|
| buckets (width, usable samples, share of padding):
|      64               14    0.0 %
|
| NOT GOOD: training would fail: 2 of 16 training samples cannot be used, 0 are tolerated (data.max_bad)
! captrain: d: training would fail: 2 of 16 training samples cannot be used, 0 are tolerated (data.max_bad)
? 1

$ captrain check d --config old/cnn.yaml --set data.size_rule=refuse --set data.width=60 | tail -n 1
| NOT GOOD: training would fail: 16 of 16 training samples cannot be used, 0 are tolerated (data.max_bad)
! captrain: d: training would fail: 16 of 16 training samples cannot be used, 0 are tolerated (data.max_bad)

# As a training would judge it.
$ captrain check old/pictures --config old/cnn.yaml --set data.length=5 --set data.synth.length=5 | tail -n 1
| NOT GOOD: training would fail: 12 of 12 training samples cannot be used, 0 are tolerated (data.max_bad)
! captrain: old/pictures: training would fail: 12 of 12 training samples cannot be used, 0 are tolerated (data.max_bad)

$ captrain check old/pictures --config old/cnn.yaml --set train.last_batch=drop --set train.batch_size=9999 | tail -n 1
| NOT GOOD: train.batch_size 9999 with train.last_batch drop leaves no batch of 11 training samples
! captrain: old/pictures: train.batch_size 9999 with train.last_batch drop leaves no batch of 11 training samples

$ captrain check old/pictures --config old/cnn.yaml --set train.backend=cuda >/dev/null
! captrain: old/pictures: backend cuda: no plug-in captrain-cuda.so in FOLDERS
? 1

$ mkdir empty; captrain check empty
! captrain: empty: no PNG, JPEG, BMP or WebP pictures in this folder (0 other files, 0 sub-folders; sub-folders are not searched)
? 1

$ captrain check absent
! captrain: absent: cannot open the folder: No such file or directory
? 1
