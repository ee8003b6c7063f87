"""Why a job failed, by what it printed."""

import pytest

from seatrial.failures.job_output import explain_output
from seatrial.failures.printed_text import in_english
from tests.support.failure_texts import explained
from tests.support.processor_time import within

TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    import foo\nImportError: no foo\n'
ENDED = "srun: error: n1: task 0: Exited with exit code 1\n"
ABORTED = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
PMIX = "slurmstepd: error:  mpi/pmix_v4: {}: cn014 [3]: pmixp_coll.c:{}: 0x14d2540072c0: {}\n"
COLLECTIVE = PMIX.format("pmixp_coll_ring_reset_if_to", 738, "collective timeout seq=0") + PMIX.format(
    "pmixp_coll_log", 286, "Dumping collective state"
)
BOX = "-" * 74
CUT = "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-26T00:00:00 DUE TO TIME LIMIT ***\n"


@pytest.mark.parametrize(
    ("text", "meaning", "remedy"),
    [
        (
            "slurmstepd: error: execve(): hello: No such file or directory\n" + ENDED,
            "hello does not exist on n1, on PATH",
            "./NAME",
        ),
        ("slurmstepd: error: execve(): /opt/app: No such file or directory\n", "/opt/app does not exist", "Install"),
        (
            f"srun: error: n3: task 2: Segmentation fault\n{ABORTED}",
            "rank 2 on n3 was ended by signal 11 (SIGSEGV)",
            "",
        ),
        (CUT, "the job reached its time limit", "--time"),
        (CUT.replace(" DUE TO TIME LIMIT", ""), "the job was cancelled", "scancel"),
        (
            COLLECTIVE + CUT.replace(" DUE TO TIME LIMIT", ""),
            "do not reach, or do not understand, each other",
            "firewall",
        ),
        (f"{COLLECTIVE}step 100\n{CUT}".replace(" DUE TO TIME LIMIT", ""), "the job was cancelled", "scancel"),
        (COLLECTIVE + CUT, "the job reached its time limit", "--time"),
        (
            "libfabric:21:17::cxi:ep_ctrl:cxip_ep_enable():540<warn> cn5: Failed to allocate CXI service: -1: "
            "Operation not permitted\nFatal error in PMPI_Init: Other MPI error, error stack:\n"
            "MPIDI_OFI_mpi_init_hook: OFI domain open failed\n",
            "the step has no VNI of Slingshot",
            "job_vni",
        ),
        (
            "PRTE ERROR: Not found in file ess_hnp_module.c at line 321\n" + "-" * 74 + "\nPRTE was unable to find any "
            "usable network interfaces\n",
            "mpirun's daemons find no network",
            "prte_if_include",
        ),
        (
            "[cn1:2] mca_base_component_repository_open: unable to open mca_pml_ucx: libucp.so.0: cannot open shared "
            "object file: No such file or directory (ignored)\n[cn1:2] *** An error occurred in MPI_Init\n"
            "No components were able to be opened in the pml framework.\n",
            "since the library libucp.so.0 is missing there",
            "ldd",
        ),
        (
            "[1701.2] [gpu3:99:0] ucp_mm.c:157 UCX  ERROR failed to register address 0x7f2a mem_type bit 0x2 "
            "length 1048576 on md[6]=mlx5_0: Bad address (md supports: host)\n",
            "the adapter of gpu3 cannot reach memory",
            "nvidia_peermem",
        ),
        ("PRTE ERROR: Bad parameter in file ras_base.c at line 9\n", "it says: PRTE ERROR: Bad parameter", "doctor"),
        ("srun: error: n2: task 1: Out Of Memory\n", "memory ran out on n2", "--mem"),
        ("srun: error: Node failure on n4\n", "n4 failed while the job ran", "seatrial check"),
        ("/var/spool/job4711/slurm_script: line 3: mpirun: command not found\n", "mpirun: command not found", "module"),
        (TRACE + ENDED, "it says: ImportError: no foo", "doctor"),
        ("forrtl: severe (174): SIGSEGV, segmentation fault occurred\n", "forrtl: severe (174)", ""),
        (ENDED, "rank 0 on n1 ended with exit code 1", ""),
        (
            f"slurmstepd-n5: error: Step 81.0 exceeded memory limit (529177 > 209715), being killed\n"
            f"slurmstepd-n5: error: *** STEP 81.0 ON n5 CANCELLED AT 2023-12-13T08:58:22 ***\n{ABORTED}"
            "srun: error: n5: task 0: Killed\n",
            "memory ran out on n5",
            "--mem",
        ),
        (
            "slurm_script: line 28:  8156 Killed   python main.py\n"
            "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=9.batch cgroup.\n",
            "memory ran out.",
            "--mem",
        ),
        (
            "srun: error: Task launch for StepId=12.4 failed on node n7: Unable to layout tasks on given cpus\n"
            "srun: error: Application launch failed: Unable to layout tasks on given cpus\nsrun: Job step aborted\n",
            "cores that the job does not have on n7",
            "--cpu-bind",
        ),
        (
            "srun: error: Unable to create step for job 41: Invalid generic resource (gres) specification\n",
            "a step asks for what the job does not have",
            "SLURM_GRES",
        ),
        (
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 4774 RUNNING AT n8\n"
            "=   EXIT CODE: 139\n",
            "a rank on n8 was ended by signal 11 (SIGSEGV)",
            "core file",
        ),
        ("a.out: mesh.c:12: cut: Assertion `cells > 0' failed.\n", "mesh.c:12: cut: Assertion `cells > 0' failed", ""),
        ("MPT ERROR: In xpmem_attach: Rank 0 could not attach 99 bytes\n", "it says: MPT ERROR: In xpmem_attach", ""),
        ("[n1:7] pml_zz.c:70: Unable to bind the thing\n", "it says: [n1:7] pml_zz.c:70: Unable to bind", "doctor"),
        (f"[n1:7] PMIX ERROR: UNREACHABLE in file ptl_tcp.c at line 790\n{ENDED}", "PMIx of the launcher", "--mpi"),
        ("result 1\n" * 100_000 + TRACE, "it says: ImportError: no foo", ""),
        (
            f"slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2024-01-01T00:00:00 ***\n{ABORTED}",
            "the job was cancelled.",
            "",
        ),
        (
            f"srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)\n{CUT}",
            "another step of the same job holds what this one needs",
            "",
        ),
        (
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 3 PID 12345 RUNNING AT cn07\n"
            "=   KILLED BY SIGNAL: 9 (Killed)\n",
            "rank 3 on cn07 was ended by signal 9 (SIGKILL).",
            "dmesg",
        ),
        (
            f"srun: error: Task launch for StepId=8.0 failed on node n17: Job prolog failed\n{ABORTED}",
            "n17 could not begin the job (Job prolog failed)",
            "",
        ),
        (
            "[1756790188.787634] [gpu15:85054:0]  ib_device.c:1 UCX  ERROR ibv_open_device(mlx5_0) failed: Cannot "
            "allocate memory\n",
            "mlx5_0 of gpu15",
            "",
        ),
        (
            "terminate called after throwing an instance of 'ccl::v1::exception'\n  what():  oneCCL: no device\n\n",
            "'ccl::v1::exception' what(): oneCCL: no device.",
            "",
        ),
    ],
)
def test_the_cause_is_named_with_what_to_do(text: str, meaning: str, remedy: str) -> None:
    failure = explained(text)
    assert meaning in failure.meaning
    assert remedy in failure.remedy
    assert failure.meaning.endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the residual error is 1e-9\nno failures, 0 errors\n",
        "\x00\xff" * 1000,
        'n1:4:4 [0] init.cc:127 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to hang!\n'
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.3\n",
        f"{BOX}\n Solver statistics: 0 failed steps\n{BOX}\ndone\n",
        f"{BOX}\nThe run had 0 errors\n{BOX}\ndone\n",
        f"{BOX}\nWARNING: Open MPI failed to find a file\n{BOX}\ndone\n",
        "slurmstepd-n1: error: task/cgroup: hwloc_get_obj_below_by_type() failing, task/affinity plugin needed\nx\n",
        "slurmstepd-n1: error: task/cgroup: task[0] unable to set taskset '0x0'\nhello from n1\n",
        "n1:11:11 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\nhello from n1\n",
    ],
)
def test_an_output_without_a_complaint_explains_nothing(text: str) -> None:
    assert explain_output(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: n1: task 0: Exited with exit code {digits}",
        "srun: error: n1: task {digits}: Killed",
        "srun: error: n1: tasks {digits}-{digits}: Killed",
        "mpirun noticed that process rank {digits} with PID 3 on node n1 exited on signal {digits}",
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK {digits} PID {digits} RUNNING AT n1\n"
        "=   KILLED BY SIGNAL: {digits} (Killed)",
        "[n1:{digits}] Signal: Segmentation fault (11)",
        "[n1:{digits}:0:{digits}] Caught signal {digits} (Segmentation fault)",
    ],
)
def test_numbers_without_end_are_no_numbers(text: str) -> None:
    """Python refuses to convert more than 4,300 digits."""
    explain_output(text.format(digits="9" * 2900) + "\n")
    explain_output(text.format(digits="9" * 5000) + "\n")


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: n[0-65535,0-65535]: tasks 0-999999999: Killed\n",
        "srun: error: n[0-255][0-255]: tasks 0-9: Killed\nslurmstepd-n1: error: Detected 1 oom_kill event\n",
    ],
)
def test_sets_of_nodes_and_ranks_have_a_limit_together(line: str) -> None:
    """A file of 60 MB, of which 200,000 characters are read, took minutes and 7 GB."""
    with within(8):
        assert explain_output(line * 3000) is not None


