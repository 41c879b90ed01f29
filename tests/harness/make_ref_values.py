#!/usr/bin/env python3
"""Prints tests/harness/ref_values.h: what PyTorch (f64, CPU) says about the calls that tests/harness/check_ref.c makes.

Element i of input k is ((37 i + 11 k) mod 29 - 14) / 8; targets are (7 i) mod classes. An output y is checked through
its projection sum of y[i] * ((53 i) mod 31 - 15) / 16, with i counted in captrain's layout (NHWC, KRSC).
Usage: python3 tests/harness/make_ref_values.py > tests/harness/ref_values.h
"""
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
rows = []


def fill(k, *shape):
    n = 1
    for s in shape:
        n *= s
    i = torch.arange(n)
    return (((37 * i + 11 * k) % 29 - 14).double() / 8).reshape(shape)


def project(y):
    y = y.detach().double().contiguous().reshape(-1)
    i = torch.arange(y.numel())
    return (y * ((53 * i % 31 - 15).double() / 16)).sum().item()


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def array(name, values):
    print("static const double %s[%d] = {" % (name, len(values)))
    for v in values:
        print("    %.17g," % project(v))
    print("};\n")


def row(call, *outputs):
    rows.append((call, [project(o) for o in outputs]))


def shape(t):
    return "f64[%s]" % ",".join(str(s) for s in t.shape)


