# A training of some steps, its words on the way and at the end, and what stops one from beginning.

$ captrain train old/cnn.yaml --out run --threads 1 --backend cpu --set train.epochs=1 --set data.synth.count=64
~ s/scored in [0-9.]* s/scored in TIME/
~ s/steps in [0-9.]* [a-z]*;/steps in TIME;/
~ s/loss [0-9.]*/loss LOSS/g
~ s/[0-9.]* %/SHARE %/g
~ s/temperature [0-9.]*/temperature NUMBER/
~ s/label \([0-3][0-3]\)  *read as [0-3][0-3] *$/label \1 read as TEXT/
| validation: loss LOSS, strings right SHARE %, characters right SHARE %, character error rate SHARE %
| examples from the validation set:
|   run/examples/23_1.png        label 23 read as TEXT
|   run/examples/30_2.png        label 30 read as TEXT
|   run/examples/02_3.png        label 02 read as TEXT
| model:  run/checkpoints/best.safetensors
| report: run/report.html
| use it: captrain predict run IMAGE...
! captrain VERSION, run directory run
!   data       64 training samples (synth:text), 40 for validation
!   charset    0123
!   model      textcnn-small, 13,040 parameters, 32x64x1 pixels -> 2 x 4 classes
!   batch      16 x 1 = 16 samples per step; 4 batches and 4 steps per epoch, at most 4 steps
!   device     cpu: DEVICE, 1 thread
!   precision  fp32
!   lr         0.005 (optimizer.lr 0.005, schedule.lr_rule none)
!   still      7 biases in front of batch norms, which take them away again: their gradients are zero and not computed
!   images     are sent batch by batch: the device reads the host's memory
!   memory     3.30 MB planned on the device
! epoch 1: training loss LOSS, validation loss LOSS, strings SHARE %, characters SHARE %, best so far (step 4, scored in TIME)
! confidence: temperature NUMBER, fitted on all 40 validation samples, too few to measure its error
! done: 4 steps in TIME; best weights (epoch 1, step 4): strings SHARE %, characters SHARE %

$ captrain train old/cnn.yaml --out run
! captrain: run holds a run already (config.yaml): continue it with --resume, or give another --out
? 2

# Nothing is left to do: the best weights are scored once more.
$ captrain train --out run --resume --quiet --backend cpu

$ captrain train --out run --resume --set optimizer.lr=0.5 --set train.batch_size=8
! captrain: --resume: the configuration would train differently from the run in run: optimizer.lr (0.005 -> 0.5), train.batch_size (16 -> 8); a new run can start from its weights: --init run --out ANOTHER
? 2

$ captrain train old/cnn.yaml --out other --init run --backend cpu --set model.hidden=16
! captrain: --init: run/checkpoints/best.safetensors does not fit model.name: textcnn-small: fc.weight (f32[8,64] in the file, f32[8,128] here), features.18.bias (f32[8] in the file, f32[16] here), features.18.weight (f32[8,4,3,32] in the file, f32[16,4,3,32] here), features.19.bias (f32[8] in the file, f32[16] here), features.19.running_mean (f32[8] in the file, f32[16] here), features.19.running_var (f32[8] in the file, f32[16] here), features.19.weight (f32[8] in the file, f32[16] here), features.21.bias (f32[8] in the file, f32[16] here), ...
? 1

$ captrain train old/cnn.yaml --out other --init run --set data.charset=wxyz --set train.steps=1 --set data.synth.count=16 --threads 1 --backend cpu 2>&1 | grep 'last layer'
|   last layer: 0 characters taken over, 4 new (wxyz), 4 dropped (0123)

$ captrain train old/cnn.yaml --out other2 --init run --backend cpu --set 'train.freeze=[rnn]'
! captrain: train.freeze: 'rnn' matches no parameter of the model
? 2

$ captrain train old/cnn.yaml --out other3 --set data.train=absent
! captrain: data.train: absent: cannot open the folder: No such file or directory
? 1

$ captrain train old/cnn.yaml --out other3 --backend cpu --tune absent.json
! captrain: absent.json: cannot open: No such file or directory
? 1

$ printf '{"format": "captrain-choices", "version": 7, "choices": []}' >new.json; captrain train old/cnn.yaml --out other3 --backend cpu --tune new.json
! captrain: new.json: version 7 of the format; this captrain reads 1
? 1

$ ls
| new.json
| old
| other
| other2
| other3
| run