def test_the_last_complaints_before_a_rank_ended_are_quoted() -> None:
    failure = explained("error norm 1e-3\n" + "step\n" * 50 + f"cannot read mesh.h5\n{ENDED}")
    assert failure.meaning.endswith(": rank 0 on n1 ended with exit code 1. It last said: cannot read mesh.h5.")
    assert failure.quote == "cannot read mesh.h5"


@pytest.mark.parametrize(
    "stamp", ["2026-11-27T12:00:00.123+01:00 ", "[2026-11-27T12:00:00.123] ", "Nov 27 12:00:00 ", "    "]
)
def test_times_and_indentation_before_each_line_change_nothing(stamp: str) -> None:
    text = f"srun: error: spank: x11.so: Plugin file not found\nsrun: error: n3: task 2: Segmentation fault\n{ABORTED}"
    failure = explained("".join(f"{stamp}{line}\n" for line in text.splitlines()))
    assert failure.meaning == "rank 2 on n3 was ended by signal 11 (SIGSEGV)."


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"{BOX}\nYour job failed to map. Either no mapper\nwas available\n\n  Mapping policy: PPR:24:NUMA\n{BOX}\n",
         "it says: Your job failed to map. Either no mapper was available Mapping policy: PPR:24:NUMA."),
        (f"{BOX}\nThe mapper has gone to the moon.\n\nPlease revise the policy.\n{BOX}\n",
         "it says: The mapper has gone to the moon. Please revise the policy."),
        ("g1: Test NCCL failure common.cu:9 'of a new kind / '\n",
         "NCCL failed, and its message does not say why (of a new kind)."),
        ("Abort(1) (rank 7 in comm 0): Fatal error in PMPI_Recv: Other MPI error, error stack:\nPMPI_Recv(7).: \n"
         "MPIDI_OFI_recv_event(126): Message truncated\nlater(1): words\n\n",
         "it says: later(1): words."),
        ("n11.4213PSM2 Could not allocate memory for hfi context (err=7)\nOpen MPI failed an OFI Libfabric library "
         "call (fi_endpoint).\n  Local host: n11\n",
         "it says: n11.4213PSM2 Could not allocate memory for hfi context (err=7) / after that libfabric's fi_endpoint "
         "failed on n11."),
        ("CUDA error #9 (cudaErrorX): unknown\n",
         "CUDA, HIP or a library of theirs reports an error on the nodes (CUDA error #9 (cudaErrorX): unknown)."),
        ("Assertion failed in file ../../src/mpid/ch4/shm/intel_transport.c at line 387: 0\n",
         "it says: Assertion failed in file ../../src/mpid/ch4/shm/intel_transport.c at line 387: 0."),
    ],
)  # fmt: skip
def test_the_line_that_says_why_is_quoted(text: str, meaning: str) -> None:
    assert explained(text).meaning == meaning


