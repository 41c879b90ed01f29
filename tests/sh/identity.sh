#!/bin/sh
# Which one of several processes this is, as the programs that start them really say it: those that are installed.
. "${CT_SRCDIR:?}/tests/sh/lib.sh"
unset RANK WORLD_SIZE LOCAL_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE SLURM_STEP_ID PET_NNODES \
    PET_NPROC_PER_NODE PET_N_PROC_PER_NODE MASTER_ADDR MASTER_PORT
who=$CT_BUILDDIR/tests/group/who
tried=0

# told LINE: once in the output of the last command
told() {
    checks=$((checks + 1))
    [ "$(grep -c -x -e "$1" "$work/out")" = 1 ] || fail "not once '$1'"
}

expect 0 "$who"
told 'none 0/1 0/1 :0'

if command -v mpirun.openmpi >/dev/null; then
    tried=$((tried + 1))
    root=$([ "$(id -u)" = 0 ] && echo --allow-run-as-root)
    # shellcheck disable=SC2086
    expect 0 timeout 120 mpirun.openmpi $root --oversubscribe -n 3 "$who"
    for i in 0 1 2; do told "openmpi $i/3 $i/3 :0"; done
    # a launcher within the other's process: two groups of two
    # shellcheck disable=SC2086
    expect 2 timeout 120 mpirun.openmpi $root --oversubscribe -n 2 env PMI_RANK=7 PMI_SIZE=8 "$who"
    says 'OMPI_COMM_WORLD_RANK=[01], but PMI_RANK=7'
fi
if command -v mpirun.mpich >/dev/null; then
    tried=$((tried + 1))
    expect 0 timeout 120 mpirun.mpich -n 3 "$who"
    for i in 0 1 2; do told "mpich $i/3 $i/3 :0"; done
fi
if command -v srun >/dev/null && [ -n "${SLURM_JOB_ID-}" ]; then
    tried=$((tried + 1))
    expect 0 timeout 120 srun -n 2 -N 1 --overlap --mpi=none "$who"
    for i in 0 1; do told "slurm $i/2 $i/2 :0"; done
fi
if [ -z "${CT_QUICK-}" ] && python3 -c 'import torch.distributed.run' >/dev/null 2>&1; then
    tried=$((tried + 1))
    run="timeout 300 python3 -m torch.distributed.run --standalone --nproc-per-node 2 --no-python"
    # shellcheck disable=SC2086
    expect 0 $run "$who"
    for i in 0 1; do told "torch $i/2 $i/2 master:1"; done
    # shellcheck disable=SC2086
    expect 1 $run "$who" fail
    says 'number 1 has lost its way'
    says 'exitcode  *: 3'
fi
if [ $tried = 0 ] && [ $failures = 0 ]; then
    echo "skipped: neither mpirun.openmpi, mpirun.mpich nor torchrun is installed"
    exit 77
fi
finish
