/* Made by tests/harness/make_ref_values.py with PyTorch 2.15.0+cu132:
 * calls and the projections of their outputs. */
static const struct {
    const char *call;
    int count;
    double value[3];
} ref_values[] = {
    { "conv2d{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1}"
      "(f64[2,5,6,3], f64[4,3,3,3], f64[4])",
      1, { 134.990234375 } },
    { "conv2d_dgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 in_h=5 in_w=6}"
      "(f64[2,5,6,4], f64[4,3,3,3])",
      1, { -31.2841796875 } },
    { "conv2d_wgrad{stride_h=1 stride_w=1 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=3}"
      "(f64[2,5,6,3], f64[2,5,6,4])",
      1, { 40.197265625 } },
    { "conv2d{stride_h=2 stride_w=3 pad_h=1 pad_w=0 dil_h=1 dil_w=1 groups=1}"
      "(f64[1,8,7,4], f64[6,3,2,4])",
      1, { -14.044921875 } },
    { "conv2d_dgrad{stride_h=2 stride_w=3 pad_h=1 pad_w=0 dil_h=1 dil_w=1 groups=1 in_h=8 in_w=7}"
      "(f64[1,4,2,6], f64[6,3,2,4])",
      1, { -6.23828125 } },
    { "conv2d_wgrad{stride_h=2 stride_w=3 pad_h=1 pad_w=0 dil_h=1 dil_w=1 groups=1 ker_h=3 ker_w=2}"
      "(f64[1,8,7,4], f64[1,4,2,6])",
      1, { 7.8603515625 } },
    { "conv2d{stride_h=1 stride_w=2 pad_h=2 pad_w=1 dil_h=2 dil_w=1 groups=2}"
      "(f64[2,9,8,4], f64[6,3,3,2], f64[6])",
      1, { -3.923828125 } },
    { "conv2d_dgrad{stride_h=1 stride_w=2 pad_h=2 pad_w=1 dil_h=2 dil_w=1 groups=2 in_h=9 in_w=8}"
      "(f64[2,9,4,6], f64[6,3,3,2])",
      1, { -18.2958984375 } },
    { "conv2d_wgrad{stride_h=1 stride_w=2 pad_h=2 pad_w=1 dil_h=2 dil_w=1 groups=2 ker_h=3 ker_w=3}"
      "(f64[2,9,8,4], f64[2,9,4,6])",
      1, { -15.91796875 } },
    { "conv2d{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=5}"
      "(f64[1,6,6,5], f64[5,3,3,1])",
      1, { -0.2451171875 } },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=5 in_h=6 in_w=6}"
      "(f64[1,3,3,5], f64[5,3,3,1])",
      1, { -12.015625 } },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=1 pad_w=1 dil_h=1 dil_w=1 groups=5 ker_h=3 ker_w=3}"
      "(f64[1,6,6,5], f64[1,3,3,5])",
      1, { 3.8955078125 } },
    { "conv2d{stride_h=2 stride_w=2 pad_h=0 pad_w=0 dil_h=1 dil_w=1 groups=1}"
      "(f64[2,4,4,7], f64[9,1,1,7], f64[9])",
      1, { 2.63671875 } },
    { "conv2d_dgrad{stride_h=2 stride_w=2 pad_h=0 pad_w=0 dil_h=1 dil_w=1 groups=1 in_h=4 in_w=4}"
      "(f64[2,2,2,9], f64[9,1,1,7])",
      1, { -4.5517578125 } },
    { "conv2d_wgrad{stride_h=2 stride_w=2 pad_h=0 pad_w=0 dil_h=1 dil_w=1 groups=1 ker_h=1 ker_w=1}"
      "(f64[2,4,4,7], f64[2,2,2,9])",
      1, { -9.5400390625 } },
    { "linear"
      "(f64[3,4,7], f64[5,7], f64[5])",
      1, { 12.02734375 } },
    { "linear_dgrad"
      "(f64[3,4,5], f64[5,7])",
      1, { -6.3740234375 } },
    { "linear_wgrad"
      "(f64[3,4,7], f64[3,4,5])",
      1, { -3.1162109375 } },
    { "bias_grad"
      "(f64[3,4,5])",
      1, { -0.2421875 } },
    { "activation{kind=0}"
      "(f64[3,19])",
      1, { 3.9765625 } },
    { "activation_bwd{kind=0}"
      "(f64[3,19], f64[3,19])",
      1, { 2.046875 } },
    { "activation{kind=1 alpha=0.1}"
      "(f64[3,19])",
      1, { 4.2328124999999996 } },
    { "activation_bwd{kind=1 alpha=0.1}"
      "(f64[3,19], f64[3,19])",
      1, { 2.4960937500000004 } },
    { "activation{kind=2}"
      "(f64[3,19])",
      1, { 1.4608646620300816 } },
    { "activation{kind=3}"
      "(f64[3,19])",
      1, { 4.0775742632842409 } },
    { "activation{kind=4}"
      "(f64[3,19])",
      1, { 3.943111614043187 } },
    { "activation_bwd{kind=4}"
      "(f64[3,19], f64[3,19])",
      1, { 1.9711654142038162 } },
    { "activation{kind=5}"
      "(f64[3,19])",
      1, { 3.728704536998154 } },
    { "activation_bwd{kind=5}"
      "(f64[3,19], f64[3,19])",
      1, { 2.5824996603360604 } },
    { "maxpool2d{ker_h=2 ker_w=2 stride_h=2 stride_w=2 pad_h=0 pad_w=0}"
      "(f64[2,6,8,3])",
      2, { 0.609375, 2.875 } },
    { "avgpool2d{ker_h=2 ker_w=2 stride_h=2 stride_w=2 pad_h=0 pad_w=0}"
      "(f64[2,6,8,3])",
      1, { -0.05859375 } },
    { "avgpool2d_bwd{ker_h=2 ker_w=2 stride_h=2 stride_w=2 pad_h=0 pad_w=0 in_h=6 in_w=8}"
      "(f64[2,3,4,3])",
      1, { -1.666015625 } },
    { "maxpool2d{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1}"
      "(f64[2,7,9,3])",
      2, { -0.3046875, -17.4375 } },
    { "avgpool2d{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1}"
      "(f64[2,7,9,3])",
      1, { 0.6987847222222221 } },
    { "avgpool2d_bwd{ker_h=3 ker_w=3 stride_h=2 stride_w=2 pad_h=1 pad_w=1 in_h=7 in_w=9}"
      "(f64[2,4,5,3])",
      1, { -0.4730902777777779 } },
    { "maxpool2d{ker_h=3 ker_w=2 stride_h=1 stride_w=3 pad_h=1 pad_w=1}"
      "(f64[2,5,10,3])",
      2, { -1.6328125, 1 } },
    { "avgpool2d{ker_h=3 ker_w=2 stride_h=1 stride_w=3 pad_h=1 pad_w=1}"
      "(f64[2,5,10,3])",
      1, { -1.7421875 } },
    { "avgpool2d_bwd{ker_h=3 ker_w=2 stride_h=1 stride_w=3 pad_h=1 pad_w=1 in_h=5 in_w=10}"
      "(f64[2,5,4,3])",
      1, { 0.18880208333333304 } },
    { "global_avgpool"
      "(f64[2,3,4,5])",
      1, { -0.18619791666666669 } },
    { "upsample_bilinear{scale=2}"
      "(f64[2,3,5,1])",
      1, { 2.083984375 } },
    { "upsample_bilinear_bwd{scale=2}"
      "(f64[2,6,10,1])",
      1, { 2.98193359375 } },
    { "upsample_bilinear{scale=4}"
      "(f64[1,5,3,3])",
      1, { 4.8817138671875 } },
    { "upsample_bilinear_bwd{scale=4}"
      "(f64[1,20,12,3])",
      1, { -18.46337890625 } },
    { "upsample_bilinear{scale=8}"
      "(f64[2,1,4,2])",
      1, { -5.0224609375 } },
    { "upsample_bilinear_bwd{scale=8}"
      "(f64[2,8,32,2])",
      1, { -4.8349609375 } },
    { "upsample_nearest{scale=2}"
      "(f64[2,3,5,1])",
      1, { 0.9140625 } },
    { "upsample_nearest_bwd{scale=2}"
      "(f64[2,6,10,1])",
      1, { 3.515625 } },
    { "upsample_nearest{scale=8}"
      "(f64[2,1,4,2])",
      1, { -9.6875 } },
    { "upsample_nearest_bwd{scale=8}"
      "(f64[2,8,32,2])",
      1, { -17.34375 } },
    { "l2_normalize"
      "(f64[2,3,4,2])",
      1, { 2.7344967749193425 } },
    { "l2_normalize_bwd"
      "(f64[2,3,4,2], f64[2,3,4,2])",
      1, { 1.5237852413528423 } },
    { "standardize{eps=0.001}"
      "(f64[2,7])",
      2, { -1.9053860776884251, -0.52106901155026375 } },
    { "concat_channels"
      "(f64[2,3,3], f64[2,3,1], f64[2,3,5])",
      1, { 5.6328125 } },
    { "slice_channels{first=2 channels=3}"
      "(f64[2,3,7])",
      1, { 2.890625 } },
    { "place_channels{first=2 channels=7}"
      "(f64[2,3,3])",
      1, { -1.1796875 } },
    { "scale_channels"
      "(f64[2,3,4,5], f64[2,5])",
      1, { -5.84765625 } },
    { "scale_channels_bwd"
      "(f64[2,3,4,5], f64[2,3,4,5])",
      1, { -0.611328125 } },
    { "fuse_weighted"
      "(f64[2,3,4,5], f64[2,3,4,5], f64[2])",
      1, { 6.5200219082942121 } },
    { "fuse_weighted_bwd"
      "(f64[2,3,4,5], f64[2,3,4,5], f64[2,3,4,5], f64[2])",
      3, { 2.2630360209787752, 5.1735656960564746, 9.9099643243024023 } },
    { "dft_magnitude"
      "(f64[2,3,8])",
      2, { 0.63013199047174928, -7.0337008476483174 } },
    { "dft_magnitude_bwd"
      "(f64[2,3,8], f64[2,3,10])",
      1, { 0.20156998586340846 } },
    { "dft_magnitude"
      "(f64[2,3,7])",
      2, { -1.4782700067010002, 5.2296244691810072 } },
    { "dft_magnitude_bwd"
      "(f64[2,3,7], f64[2,3,8])",
      1, { -1.2056113471201262 } },
    { "dft_magnitude"
      "(f64[2,3,1])",
      2, { -1.2109375, 1.125 } },
    { "dft_magnitude_bwd"
      "(f64[2,3,1], f64[2,3,2])",
      1, { -0.52421455707605069 } },
    { "distill{temperature=8 first=1}"
      "(f64[4,2,7], f64[4,2,7])",
      2, { -1.2516700521984665, -0.0076090113957366957 } },
    { "distill_bwd{temperature=8 first=1}"
      "(f64[4,2,7], f64[4,2,7], -, f64[4,2], f64[1])",
      2, { 0.00037545266585290327, 0.0065558782167536855 } },
    { "distill{temperature=0.5}"
      "(f64[4,2,7], f64[4,2,7])",
      2, { -0.624733572611331, -0.13723512590878828 } },
    { "distill_bwd{temperature=0.5}"
      "(f64[4,2,7], f64[4,2,7], -, f64[4,2], f64[1])",
      2, { 0.013531946297852699, -0.0035070339023018024 } },
    { "softmax_xent{positions=4 classes=6}"
      "(f64[3,24], i32[3,4])",
      2, { -1.3172800634251942, 0.29015187232975959 } },
    { "soft_margin{positions=4 classes=6}"
      "(f64[3,24], i32[3,4])",
      1, { -0.62501355129465008 } },
    { "soft_margin_bwd{positions=4 classes=6}"
      "(f64[3,24], i32[3,4], f64[1])",
      1, { -0.029501880295982923 } },
    { "softmax_xent{positions=2 classes=7 smoothing=0.1}"
      "(f64[5,14], i32[5,2])",
      2, { -1.9321818416180774, 0.35859056829378977 } },
    { "soft_margin{positions=2 classes=7}"
      "(f64[5,14], i32[5,2])",
      1, { -0.7054582606742783 } },
    { "soft_margin_bwd{positions=2 classes=7}"
      "(f64[5,14], i32[5,2], f64[1])",
      1, { -0.063660747422423031 } },
};

