# What a training would do: operators, memory, precision.

% avx2

$ captrain plan old/crnn.yaml --threads 1 --backend cpu --memory 1GB
| training step
|  node phase    name                        operator            result                      FLOP   bytes  implementation
|     0 forward  x                           preprocess          f32[16,32,64,1]            98.3k    164k  cpu.vector
|     1 forward  cnn.0                       conv2d              f32[16,32,64,8]            5.77M   1.18M  cpu.planes
|     2 forward  cnn.1                       batchnorm_pool      f32[16,16,32,8]            1.05M   1.38M  cpu.vector
|     3 forward  cnn.4                       conv2d              f32[16,16,32,8]            9.70M    527k  cpu.planes
|     4 forward  cnn.5                       batchnorm_pool      f32[16,8,16,8]              262k    344k  cpu.vector
|     5 forward  cnn.8                       conv2d              f32[16,8,16,16]            4.85M    202k  cpu.winograd
|     6 forward  cnn.9                       batchnorm           f32[16,8,16,16]            98.3k    267k  cpu.vector
|     7 forward  cnn.11                      maxpool2d           f32[16,4,16,16]            32.8k    213k  cpu.vector
|     8 forward  cnn.rows                    reshape             f32[64,16,16]                  0       0  view
|     9 forward  cnn.columns                 swap                f32[16,64,16]              16.4k    131k  cpu.tiles
|    10 forward  cnn.steps                   reshape             f32[16,16,64]                  0       0  view
|    11 forward  fold.0                      linear              f32[16,16,32]              1.06M    107k  cpu.blas
|    12 forward  fold.1                      batchnorm           f32[16,16,32]              57.3k   67.6k  cpu.vector
|    13 forward  rnn.l0.ih                   linear              f32[16,16,64]              1.06M    107k  cpu.blas
|    14 forward  rnn.l0.ih_reverse           linear              f32[16,16,64]              1.06M    107k  cpu.blas
|    15 forward  rnn.l0                      lstm                f32[16,16,32]              1.19M    336k  cpu.packed
|    16 forward  fc                          linear              f32[16,16,3]               49.9k   36.2k  cpu.blas
|    17 forward  logp                        log_softmax         f32[16,16,3]               3.07k   6.14k  cpu.vector
|    18 forward  loss                        ctc_loss            f32[1]                     17.9k   10.6k  cpu.vector
|    19 forward  pred                        ctc_greedy          i32[16,16]                   768   5.18k  cpu.vector
|    20 forward  metrics                     edit_sums           f64[64]                    2.30k   2.30k  cpu.ref
|    21 forward  sums                        batch_sums          f64[64]                        4   1.03k  cpu.ref
|    22 backward seed                        loss_seed           f32[1]                         1     132  cpu.ref
|    23 backward loss.bwd                    ctc_loss_bwd        f32[16,16,3]               25.9k   13.6k  cpu.vector
|    24 backward logp.bwd                    log_softmax_bwd     f32[16,16,3]               3.07k   9.22k  cpu.vector
|    25 backward fc.dgrad                    linear_dgrad        f32[16,16,32]              49.2k   36.2k  cpu.blas
|    26 backward fc.wgrad                    linear_wgrad        f32[3,32]                  49.2k   36.2k  cpu.blas
|    27 backward fc.bias_grad                bias_grad           f32[3]                       768   3.08k  cpu.vector
|    28 backward rnn.l0.bwd                  lstm_bwd            f32[16,16,64]              2.29M    377k  cpu.packed
|    29 backward rnn.l0.bias_grad            bias_grad           f32[64]                    16.4k   65.8k  cpu.vector
|    30 backward rnn.l0.bias_grad            bias_grad           f32[64]                    16.4k   65.8k  cpu.vector
|    31 backward rnn.l0.ih_reverse.dgrad     linear_dgrad        f32[16,16,32]              1.05M    106k  cpu.blas
|    32 backward rnn.l0.ih_reverse.wgrad     linear_wgrad        f32[64,32]                 1.05M    106k  cpu.blas
|    33 backward rnn.l0.ih_reverse.bias_grad bias_grad           f32[64]                    16.4k   65.8k  cpu.vector
|    34 backward rnn.l0.ih.dgrad             linear_dgrad        f32[16,16,32]              1.05M    106k  cpu.blas
|    35 backward rnn.l0.ih.wgrad             linear_wgrad        f32[64,32]                 1.05M    106k  cpu.blas
|    36 backward rnn.l0.ih.bias_grad         bias_grad           f32[64]                    16.4k   65.8k  cpu.vector
|    37 backward fold.2.grad_sum             add                 f32[16,16,32]              8.19k   98.3k  cpu.vector
|    38 backward fold.1.bwd                  batchnorm_bwd       f32[16,16,32]              90.1k    100k  cpu.vector
|    39 backward fold.0.dgrad                linear_dgrad        f32[16,16,64]              1.05M    106k  cpu.blas
|    40 backward fold.0.wgrad                linear_wgrad        f32[32,64]                 1.05M    106k  cpu.blas
|    41 backward cnn.steps.bwd               reshape             f32[16,64,16]                  0       0  view
|    42 backward cnn.columns.bwd             swap                f32[64,16,16]              16.4k    131k  cpu.tiles
|    43 backward cnn.rows.bwd                reshape             f32[16,4,16,16]                0       0  view
|    44 backward cnn.11.bwd                  maxpool2d_bwd       f32[16,8,16,16]            16.4k    213k  cpu.vector
|    45 backward cnn.9.bwd                   batchnorm_bwd       f32[16,8,16,16]             360k    398k  cpu.vector
|    46 backward cnn.8.dgrad                 conv2d_dgrad        f32[16,8,16,8]             4.72M    201k  cpu.winograd
|    47 backward cnn.8.wgrad                 conv2d_wgrad        f32[16,3,3,8]              4.72M    201k  cpu.winograd
|    48 backward cnn.5.bwd                   batchnorm_pool_bwd  f32[16,16,32,8]             721k    606k  cpu.vector
|    49 backward cnn.4.dgrad                 conv2d_dgrad        f32[16,16,32,8]            9.44M    527k  cpu.planes
|    50 backward cnn.4.wgrad                 conv2d_wgrad        f32[8,3,3,8]               9.44M    527k  cpu.planes
|    51 backward cnn.1.bwd                   batchnorm_pool_bwd  f32[16,32,64,8]            2.88M   2.42M  cpu.vector
|    52 backward cnn.0.wgrad                 conv2d_wgrad        f32[8,3,3,1]               4.72M   1.18M  cpu.planes
|    53 backward next_draw                   next_draw           f64[16]                       16     256  cpu.ref
|    54 update   lr                          lr_schedule         f64[16]                       16     256  cpu.ref
|    55 update   grad_norm                   grad_norm           f64[16]                    21.2k   42.7k  cpu.vector
|    56 update   update.decay                sgd                 f32[10096]                 70.7k    202k  cpu.vector
|    57 update   update.no_decay             sgd                 f32[512]                   3.58k   10.4k  cpu.vector
|    58 update   ema                         ema                 f32[10608]                 31.8k    127k  cpu.vector
|    59 update   ema_buffers                 ema                 f32[160]                     480   2.05k  cpu.vector
|    60 update   step_end                    step_end            f64[16]                       16     256  cpu.ref
|       forward  total                                                                      26.4M   5.19M
|       backward total                                                                      45.9M   7.98M
|       update   total                                                                       128k    385k
|
| evaluation
|  node phase    name              operator            result                      FLOP   bytes  implementation
|     0 forward  x                 preprocess          f32[16,32,64,1]            98.3k    164k  cpu.vector
|     1 forward  cnn.0             conv2d              f32[16,32,64,8]            4.98M   1.18M  cpu.planes
|     2 forward  cnn.1             batchnorm_infer     f32[16,32,64,8]             786k   2.10M  cpu.vector
|     3 forward  cnn.3             maxpool2d           f32[16,16,32,8]             262k   1.38M  cpu.vector
|     4 forward  cnn.4             conv2d              f32[16,16,32,8]            9.50M    527k  cpu.planes
|     5 forward  cnn.5             batchnorm_infer     f32[16,16,32,8]             197k    524k  cpu.vector
|     6 forward  cnn.7             maxpool2d           f32[16,8,16,8]             65.5k    344k  cpu.vector
|     7 forward  cnn.8             conv2d              f32[16,8,16,16]            4.75M    201k  cpu.winograd
|     8 forward  cnn.9             batchnorm_infer     f32[16,8,16,16]            98.3k    262k  cpu.vector
|     9 forward  cnn.11            maxpool2d           f32[16,4,16,16]            32.8k    213k  cpu.vector
|    10 forward  cnn.rows          reshape             f32[64,16,16]                  0       0  view
|    11 forward  cnn.columns       swap                f32[16,64,16]              16.4k    131k  cpu.tiles
|    12 forward  cnn.steps         reshape             f32[16,16,64]                  0       0  view
|    13 forward  fold.0            linear              f32[16,16,32]              1.06M    107k  cpu.blas
|    14 forward  fold.1            batchnorm_infer     f32[16,16,32]              24.6k   66.0k  cpu.vector
|    15 forward  rnn.l0.ih         linear              f32[16,16,64]              1.06M    107k  cpu.blas
|    16 forward  rnn.l0.ih_reverse linear              f32[16,16,64]              1.06M    107k  cpu.blas
|    17 forward  rnn.l0            lstm                f32[16,16,32]              1.19M    336k  cpu.packed
|    18 forward  fc                linear              f32[16,16,3]               49.9k   36.2k  cpu.blas
|    19 forward  logp              log_softmax         f32[16,16,3]               3.07k   6.14k  cpu.vector
|    20 forward  loss              ctc_loss            f32[1]                     17.9k   10.6k  cpu.vector
|    21 forward  pred              ctc_greedy          i32[16,16]                   768   5.18k  cpu.vector
|    22 forward  metrics           edit_sums           f64[64]                    2.30k   2.30k  cpu.ref
|    23 forward  sums              batch_sums          f64[64]                        4   1.03k  cpu.ref
|       forward  total                                                            25.3M   7.80M
|
| model          crnn-small, 10539 parameters, 32x64x1 pixels, 16 time steps of 3 classes, labels of at most 3 characters
| device         DEVICE, 1 thread, cpu (cpu: asked for)
| precision      fp32
| still          4 biases in front of batch norms: their gradients are zero and not computed
| batch          16 x 1 micro-step = 16 effective
| learning rate  0.05 (optimizer.lr 0.05 after schedule.lr_rule)
| recompute      off, batch norms' outputs are kept: they fit
| images         600 to train on, 570 steps in all
| weights        42.4 kB (and 640 B of running statistics)
| gradients      42.4 kB
| optimizer      42.4 kB
| average        43.1 kB
| activations    2896.7 kB (the step's lower bound is 2634.6 kB; without sharing memory 6267.0 kB)
| inputs         33.2 kB
| resident       no images (the device reads the host's memory)
| peak           3101.6 kB (3101568 bytes)
| micro-batch    at most 6621 in 1073.7 MB
|
| precision receipt (fp32 was asked for)
| operator           implementation   stored    asked  factor sums   matrix units calls
| preprocess         cpu.vector       f32       fp32   fp32   fp32   no               2
| conv2d             cpu.planes       f32 f64   fp32   fp32   fp32   no               2
| batchnorm_pool     cpu.vector       f32 f64   fp32   fp32   fp32   no               2
| conv2d             cpu.winograd     f32 f64   fp32   fp32   fp32   no               1
| batchnorm          cpu.vector       f32 f64   fp32   fp32   fp32   no               1
| maxpool2d          cpu.vector       f32       fp32   fp32   fp32   no               4
| swap               cpu.tiles        f32       fp32   fp32   fp32   no               3
| linear             cpu.blas         f32       fp32   fp32   fp32   no               8
| batchnorm          cpu.vector       f32       fp32   fp32   fp32   no               1
| lstm               cpu.packed       f32       fp32   fp32   fp32   no               2
| log_softmax        cpu.vector       f32       fp32   fp32   fp32   no               2
| ctc_loss           cpu.vector       f32       fp32   fp32   fp32   no               2
| ctc_greedy         cpu.vector       f32       fp32   fp32   fp32   no               2
| edit_sums          cpu.ref          f32 f64   fp32   f64    f64    no               2
| batch_sums         cpu.ref          f32 f64   fp32   f64    f64    no               2
| loss_seed          cpu.ref          f64 f32   fp32   f64    f64    no               1
| ctc_loss_bwd       cpu.vector       f32       fp32   fp32   fp32   no               1
| log_softmax_bwd    cpu.vector       f32       fp32   fp32   fp32   no               1
| linear_dgrad       cpu.blas         f32       fp32   fp32   fp32   no               4
| linear_wgrad       cpu.blas         f32       fp32   fp32   fp32   no               4
| bias_grad          cpu.vector       f32       fp32   fp32   fp32   no               5
| lstm_bwd           cpu.packed       f32       fp32   fp32   fp32   no               1
| add                cpu.vector       f32       fp32   fp32   fp32   no               1
| batchnorm_bwd      cpu.vector       f32       fp32   fp32   fp32   no               2
| maxpool2d_bwd      cpu.vector       f32       fp32   fp32   fp32   no               1
| conv2d_dgrad       cpu.winograd     f32       fp32   fp32   fp32   no               1
| conv2d_wgrad       cpu.winograd     f32       fp32   fp32   fp32   no               1
| batchnorm_pool_bwd cpu.vector       f32       fp32   fp32   fp32   no               2
| conv2d_dgrad       cpu.planes       f32       fp32   fp32   fp32   no               1
| conv2d_wgrad       cpu.planes       f32       fp32   fp32   fp32   no               2
| next_draw          cpu.ref          f64       fp32   f64    f64    no               1
| lr_schedule        cpu.ref          f64       fp32   f64    f64    no               1
| grad_norm          cpu.vector       f32 f64   fp32   fp32   fp32   no               1
| sgd                cpu.vector       f32 f64   fp32   fp32   fp32   no               2
| ema                cpu.vector       f32 f64   fp32   fp32   fp32   no               2
| step_end           cpu.ref          f64       fp32   f64    f64    no               1
| conv2d             cpu.planes       f32       fp32   fp32   fp32   no               2
| batchnorm_infer    cpu.vector       f32       fp32   fp32   fp32   no               4
| conv2d             cpu.winograd     f32       fp32   fp32   fp32   no               1

$ captrain plan old/cnn.yaml --threads 1 --backend cpu --memory 1GB --set train.accumulate=3 --set train.precision=bf16 --set train.recompute=all | sed '/^training\|^evaluation\|^one\|^ *[0-9]* [a-z]* /d'
| micro-step
|
| update
|
|
| model          textcnn-small, 13040 parameters, 32x64x1 pixels, 2 x 4 classes
| device         DEVICE, 1 thread, cpu (cpu: asked for)
| precision      bf16
| still          7 biases in front of batch norms: their gradients are zero and not computed
| batch          16 x 3 micro-steps = 48 effective
| learning rate  0.005 (optimizer.lr 0.005 after schedule.lr_rule)
| recompute      each block
| images         600 to train on, 195 steps in all
| weights        52.6 kB (and 1024 B of running statistics)
| gradients      105.2 kB
| optimizer      105.2 kB
| average        53.6 kB
| activations    1323.0 kB (the step's lower bound is 1323.0 kB; without sharing memory 7063.5 kB)
| inputs         33.1 kB
| resident       no images (the device reads the host's memory)
| peak           1674.4 kB (1674432 bytes)
| micro-batch    at most 12775 in 1073.7 MB
|
| precision receipt (bf16 was asked for)
| operator           implementation   stored    asked  factor sums   matrix units calls
| preprocess         cpu.vector       bf16      fp32   fp32   fp32   no               3
| cast               cpu.vector       f32 bf16  fp32   fp32   fp32   no              47
| conv2d             cpu.planes       bf16      bf16   fp32   fp32   no               9 !
| batchnorm_pool     cpu.vector       bf16 f32  fp32   fp32   fp32   no               3
| conv2d             cpu.winograd     bf16      bf16   fp32   fp32   no               9 !
| batchnorm          cpu.vector       bf16 f32  fp32   fp32   fp32   no               5
| conv2d             cpu.indirect     bf16      bf16   fp32   fp32   no               3 !
| dropout_mask       cpu.vector       f64       fp32   f64    f64    no               1
| dropout_apply      cpu.vector       bf16      fp32   fp32   fp32   no               2
| linear             cpu.blas         bf16      bf16   fp32   fp32   no               2 !
| cast               cpu.vector       bf16 f32  fp32   fp32   fp32   no              11
| softmax_xent       cpu.ref          f32       fp32   f64    f64    no               2
| argmax             cpu.ref          f32       fp32   f64    f64    no               2
| metric_sums        cpu.ref          f64       fp32   f64    f64    no               2
| batch_sums         cpu.ref          f32 f64   fp32   f64    f64    no               2
| loss_seed          cpu.ref          f64 f32   fp32   f64    f64    no               1
| softmax_xent_bwd   cpu.ref          f32       fp32   f64    f64    no               1
| linear_dgrad       cpu.blas         bf16      bf16   fp32   fp32   no               1 !
| linear_wgrad       cpu.blas         bf16      bf16   fp32   fp32   no               1 !
| bias_grad          cpu.vector       bf16      fp32   fp32   fp32   no               1
| batchnorm_bwd      cpu.vector       bf16 f32  fp32   fp32   fp32   no               4
| conv2d_dgrad       cpu.planes       bf16      bf16   fp32   fp32   no               2 !
| conv2d_wgrad       cpu.planes       bf16      bf16   fp32   fp32   no               3 !
| conv2d_dgrad       cpu.indirect     bf16      bf16   fp32   fp32   no               1 !
| conv2d_wgrad       cpu.outer        bf16      bf16   fp32   fp32   no               1 !
| conv2d_dgrad       cpu.winograd     bf16      bf16   fp32   fp32   no               3 !
| conv2d_wgrad       cpu.winograd     bf16      bf16   fp32   fp32   no               3 !
| batchnorm_pool_bwd cpu.vector       bf16 f32  fp32   fp32   fp32   no               3
| next_draw          cpu.ref          f64       fp32   f64    f64    no               1
| accumulate         cpu.vector       f32       fp32   fp32   fp32   no               1
| lr_schedule        cpu.ref          f64       fp32   f64    f64    no               1
| grad_norm          cpu.vector       f32 f64   fp32   fp32   fp32   no               1
| adamw              cpu.vector       f32 f64   fp32   fp32   fp32   no               2
| ema                cpu.vector       f32 f64   fp32   fp32   fp32   no               2
| step_end           cpu.ref          f64       fp32   f64    f64    no               1
| batchnorm_infer    cpu.vector       bf16 f32  fp32   fp32   fp32   no               7
| maxpool2d          cpu.vector       bf16      fp32   fp32   fp32   no               3
| ! conv2d by cpu.planes (node 'features.0'): bf16 was asked for, factors are multiplied as fp32
| ! conv2d by cpu.winograd (node 'features.8'): bf16 was asked for, factors are multiplied as fp32
| ! conv2d by cpu.indirect (node 'features.18'): bf16 was asked for, factors are multiplied as fp32
| ! linear by cpu.blas (node 'fc'): bf16 was asked for, factors are multiplied as fp32
| ! linear_dgrad by cpu.blas (node 'fc.dgrad'): bf16 was asked for, factors are multiplied as fp32
| ! linear_wgrad by cpu.blas (node 'fc.wgrad'): bf16 was asked for, factors are multiplied as fp32
| ! conv2d_dgrad by cpu.planes (node 'features.21.dgrad'): bf16 was asked for, factors are multiplied as fp32
| ! conv2d_wgrad by cpu.planes (node 'features.21.wgrad'): bf16 was asked for, factors are multiplied as fp32
| ! conv2d_dgrad by cpu.indirect (node 'features.18.dgrad'): bf16 was asked for, factors are multiplied as fp32
| ! conv2d_wgrad by cpu.outer (node 'features.18.wgrad'): bf16 was asked for, factors are multiplied as fp32
| ! conv2d_dgrad by cpu.winograd (node 'features.15.dgrad'): bf16 was asked for, factors are multiplied as fp32
| ! conv2d_wgrad by cpu.winograd (node 'features.15.wgrad'): bf16 was asked for, factors are multiplied as fp32

$ captrain plan --model textcnn --batch 64 --threads 1 --backend cpu --memory 1GB | grep -A 30 '^model'
| model          textcnn, 19072400 parameters, 60x160x1 pixels, 4 x 36 classes
| device         DEVICE, 1 thread, cpu (cpu: asked for)
| precision      fp32
| still          7 biases in front of batch norms: their gradients are zero and not computed
| batch          64 x 1 micro-step = 64 effective
| learning rate  0.001
| recompute      off, batch norms' outputs are kept: they fit
| weights        76.3 MB (and 5376 B of running statistics)
| gradients      76.3 MB
| optimizer      152.6 MB
| activations    364.3 MB (the step's lower bound is 362.3 MB; without sharing memory 756.7 MB)
| inputs         2458.6 kB
| peak           671.9 MB (671882688 bytes)
| micro-batch    at most 162 in 1073.7 MB
|
| precision receipt (fp32 was asked for)
| operator           implementation   stored    asked  factor sums   matrix units calls
| conv2d             cpu.indirect     f32 f64   fp32   fp32   fp32   no               1
| batchnorm_pool     cpu.vector       f32 f64   fp32   fp32   fp32   no               3
| conv2d             cpu.winograd     f32 f64   fp32   fp32   fp32   no               6
| batchnorm          cpu.vector       f32 f64   fp32   fp32   fp32   no               4
| linear             cpu.direct       f32       fp32   fp32   fp32   no               2
| dropout_mask       cpu.vector       f64       fp32   f64    f64    no               1
| dropout_apply      cpu.vector       f32       fp32   fp32   fp32   no               2
| activation         cpu.vector       f32       fp32   fp32   fp32   no               1
| softmax_xent       cpu.ref          f32       fp32   f64    f64    no               1
| argmax             cpu.ref          f32       fp32   f64    f64    no               1
| metric_sums        cpu.ref          f64       fp32   f64    f64    no               1
| batch_sums         cpu.ref          f32 f64   fp32   f64    f64    no               1
| loss_seed          cpu.ref          f64 f32   fp32   f64    f64    no               1
| softmax_xent_bwd   cpu.ref          f32       fp32   f64    f64    no               1