def test_the_line_that_reports_a_failed_node_is_quoted() -> None:
    failure = explained(f"srun: error: Node failure on cn104\n{ABORTED}")
    assert failure.quote == "srun: error: Node failure on cn104"


def test_the_end_of_an_mpi_program_is_no_complaint_before_it() -> None:
    text = (
        '  ompi_mpi_init: ompi_mpi_instance_init failed\n  --> Returned "Unreachable" (-12)\n'
        "[g5:00000] *** An error occurred in MPI_Init\n"
        "[g5:00000] *** reported by process [3073835009,281470681743361]\n"
        "[g5:00000] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
    )
    failure = explained(f"It looks like MPI_INIT failed for some reason;\n\n{text}")
    assert failure.meaning.startswith("Open MPI's MPI_Init failed")


@pytest.mark.parametrize("driver", ["hns", "qedr", "efa"])
def test_drivers_that_libibverbs_does_without_are_not_quoted(driver: str) -> None:
    file = f"lib{driver}-rdmav34.so"
    warning = f"libibverbs: Warning: couldn't load driver '{file}': {file}: cannot open shared object file: No such\n"
    crash = f"srun: error: n3: task 2: Segmentation fault\n{ABORTED}"
    failure = explained(f"{warning}step 1\n{crash}")
    assert failure.meaning == "rank 2 on n3 was ended by signal 11 (SIGSEGV). It last said: step 1."
    assert explain_output(f"{warning}step 1\n") is None
    assert explained(f"{warning}cannot read mesh.h5\n{crash}").meaning.endswith("It last said: cannot read mesh.h5.")


