# Several processes: the command that would start them, and what stops it. The stand-in is told apart by --version alone; on one core
# nothing depends on the machine.

$ printf '#!/bin/sh\necho "mpirun (Open MPI) 4.1.4"\n' >mpirun && printf '#!/bin/sh\necho "HYDRA build details:"\n' >mpiexec && chmod +x mpirun mpiexec

$ CAPTRAIN_MPIRUN=./mpirun taskset -c 0 captrain launch -n 3 --dry-run eval old/run-cnn 'my pictures' --json
~ /captrain-mpi.so was built with/d
~ s/ --allow-run-as-root -n/ -n/
~ /launch: this is root/d
| ./mpirun -n 3 --oversubscribe --bind-to none BUILD/captrain eval --threads 1 old/run-cnn 'my pictures' --json
! launch: 3 processes share 1 core: none is bound, --oversubscribe allows it

$ CAPTRAIN_MPIRUN=./mpiexec taskset -c 0 captrain launch -n 3 --dry-run --threads 2 eval old/run-cnn 'my pictures'
~ /captrain-mpi.so was built with/d
| ./mpiexec -n 3 -bind-to none BUILD/captrain eval --threads 2 old/run-cnn 'my pictures'
! launch: 3 processes share 1 core: none is bound

$ CAPTRAIN_MPIRUN=./mpiexec taskset -c 0 captrain launch --dry-run --hosts a:2,b:4 -- doctor --threads 1
~ /captrain-mpi.so was built with/d
| ./mpiexec -n 6 -hosts a:2,b:4 -bind-to none BUILD/captrain doctor --threads 1
! captrain: warning: launch: train, eval and profile of a training share their work among processes; each of 6 does all of doctor
! launch: 4 processes share 1 core of each machine: none is bound
! launch: every machine is taken to have 1 core as this one has

$ CAPTRAIN_MPIRUN=./mpiexec taskset -c 0 captrain --backend cpu launch -n 4 --dry-run --hosts a,b --quiet profile --model textcnn
~ /captrain-mpi.so was built with/d
| ./mpiexec -n 4 -hosts a:2,b:2 -bind-to none BUILD/captrain profile --threads 1 --backend cpu --quiet --model textcnn

# Options behind the verb are the verb's.
$ captrain launch doctor --dry-run
! captrain: unknown option '--dry-run'; see captrain doctor --help
? 2

$ captrain launch
! captrain launch: needs VERB [OPTION OF VERB]...
? 2

$ captrain launch -n 0 doctor
! captrain: -n: '0' is not a whole number from 1 to 65536
? 2

$ captrain launch -n many doctor
! captrain: -n: 'many' is not a whole number from 1 to 65536
? 2

$ captrain launch -n 2 trian
! captrain: unknown verb 'trian'; did you mean 'train'? See captrain --help
? 2

$ captrain launch -n 2 train --epochs 3
! captrain: unknown option '--epochs'; train.epochs is a configuration key: --set train.epochs=...; see captrain train --help
? 2

$ captrain launch -n 2 launch doctor
! captrain launch: launch cannot be launched
? 2

$ captrain launch -n 2 --hosts '' doctor
! captrain: launch: --hosts: a name is missing
? 2

$ captrain launch -n 2 --hosts a,b:2 doctor
! captrain: launch: --hosts: either every machine has a number of processes (A:4,B:4) or none
? 2

$ captrain launch -n 2 --hosts 'a;b' doctor
! captrain: launch: --hosts: 'a;b' is no name of a machine
? 2

$ captrain launch --hosts a:0 doctor
! captrain: launch: --hosts: behind 'a:' stands no whole number from 1 to 65536
? 2

$ captrain launch -n 5 --hosts a:2,b:2 doctor
! captrain: launch: --hosts a:2,b:2 is room for 4 processes, -n asks for 5
? 2

$ captrain launch --restarts 2 train
! captrain launch: --restarts needs --out DIR behind train: that is the run to be continued
? 2

$ captrain launch --restarts 2 doctor
! captrain launch: --restarts is for train alone
? 2

$ captrain launch --restarts many train --out x
! captrain: --restarts: 'many' is not a whole number from 0 to 1000000
? 2

$ PATH=$(dirname "$(command -v captrain)") captrain launch -n 2 doctor
! captrain: warning: launch: train, eval and profile of a training share their work among processes; each of 2 does all of doctor
! captrain: launch: there is no mpirun or mpiexec in PATH; packages that have one are openmpi-bin (Open MPI) and mpich; CAPTRAIN_MPIRUN may name another
? 2

$ CAPTRAIN_MPIRUN=./absent captrain launch -n 2 doctor
! captrain: warning: launch: train, eval and profile of a training share their work among processes; each of 2 does all of doctor
! captrain: launch: CAPTRAIN_MPIRUN names no program: ./absent
? 2

$ CAPTRAIN_MPIRUN=/bin/true captrain launch -n 2 doctor
~ s/MPICH's: .*/MPICH's: WORDS/
! captrain: warning: launch: train, eval and profile of a training share their work among processes; each of 2 does all of doctor
! captrain: launch: /bin/true: --version is neither Open MPI's nor MPICH's: WORDS
? 2

# One of several is not to start several.
$ PMI_RANK=1 PMI_SIZE=2 captrain launch -n 2 doctor
! captrain: launch: this process is number 1 of 2 already, says mpich: start the verb itself
? 2

$ RANK=1 WORLD_SIZE=2 PET_NNODES=2 PET_NPROC_PER_NODE=8 captrain launch -n 2 doctor
! captrain: environment: RANK=1 without LOCAL_RANK is the number of this node (WORLD_SIZE=2, PET_NNODES=2, PET_NPROC_PER_NODE=8): one process per card is still to be started: torchrun --no-python captrain VERB ... does so, or RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE set for each
? 2

$ RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 captrain launch -n 2 doctor
! captrain: environment: OMPI_COMM_WORLD_RANK=0, but RANK=1: two programs say which process this is, and disagree; unset the variables of the one that did not start it
? 2
