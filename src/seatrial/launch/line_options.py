"""Options of srun, Open MPI's mpirun and MPICH's Hydra: which take a value, which bind, which would take our pipes.

From srun(1) of Slurm 22.05 and 23.11, mpirun(1) of Open MPI 4.1, and `mpiexec -help` of MPICH 4.0. Names are without
their dashes, since mpirun and Hydra take one dash or two.
"""

import enum

import msgspec


class Dialect(enum.StrEnum):
    """Who starts the ranks."""

    SRUN = "srun"
    OPEN_MPI = "Open MPI"
    HYDRA = "Hydra"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a launcher's options."""

    values: dict[str, int]
    """Name -> how many words follow it."""
    binds: frozenset[str]
    """They choose cores, or lay ranks out, and would contradict a binding that is given rank by rank."""
    pipes: frozenset[str]
    """They send standard input or output elsewhere, or write into it."""
    count: frozenset[str]
    """How many ranks."""
    cores_each: frozenset[str]
    """How many processors for each rank."""


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _one(words: str) -> dict[str, int]:
    return dict.fromkeys(words.split(), 1)


SRUN = Options(
    values=_one(
        "A account B extra-node-info C constraint D chdir G gpus J job-name L licenses M clusters N nodes S core-spec "
        "T threads a b begin c cpus-per-task cpus-per-gpu d dependency e error export F nodefile gid gpu-bind "
        "gpu-freq gpus-per-node gpus-per-socket gpus-per-task gres gres-flags hint i input jobid m distribution "
        "mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi n ntasks network "
        "ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres o output open-mode p "
        "partition power priority prolog epilog profile q qos R r relative reservation signal slurmd-debug "
        "sockets-per-node cores-per-socket threads-per-core spread t time time-min task-epilog task-prolog "
        "thread-spec tmp tres-per-task U u-id uid use-min-nodes w nodelist W wait wckey x exclude bb bbf bcast-exclude "
        "cluster-constraint comment compress-with container cpu-bind cpu_bind cpu-freq deadline delay-boot "
        "accel-bind acctg-freq het-group pack-group kill-after thread-spec switches treewidth"
    ),
    binds=_names("cpu-bind cpu_bind hint"),
    pipes=_names("i input o output e error l label pty"),
    count=_names("n ntasks"),
    cores_each=_names("c cpus-per-task"),
)
OPEN_MPI = Options(
    values=_one(
        "np n c N H host hostfile machinefile default-hostfile map-by rank-by bind-to cpu-set cpu-list rf rankfile "
        "npernode npersocket ppr prefix path wdir wd x am tune app output-filename output-proc output stdin timeout "
        "report-pid report-uri max-restarts cpus-per-proc cpus-per-rank slot-list preload-files personality "
        "ompi-server dvm launch-agent xterm debugger max-vm-size server-wait-time set-cwd-to-session-dir rd"
    )
    | dict.fromkeys(("mca", "gmca", "omca", "pmixmca", "prtemca"), 2),
    binds=_names(
        "map-by rank-by bind-to cpu-set cpu-list rf rankfile npernode pernode npersocket ppr N bycore bynode "
        "byslot bind-to-core bind-to-socket bind-to-none cpus-per-proc cpus-per-rank slot-list use-hwthread-cpus "
        "nolocal nooversubscribe"
    ),
    pipes=_names("output-filename output stdin tag-output timestamp-output xml xml-file merge-stderr-to-stdout"),
    count=_names("np n c"),
    cores_each=_names("cpus-per-proc cpus-per-rank"),
)
HYDRA = Options(
    values=_one(
        "n np hosts host f hostfile machinefile ppn perhost wdir envlist genvlist path gpath launcher bootstrap "
        "launcher-exec bootstrap-exec rmk bind-to binding map-by membind topolib iface outfile-pattern errfile-pattern "
        "prepend-pattern demux nameserver usize s configfile arch pmi-port-range localhost gpus-per-proc "
        "gpu-subdevs-per-proc profile-args"
    )
    | dict.fromkeys(("env", "genv"), 2),
    binds=_names("bind-to binding map-by"),
    pipes=_names("s l prepend-rank prepend-pattern outfile-pattern errfile-pattern"),
    count=_names("n np"),
    cores_each=_names(""),
)
OPTIONS = {Dialect.SRUN: SRUN, Dialect.OPEN_MPI: OPEN_MPI, Dialect.HYDRA: HYDRA}
