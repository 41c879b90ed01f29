# What the bits of a result depend on besides recipe and seed; sourced. The compiler decides which products and sums are
# contracted, the loops and OpenBLAS's kernels in which order is summed, FreeType what generated pictures look like.

# kernels_of DETAIL COMPILER: the key of a machine and build, one word, out of what `captrain doctor` says:
# LOOPS/BLAS-KERNELS/OpenBLAS-VERSION/COMPILER/FREETYPE. Builds with other optimization than -O2 or -O3, whose bits are the same (CT_CFLAGS of make check), or
# with sanitizers, say so behind it: they are other builds.
kernels_of() {
    loops=$(echo "$1" | sed -n 's/.*; \([a-z0-9]*\) loops;.*/\1/p')
    core=$(echo "$1" | sed -n 's/.*(\([^()]*\) kernels).*/\1/p')
    blas=$(echo "$1" | sed -n 's/.*OpenBLAS \([0-9][0-9.]*\).*/\1/p')
    compiler=$(echo "$2" | tr -d ' ')
    freetype=$(pkg-config --modversion freetype2 2>/dev/null)
    other=
    for flag in ${CT_CFLAGS-}; do
        case $flag in
        -O3 | -O2 | -O) ;;
        -O* | -m* | -f*) other=$other/${flag#-} ;;
        esac
    done
    [ -z "${CT_SANITIZERS-}" ] || other=$other/sanitizers
    echo "${loops:-?}/${core:-?}/OpenBLAS-${blas:-?}/cc-${compiler:-?}/FreeType-${freetype:-?}$other"
}

# kernels CAPTRAIN: that key, as the program and the environment are now
kernels() {
    doctor=$("$1" doctor 2>/dev/null)
    kernels_of "$(echo "$doctor" | sed -n 's/^cpu detail *//p')" "$(echo "$doctor" | sed -n 's/^compiler *//p')"
}

# pin CAPTRAIN: takes the AVX2 loops and OpenBLAS's kernels for Haswell where they are to be had, which is on nearly every
# x86-64 machine, so that nearly every machine computes the same bits; leaves the environment alone where they are not.
pin() {
    if CAPTRAIN_KERNELS=avx2 "$1" plan --model textcnn-small --batch 1 --backend cpu >/dev/null 2>&1; then
        CAPTRAIN_KERNELS=avx2 OPENBLAS_CORETYPE=Haswell
        export CAPTRAIN_KERNELS OPENBLAS_CORETYPE
    fi
}
