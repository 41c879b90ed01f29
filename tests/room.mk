# What needs a GPU, and the proof that its script works without one.
EXTRA_DIST += tests/gpu/run
dist_check_SCRIPTS += tests/sh/gpu.sh tests/sh/gpu_emulated.sh
