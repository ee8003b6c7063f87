"""Argument lists of ssh and of mpirun over ssh, for both families of MPI."""

from seatrial.launch.hosts.ssh_argv import mpirun_argv, mpirun_variables, ssh_argv
from seatrial.launch.mpi import Family, Mpi, ending_with_parent, without_schedulers

OPEN_MPI = Mpi(mpicc="mpicc", mpirun="/opt/ompi/bin/mpirun", family=Family.OPEN_MPI)
MPICH = Mpi(mpicc="mpicc", mpirun="/opt/mpich/bin/mpiexec", family=Family.MPICH)
HOSTS = ("n1", "n2.site")


def text_of(mpi: Mpi, **given: object) -> str:
    return " ".join(mpirun_argv(mpi, HOSTS, ["/p/probe"], **{"root": False, **given}))  # type: ignore[arg-type]


def test_ssh_asks_nothing_gives_up_and_takes_no_host_for_an_option() -> None:
    argv = ssh_argv("-oProxyCommand=x", ["sh", "-s"])
    assert argv[-4:] == ["--", "-oProxyCommand=x", "sh", "-s"]
    assert {"BatchMode=yes", "ConnectTimeout=10"} <= set(argv)


def test_open_mpi_puts_one_bound_rank_on_each_host() -> None:
    assert text_of(OPEN_MPI) == (
        "/opt/ompi/bin/mpirun --wdir / --host n1:1,n2.site:1 --map-by ppr:1:node --bind-to core -n 2 /p/probe"
    )
    assert "--wdir / --host n1:4,n2.site:4 --map-by ppr:4:node --bind-to core -n 8" in text_of(
        OPEN_MPI, ranks_per_host=4
    )
    assert "--allow-run-as-root" in text_of(OPEN_MPI, root=True)


def test_open_mpi_is_asked_to_export_what_is_not_its_own() -> None:
    argv = text_of(OPEN_MPI, exported=["UCX_TLS", "OMPI_MCA_pml", "LD_LIBRARY_PATH"])
    assert "-x LD_LIBRARY_PATH -x UCX_TLS /p/probe" in argv


def test_hydra_puts_one_bound_rank_on_each_host() -> None:
    assert text_of(MPICH, exported=["UCX_TLS"], root=True) == (
        "/opt/mpich/bin/mpiexec -launcher ssh -rmk user -wdir / -hosts n1,n2.site -ppn 1 -n 2 -bind-to core /p/probe"
    )


def test_a_binding_of_the_user_replaces_ours() -> None:
    for mpi, words in ((OPEN_MPI, ["--bind-to", "none"]), (MPICH, ["-bind-to", "none"])):
        argv = text_of(mpi, options=words)
        assert "core" not in argv
        assert f"{' '.join(words)} /p/probe" in argv


def test_mpirun_itself_logs_in_without_questions_whatever_job_is_around() -> None:
    variables = mpirun_variables()
    for name in ("OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args", "HYDRA_LAUNCHER_EXTRA_ARGS"):
        assert "BatchMode=yes" in variables[name]
    job = {"SLURM_JOB_ID": "1", "SLURM_CONF": "/c", "PBS_NODEFILE": "f", "LSB_JOBID": "2", "FLUX_URI": "u", "HOME": "/"}
    words = without_schedulers(["mpirun"], job)
    assert words == ["env", "-u", "FLUX_URI", "-u", "LSB_JOBID", "-u", "PBS_NODEFILE", "-u", "SLURM_JOB_ID", "mpirun"]
    assert without_schedulers(["mpirun"], {"HOME": "/"}) == ["mpirun"]


def test_mpirun_ends_when_this_process_is_killed() -> None:
    assert ending_with_parent(["m"], Family.OPEN_MPI, "/s") == ["/s", "--pdeathsig", "TERM", "--", "m"]
    assert ending_with_parent(["m"], Family.MPICH, "/s") == ["/s", "--pdeathsig", "KILL", "--", "m"]
    assert ending_with_parent(["m"], Family.MPICH, "") == ["m"]