def conv(n, h, w, c, k, r, s, stride, pad, dil, groups, bias):
    x = fill(0, n, h, w, c).requires_grad_()
    f = fill(1, k, r, s, c // groups).requires_grad_()
    b = fill(2, k) if bias else None
    y = nhwc(F.conv2d(nchw(x), nchw(f), b, stride, pad, dil, groups))
    a = "stride_h=%d stride_w=%d pad_h=%d pad_w=%d dil_h=%d dil_w=%d groups=%d" % (*stride, *pad, *dil, groups)
    row("conv2d{%s}(%s, %s%s)" % (a, shape(x), shape(f), ", f64[%d]" % k if bias else ""), y)
    dy = fill(0, *y.shape)
    dx, = torch.autograd.grad(y, x, dy, retain_graph=True)
    row("conv2d_dgrad{%s in_h=%d in_w=%d}(%s, %s)" % (a, h, w, shape(dy), shape(f)), dx)
    dy = fill(1, *y.shape)
    df, = torch.autograd.grad(y, f, dy)
    row("conv2d_wgrad{%s ker_h=%d ker_w=%d}(%s, %s)" % (a, r, s, shape(x), shape(dy)), df)


conv(2, 5, 6, 3, 4, 3, 3, (1, 1), (1, 1), (1, 1), 1, True)
conv(1, 8, 7, 4, 6, 3, 2, (2, 3), (1, 0), (1, 1), 1, False)
conv(2, 9, 8, 4, 6, 3, 3, (1, 2), (2, 1), (2, 1), 2, True)
conv(1, 6, 6, 5, 5, 3, 3, (2, 2), (1, 1), (1, 1), 5, False)
conv(2, 4, 4, 7, 9, 1, 1, (2, 2), (0, 0), (1, 1), 1, True)

x, w, b = fill(0, 3, 4, 7), fill(1, 5, 7), fill(2, 5)
row("linear(f64[3,4,7], f64[5,7], f64[5])", F.linear(x, w, b))
row("linear_dgrad(f64[3,4,5], f64[5,7])", fill(0, 3, 4, 5) @ w)
row("linear_wgrad(f64[3,4,7], f64[3,4,5])", fill(1, 3, 4, 5).reshape(12, 5).T @ x.reshape(12, 7))
row("bias_grad(f64[3,4,5])", fill(0, 3, 4, 5).sum((0, 1)))

for kind, f in enumerate([F.relu, lambda t: F.leaky_relu(t, 0.1), torch.sigmoid, torch.tanh, F.silu, F.softplus]):
    a = "kind=%d%s" % (kind, " alpha=0.1" if kind == 1 else "")
    x = fill(0, 3, 19)
    row("activation{%s}(f64[3,19])" % a, f(x))
    # Backward: dy is input 0, saved is input 1: x for silu and softplus, else an x whose y is input 1.
    saved = fill(1, 3, 19)
    if kind in (0, 1):
        x = torch.where(saved > 0, saved, saved / 0.1)
    elif kind == 2:
        continue  # y of a sigmoid is not among these values; finite differences cover it
    elif kind == 3:
        continue
    else:
        x = saved
    x = x.clone().requires_grad_()
    dx, = torch.autograd.grad(f(x), x, fill(0, 3, 19))
    row("activation_bwd{%s}(f64[3,19], f64[3,19])" % a, dx)


def pools(h, w, k, stride, pad):
    x = fill(0, 2, h, w, 3).requires_grad_()
    a = "ker_h=%d ker_w=%d stride_h=%d stride_w=%d pad_h=%d pad_w=%d" % (*k, *stride, *pad)
    y, index = F.max_pool2d(nchw(x), k, stride, pad, return_indices=True)
    p = torch.arange(y.shape[2]).reshape(1, 1, -1, 1)
    q = torch.arange(y.shape[3]).reshape(1, 1, 1, -1)
    r, s = index // w - (p * stride[0] - pad[0]), index % w - (q * stride[1] - pad[1])
    row("maxpool2d{%s}(%s)" % (a, shape(x)), nhwc(y), nhwc(r * k[1] + s))
    y = F.avg_pool2d(nchw(x), k, stride, pad)
    row("avgpool2d{%s}(%s)" % (a, shape(x)), nhwc(y))
    dy = fill(0, *nhwc(y).shape)
    dx, = torch.autograd.grad(nhwc(y), x, dy)
    row("avgpool2d_bwd{%s in_h=%d in_w=%d}(%s)" % (a, h, w, shape(dy)), dx)


pools(6, 8, (2, 2), (2, 2), (0, 0))
pools(7, 9, (3, 3), (2, 2), (1, 1))
pools(5, 10, (3, 2), (1, 3), (1, 1))
row("global_avgpool(f64[2,3,4,5])", fill(0, 2, 3, 4, 5).mean((1, 2)))

for scale, n, h, w, c in ((2, 2, 3, 5, 1), (4, 1, 5, 3, 3), (8, 2, 1, 4, 2)):
    x = fill(0, n, h, w, c).requires_grad_()
    y = nhwc(F.interpolate(nchw(x), scale_factor=scale, mode="bilinear", align_corners=False))
    row("upsample_bilinear{scale=%d}(%s)" % (scale, shape(x)), y)
    dx, = torch.autograd.grad(y, x, fill(0, *y.shape))
    row("upsample_bilinear_bwd{scale=%d}(%s)" % (scale, shape(y)), dx)

for scale, n, h, w, c in ((2, 2, 3, 5, 1), (8, 2, 1, 4, 2)):
    x = fill(0, n, h, w, c).requires_grad_()
    y = nhwc(F.interpolate(nchw(x), scale_factor=scale, mode="nearest"))
    row("upsample_nearest{scale=%d}(%s)" % (scale, shape(x)), y)
    dx, = torch.autograd.grad(y, x, fill(0, *y.shape))
    row("upsample_nearest_bwd{scale=%d}(%s)" % (scale, shape(y)), dx)

x = fill(0, 2, 3, 4, 2)
row("l2_normalize(%s)" % shape(x), F.normalize(x, dim=-1))
x = fill(1, 2, 3, 4, 2).requires_grad_()
dx, = torch.autograd.grad(F.normalize(x, dim=-1), x, fill(0, 2, 3, 4, 2))
row("l2_normalize_bwd(%s, %s)" % (shape(x), shape(x)), dx)

x = fill(0, 2, 7)
row("standardize{eps=0.001}(%s)" % shape(x), F.layer_norm(x, (7,), eps=0.001),
    1 / torch.sqrt(x.var(1, unbiased=False) + 0.001))

parts = [fill(k, 2, 3, c) for k, c in enumerate((3, 1, 5))]
row("concat_channels(%s, %s, %s)" % tuple(shape(t) for t in parts), torch.cat(parts, -1))
row("slice_channels{first=2 channels=3}(%s)" % shape(parts[0].new_empty(2, 3, 7)), fill(0, 2, 3, 7)[..., 2:5])
row("place_channels{first=2 channels=7}(%s)" % shape(parts[0]), F.pad(parts[0], (2, 2)))
x, g = fill(0, 2, 3, 4, 5), fill(1, 2, 5).requires_grad_()
row("scale_channels(%s, %s)" % (shape(x), shape(g)), x * g[:, None, None, :])
dg, = torch.autograd.grad(fill(1, 2, 3, 4, 5) * g[:, None, None, :], g, x)
row("scale_channels_bwd(%s, %s)" % (shape(x), shape(x)), dg)


def fused(a, b, w):
    p = F.softplus(w, threshold=100)
    return (p[0] * a + p[1] * b) / (p.sum() + 1e-4)


a, b, w = fill(0, 2, 3, 4, 5), fill(1, 2, 3, 4, 5), fill(2, 2)
row("fuse_weighted(%s, %s, %s)" % (shape(a), shape(b), shape(w)), fused(a, b, w))
a, b, w = fill(1, 2, 3, 4, 5), fill(2, 2, 3, 4, 5), fill(3, 2)
for t in (a, b, w):
    t.requires_grad_()
row("fuse_weighted_bwd(%s, %s, %s, %s)" % (shape(a), shape(a), shape(b), shape(w)),
    *torch.autograd.grad(fused(a, b, w), (a, b, w), fill(0, 2, 3, 4, 5)))

def waves(n):
    """Cosines and sines [n, n//2+1] of a transform of n numbers."""
    turn = 2 * torch.pi * (torch.arange(n)[:, None] * torch.arange(n // 2 + 1) % n) / n
    return torch.cos(turn), torch.sin(turn)


def magnitude(re, im, n):
    y = torch.hypot(re, im) / n
    return torch.cat([y, y[..., 1:n - n // 2].flip(-1)], -1)


for n in (8, 7, 1):
    x = fill(0, 2, 3, n).requires_grad_()
    z = torch.fft.fft(x, dim=-1)[..., :n // 2 + 1]
    y = torch.fft.fft(x, dim=-1, norm="forward").abs()
    row("dft_magnitude(%s)" % shape(x), y, torch.cat([z.real, -z.imag], -1))
    part = fill(1, 2, 3, 2 * (n // 2 + 1)).requires_grad_()
    re, im = part.chunk(2, -1)
    dpart, = torch.autograd.grad(magnitude(re, im, n), part, fill(0, 2, 3, n))
    dpart[part.detach().reshape(2, 3, 2, -1).norm(dim=2, keepdim=True).expand(-1, -1, 2, -1).reshape(part.shape) == 0] = 0
    c, s = waves(n)
    row("dft_magnitude_bwd(%s, %s)" % (shape(x), shape(part)), dpart[..., :n // 2 + 1] @ c.T + dpart[..., n // 2 + 1:] @ s.T)

for tau, first in ((8, 1), (0.5, 0)):
    s, t = fill(0, 4, 2, 7).requires_grad_(), fill(1, 4, 2, 7).requires_grad_()
    p, q = [F.log_softmax(v[..., first:] / tau, -1) for v in (s, t)]
    kl = (q.exp() * (q - p)).sum(-1)
    a = "temperature=%g%s" % (tau, " first=%d" % first if first else "")
    row("distill{%s}(%s, %s)" % (a, shape(s), shape(t)), tau * tau * kl.mean(), kl)
    g = fill(4, 1) * tau / kl.numel()
    less, none = fill(3, 4, 2), torch.zeros(4, 2, first)
    row("distill_bwd{%s}(%s, %s, -, %s, f64[1])" % (a, shape(s), shape(t), shape(kl)),
        torch.cat([none, g * (p.exp() - q.exp())], -1), torch.cat([none, g * q.exp() * (q - p - less[..., None])], -1))

for n, p, k, e in ((3, 4, 6, 0.0), (5, 2, 7, 0.1)):
    x = fill(0, n, p * k).requires_grad_()
    t = (7 * torch.arange(n * p)) % k
    loss = F.cross_entropy(x.reshape(n * p, k), t, label_smoothing=e)
    a = "positions=%d classes=%d%s" % (p, k, " smoothing=%g" % e if e else "")
    row("softmax_xent{%s}(f64[%d,%d], i32[%d,%d])" % (a, n, p * k, n, p), loss, torch.logsumexp(x.reshape(n, p, k), 2))
    hot = F.one_hot(t, k).double().reshape(n, p * k)
    loss = F.multilabel_soft_margin_loss(x, hot)
    a = "positions=%d classes=%d" % (p, k)
    row("soft_margin{%s}(f64[%d,%d], i32[%d,%d])" % (a, n, p * k, n, p), loss)
    dloss = fill(2, 1)
    dx, = torch.autograd.grad(loss, x, dloss[0])
    row("soft_margin_bwd{%s}(f64[%d,%d], i32[%d,%d], f64[1])" % (a, n, p * k, n, p), dx)

print("/* Made by tests/harness/make_ref_values.py with PyTorch %s:" % torch.__version__)
print(" * calls and the projections of their outputs. */")
print("static const struct {\n    const char *call;\n    int count;\n    double value[3];\n} ref_values[] = {")
for call, values in rows:
    head, tail = call.split("(", 1)
    print('    { "%s"\n      "(%s",' % (head, tail))
    print("      %d, { %s } }," % (len(values), ", ".join("%.17g" % v for v in values)))
print("};\n")

# Batch normalisation, forward and backward: x [4,3,2,5], gamma = 1 + input 1 / 4, beta = input 2, add = input 5.
x = fill(0, 4, 3, 2, 5).requires_grad_()
gamma = (1 + fill(1, 5) / 4).requires_grad_()
beta = fill(2, 5).requires_grad_()
add = fill(5, 4, 3, 2, 5).requires_grad_()
mean, var = fill(3, 5), fill(4, 5) ** 2 + 0.5
print("/* batchnorm with add and relu, eps 1e-5, momentum 0.1: y, run_mean, run_var, then for dy = input 0: dx,")
print(" * dgamma, dbeta, dadd, then batchnorm_infer with the updated statistics. */")
y = torch.relu(nhwc(F.batch_norm(nchw(x), mean, var, gamma, beta, True, 0.1, 1e-5)) + add)
grads = torch.autograd.grad(y, (x, gamma, beta, add), fill(0, 4, 3, 2, 5))
infer = torch.relu(nhwc(F.batch_norm(nchw(x), mean, var, gamma, beta, False, 0.1, 1e-5)) + add)
array("bn_values", (y, mean, var, *grads, infer))

# The same with SiLU in place of the ReLU.
print("/* The same with silu in place of relu and the statistics as they were: y, dx, dgamma, dbeta, dadd, inference. */")
mean, var = fill(3, 5), fill(4, 5) ** 2 + 0.5
y = F.silu(nhwc(F.batch_norm(nchw(x), mean, var, gamma, beta, True, 0.1, 1e-5)) + add)
grads = torch.autograd.grad(y, (x, gamma, beta, add), fill(0, 4, 3, 2, 5))
infer = F.silu(nhwc(F.batch_norm(nchw(x), mean, var, gamma, beta, False, 0.1, 1e-5)) + add)
array("bn_silu_values", (y, *grads, infer))

# standardize with eps 1e-5 of x = input 0 [3,4,5,2]: y, invstd, and dx for dy = input 1.
print("/* standardize of input 0 [3,4,5,2]: y, invstd, dx for dy = input 1. */")
x = fill(0, 3, 4, 5, 2).requires_grad_()
y = F.layer_norm(x, x.shape[1:], eps=1e-5)
invstd = 1 / torch.sqrt(x.flatten(1).var(1, unbiased=False) + 1e-5)
array("standardize_values", (y, invstd, *torch.autograd.grad(y, x, fill(1, *x.shape))))

# Three steps of the optimizers over 23 parameters, gradient of step s = input s+1, clipped to norm 2 first.
print("/* Parameters (and buffers) after three steps, gradients clipped to norm 2: adamw p m v, adam with L2 p m v,")
print(" * sgd p buf, nesterov p buf. */")
values = []
for make in (lambda p: torch.optim.AdamW([p], lr=0.01, betas=(0.9, 0.99), eps=1e-6, weight_decay=0.1),
             lambda p: torch.optim.Adam([p], lr=0.01, betas=(0.9, 0.99), eps=1e-6, weight_decay=0.1),
             lambda p: torch.optim.SGD([p], lr=0.01, momentum=0.9, weight_decay=0.1),
             lambda p: torch.optim.SGD([p], lr=0.01, momentum=0.9, weight_decay=0.1, nesterov=True)):
    p = torch.nn.Parameter(fill(0, 23))
    o = make(p)
    for s in range(3):
        p.grad = fill(s + 1, 23)
        torch.nn.utils.clip_grad_norm_([p], 2.0)
        o.step()
    st = o.state[p]
    values += [p.data] + ([st["exp_avg"], st["exp_avg_sq"]] if "exp_avg" in st else [st["momentum_buffer"]])
array("optim_values", values)

# The same with Muon over a wide and a tall matrix. torch.optim.Muon multiplies in bfloat16; here what it calls so is f64.
print("/* The same with Muon, nesterov, p buf: 4x6 with updates matched to AdamW's, 6x4 with the original factor and decay. */")
values = []
for shape, options in (((4, 6), dict(adjust_lr_fn="match_rms_adamw", weight_decay=0.0)),
                       ((6, 4), dict(adjust_lr_fn="original", weight_decay=0.1, momentum=0.9, nesterov=False, ns_steps=3))):
    p = torch.nn.Parameter(fill(0, 24).reshape(shape))
    o = torch.optim.Muon([p], lr=0.01, **options)
    half, torch.bfloat16 = torch.bfloat16, torch.float64
    for s in range(3):
        p.grad = fill(s + 1, 24).reshape(shape)
        torch.nn.utils.clip_grad_norm_([p], 2.0)
        o.step()
    torch.bfloat16 = half
    values += [p.data, o.state[p]["momentum_buffer"]]
array("muon_values", values)

# Resize of u8 images (37 i + 11) mod 256, [2,7,9,3], to 5x13 and 14x4, mean 0.5, 0.25, 0.125, std 0.5, 0.25, 0.2.
print("/* preprocess with a resize to 5x13 and to 14x4. */")
src = ((37 * torch.arange(2 * 7 * 9 * 3) + 11) % 256).double().reshape(2, 7, 9, 3)
values = []
for size in ((5, 13), (14, 4)):
    y = nhwc(F.interpolate(nchw(src), size, mode="bilinear", align_corners=False)) / 255
    values.append((y - torch.tensor([0.5, 0.25, 0.125])) / torch.tensor([0.5, 0.25, 0.2]))
array("resize_values", values)

# LSTM layers: x = input 0, w_ih, w_hh, b_ih, b_hh = inputs 1 to 4 over 4, those of the reverse direction 5 to 8; dy = input 9.
# y and the gradients of x and of the weights in PyTorch's order.


def lstm(t, n, i, h, bidirectional, bias, lengths):
    m = torch.nn.LSTM(i, h, bias=bias, bidirectional=bidirectional)
    for name, p in m.named_parameters():
        k = 1 + ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].index(name.split("_l0")[0])
        p.data = fill(k + (4 if name.endswith("_reverse") else 0), *p.shape) / 4
    x = fill(0, t, n, i).requires_grad_()
    if lengths:
        y = m(torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False))[0]
        y = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=t)[0]
    else:
        y = m(x)[0]
    return [y, *torch.autograd.grad(y, (x, *m.parameters()), fill(9, *y.shape))]


print("/* lstm [6,4,5] to 3 units: y, dx, then dw_ih, dw_hh, db_ih, db_hh of each direction. */")
array("lstm_values", lstm(6, 4, 5, 3, True, True, [4, 6, 1, 5]))
print("/* lstm [5,3,4] to 2 units, one direction, no bias, no lengths: y, dx, dw_ih, dw_hh. */")
array("lstm_plain_values", lstm(5, 3, 4, 2, False, False, None))