def test_what_mpiexec_alone_complains_of_is_quoted() -> None:
    line = "[mpiexec@n1] HYD_sched_read (sched.c:7): cannot read the order of stars"
    failure = explained(f"{line}\n[mpiexec@n1] main (mpiexec.c:343): no order\n")
    assert (failure.quote, failure.overcome) == (line, False)
    failure = explained(f"{line}\nstep 1\nstep 2\n")
    assert failure.overcome
    assert explain_output("[mpiexec@n1] Sending Ctrl-C to processes as requested\nstep 1\nstep 2\n") is None
    failure = explained(f"{line}\nsrun: error: n1: task 0: Segmentation fault\n")
    assert failure.meaning.startswith("rank 0 on n1 was ended by signal 11 (SIGSEGV).")


ABORT = "application called MPI_Abort(MPI_COMM_WORLD, 7) - process 3\n"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"{ABORT}srun: error: c9: task 0: Killed\n", "rank 3 called MPI_Abort with code 7"),
        (f"srun: error: c9: task 0: Killed\n{ABORT}", "rank 0 on c9 was ended by signal 9"),
        (f"{ABORT}srun: error: c9: task 0: Bus error\n", "rank 0 on c9 was ended by signal 7"),
        ("srun: error: c9: task 0: Killed\n", "rank 0 on c9 was ended by signal 9"),
    ],
)
def test_ranks_that_are_killed_after_an_abort_are_not_the_cause(text: str, meaning: str) -> None:
    assert meaning in explained(text).meaning


@pytest.mark.parametrize(
    ("printed", "english"),
    [
        ("x: Keine Berechtigung", "x: Permission denied"),
        ("x : Permission non accordée", "x: Permission denied"),
        ("x\xa0: Permission non accordée", "x: Permission denied"),
        ("s.sh: 第 3 行：x: 未找到命令", "s.sh: line 3: x: command not found"),
        ("s.sh: ligne 12 : x\xa0: commande introuvable", "s.sh: line 12: x: command not found"),
        ("Zeile 12: x : 3", "Zeile 12: x : 3"),
        ("s.sh : ligne 9 :  3312 Processus arrêté   ./x", "s.sh: line 9: 3312 Killed   ./x"),
        ("s.sh: Zeile 9: 3312 Abgebrochen (Speicherabzug geschrieben) ./x", "s.sh: line 9: 3312 Aborted"),
        ("Abgebrochen nach Zeile 9: 12 Werte", "Abgebrochen nach line 9: 12 Werte"),
        ("x : Le réseau n'est pas accessible", "x: Network is unreachable"),
    ],
)
def test_what_the_system_says_in_another_language_is_read_in_english(printed: str, english: str) -> None:
    assert in_english(printed).startswith(english)


SHELL = "/var/spool/slurmd/job1/slurm_script: line 12: 48213 Killed   ./solver > solver.log\n"
SCRIPT = "srun: error: node07: task 3: Exited with exit code 1\n"


@pytest.mark.parametrize("said", [SHELL, "Killed\n", "Segmentation fault (core dumped)\n"])
def test_the_shell_around_a_program_says_by_which_signal_it_ended(said: str) -> None:
    failure = explained(f"step 1\n{said}{SCRIPT}")
    number = 11 if said.startswith("Seg") else 9
    assert failure.meaning.startswith(f"a program of the script was ended by signal {number} ")
    later = explained(f"step 1\n{SCRIPT}{said}")
    assert later.meaning.startswith("rank 3 on node07 ended with exit code 1")


def test_the_last_line_before_a_chosen_end_states_its_kind_without_any_word_of_an_error() -> None:
    assert explained(f"Step 100\nLicense server not reachable at 27000@lic1\n{SCRIPT}").meaning.startswith(
        "the program gets no licence: "
    )


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        ("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO {} ***\n", True),
        ("If your job ends DUE TO {}, ask for another partition.\n", False),
    ],
)
@pytest.mark.parametrize("why", ["TIME LIMIT", "PREEMPTION", "NODE FAILURE"])
def test_only_slurm_says_why_it_ended_a_job(words: str, why: str, ends: bool) -> None:
    assert (explain_output(words.format(why)) is not None) is ends


@pytest.mark.parametrize(
    "line",
    ["=>> PBS: job killed: walltime 61 exceeded limit 60", "TERM_MEMLIMIT: job killed after reaching LSF's limit."],
)
def test_what_another_scheduler_says_is_quoted(line: str) -> None:
    failure = explained(f"step 1\n{line}\nstep 2\nstep 3\n")
    assert (failure.quote, failure.overcome) == (line, False)