/* batchnorm with add and relu, eps 1e-5, momentum 0.1: y, run_mean, run_var, then for dy = input 0: dx,
 * dgamma, dbeta, dadd, then batchnorm_infer with the updated statistics. */
static const double bn_values[8] = {
    9.6377534280330899,
    -0.7602213541666667,
    -0.12063625169836945,
    1.8229695157089645,
    -15.189713500552418,
    -5.8125,
    6.1875,
    10.364997094557481,
};

/* The same with silu in place of relu and the statistics as they were: y, dx, dgamma, dbeta, dadd, inference. */
static const double bn_silu_values[6] = {
    9.6429232558046252,
    1.8399914219787172,
    -15.183086767347781,
    -6.8667404416522535,
    6.034808847001365,
    9.9678259976478074,
};

/* standardize of input 0 [3,4,5,2]: y, invstd, dx for dy = input 1. */
static const double standardize_values[3] = {
    7.1212559294874138,
    -0.59597977023146897,
    2.7272740823991883,
};

/* Parameters (and buffers) after three steps, gradients clipped to norm 2: adamw p m v, adam with L2 p m v,
 * sgd p buf, nesterov p buf. */
static const double optim_values[10] = {
    0.03700265194234742,
    -0.19979025019003682,
    0.00083415577455683626,
    0.04456337692834933,
    -0.19879347861543356,
    -0.0037708027008688848,
    0.040128288832170678,
    -1.9902940787883379,
    0.058057835117011125,
    -1.9913109713578967,
};

/* The same with Muon, nesterov, p buf: 4x6 with updates matched to AdamW's, 6x4 with the original factor and decay. */
static const double muon_values[4] = {
    0.2010895487639297,
    -0.096807107072304388,
    0.21252364939339929,
    -0.198704564251104,
};

/* preprocess with a resize to 5x13 and to 14x4. */
static const double resize_values[2] = {
    -2.3574033748114624,
    8.207843137254903,
};

/* lstm [6,4,5] to 3 units: y, dx, then dw_ih, dw_hh, db_ih, db_hh of each direction. */
static const double lstm_values[10] = {
    1.0356666895948228,
    -0.066424903346699704,
    1.5791659403097844,
    -0.15792073252998656,
    1.3955023546694791,
    1.3955023546694791,
    1.846255928428282,
    -0.0043810219962841096,
    -0.86793125045267416,
    -0.86793125045267416,
};

/* lstm [5,3,4] to 2 units, one direction, no bias, no lengths: y, dx, dw_ih, dw_hh. */
static const double lstm_plain_values[4] = {
    0.030807747798581864,
    0.66052776154164339,
    2.1976816635892007,
    -0.06095131508958411,
};

