"""Complaints that a job overcame, or that came after its end, beside the words of the rank that died."""

import pytest

from seatrial.commands.doctor.run import examine_outputs
from seatrial.failures.job_output import explain_output
from seatrial.model.errors import ExitCode
from tests.support.failure_texts import explained

PORT = "n03:100:130 [0] transport/net_ib.cc:88 NCCL WARN NET/IB : {}Got async event : port {}\n"
SHMGET = (
    "[1.2] [n03:18:0] sys.c:855 UCX  ERROR shmget(size=2097152 flags=0xfb0) failed: Operation not permitted, please"
    " check shared memory limits\n"
)
FULL = "cp: cannot create regular file '/old/x': No space left on device\n"
PMIX = "[n1:7] PMIX ERROR: UNREACHABLE in file ptl_tcp.c at line 790\n"
STEPS = "".join(f"iteration {number}00 residual 1.0e-{number}\n" for number in range(1, 6))
ENERGIES = "".join(f"run {number} of 5\n  energy -1.{number}\n" for number in range(1, 6))
FAILED = "srun: error: a02: task 7: Exited with exit code 3\n"
CUT = "slurmstepd: error: *** STEP 9.0 ON a01 CANCELLED AT 2026-11-03T12:00:00 ***\n"
STOPPED = f"{CUT}srun: error: a01: task 0: Terminated\n"
RETRY = "[a01:100:0:100] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15)\n"
REMOTE = "a01:100:130 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<40112> with status=12 len=0\n"
SENT = "slurmstepd: error:  mpi/pmix_v4: pmixp_p2p_send: a02 [1]: pmixp_utils.c:467: send failed, rc=1001, exceeded\n"
VOLUME = "ERROR: negative volume in cell 8812, stopping\n"
CPP = "munmap_chunk(): invalid pointer\n"
PYTHON = 'Traceback (most recent call last):\n  File "t.py", line 9, in <module>\nKeyError: 7\n'


@pytest.mark.parametrize("complaint", [SHMGET, FULL, PMIX, PORT.format("mlx5_1:1 ", "error")])
@pytest.mark.parametrize("progress", [STEPS, ENERGIES, f"{STEPS}Converged.\n"])
def test_a_known_cause_after_which_a_job_went_on_is_a_note(complaint: str, progress: str) -> None:
    failure = explained(f"begin\n{complaint}{progress}")
    assert failure.overcome
    assert examine_outputs({"job.out": f"{complaint}{progress}"}).exit_code is ExitCode.INCOMPLETE


@pytest.mark.parametrize("complaint", [SHMGET, FULL, PMIX, PORT.format("mlx5_1:1 ", "error")])
@pytest.mark.parametrize(
    "after",
    [
        "",
        "cleaning up\nbye\n",
        "iteration 100 residual 1.0e-3\n",
        f"{STEPS}job exited with code 3\n",
        f"{STEPS}cannot go on\n",
        '  File "a.py", line 1, in f\n  File "a.py", line 22, in f\n',
        "#0  0x7f3 in ???\n#1  0x7f4 in ???\n",
        f"{'-' * 74}\nProcess 1 is on host: n1\nProcess 2 is on host: n2\n{'-' * 74}\n",
        "[n1:11] mca: base: close: component 1 closed\n[n1:12] mca: base: close: component 2 closed\n",
    ],
)
def test_what_is_no_progress_overcomes_nothing(complaint: str, after: str) -> None:
    assert not explained(f"{STEPS}{complaint}{after}").overcome


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (
            f"{SHMGET}{STEPS}{VOLUME}{FAILED}{STOPPED}",
            "the calculation became unstable, or left the range of numbers: ",
        ),
        (f"{SHMGET}{STEPS}forrtl: severe (174): SIGSEGV\n{FAILED}", "the program used memory that it does not have"),
        (f"{PORT.format('mlx5_1:1 ', 'error')}{STEPS}{PYTHON}{FAILED}{STOPPED}", "the program meets a case"),
        (f"0: {SHMGET}5: x\n7: {VOLUME}0: step 1\n0: step 2\n7: {VOLUME}{FAILED}", "n03 allows no more"),
        (f"{FULL}{STEPS}forrtl: severe (38): error during write, unit 11\n{FAILED}", "a file cannot be written on"),
        (f"{RETRY}{STEPS}RuntimeError: NCCL error: remote process exited\n{FAILED}", "packets are lost"),
        (f"{SHMGET}{VOLUME}{FAILED}{STOPPED}", "n03 allows no more System V shared memory"),
        (f"{SHMGET}{STEPS}{FAILED}{STOPPED}", "n03 allows no more System V shared memory"),
    ],
)
def test_a_complaint_that_was_overcome_gives_way_to_the_last_one(text: str, meaning: str) -> None:
    failure = explained(text)
    assert failure.meaning.startswith(meaning)
    assert not failure.overcome


@pytest.mark.parametrize("late", [RETRY, REMOTE, SENT, f"{SENT}{REMOTE}{RETRY}"])
@pytest.mark.parametrize(
    ("own", "meaning"),
    [
        (
            VOLUME,
            "the calculation became unstable, or left the range of numbers: rank 7 on a02 ended with exit code 3.",
        ),
        (CPP, "rank 7 on a02 ended with exit code 3. It last said: munmap_chunk(): invalid pointer"),
        (
            PYTHON,
            "the program meets a case for which its code is not written, or a fault of its code: it says: KeyError",
        ),
    ],
)
def test_what_peers_say_after_a_rank_died_of_itself_is_no_cause(own: str, meaning: str, late: str) -> None:
    for text in (f"{own}{FAILED}{late}{STOPPED}", f"0: begin\n7: x\n{_labelled(own, 7)}{FAILED}{late}{STOPPED}"):
        assert explained(text).meaning.startswith(meaning)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"{FAILED}{RETRY}{STOPPED}", "packets are lost"),
        (f"step 1\n{FAILED}{REMOTE}{STOPPED}", "packets are lost"),
        (f"{RETRY}{VOLUME}{FAILED}{STOPPED}", "packets are lost"),
        (f"RuntimeError: NCCL error: unhandled\n{FAILED}{REMOTE}{STOPPED}", "packets are lost"),
        (f"0: {VOLUME}{FAILED}{RETRY}{STOPPED}", "packets are lost"),
        (f"7: {VOLUME}{FAILED}7: {RETRY}{STOPPED}", "packets are lost"),
    ],
)
def test_what_comes_later_is_the_cause_where_the_rank_gave_none(text: str, meaning: str) -> None:
    assert explained(text).meaning.startswith(meaning)


GLIBCXX = "ImportError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by x.so)\n"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"0: {SHMGET}7: {GLIBCXX}{FAILED}{STOPPED}", "on a02 a library is older"),
        (f"[1,0]<stderr>:{RETRY}[1,7]<stderr>:{GLIBCXX}{FAILED}{STOPPED}", "on a02 a library is older"),
        (f"0: {FULL}7: java.lang.OutOfMemoryError: heap\n{FAILED}{STOPPED}", "the memory that Java gives itself"),
        (f"7: {SHMGET}7: {GLIBCXX}{FAILED}{STOPPED}", "n03 allows no more"),
        (f"{SHMGET}{GLIBCXX}{FAILED}{STOPPED}", "n03 allows no more"),
        (f"0: {RETRY}7: {REMOTE}{FAILED}{STOPPED}", "packets are lost between device mlx5_0"),
    ],
)
def test_a_cause_that_the_rank_that_died_named_goes_before_those_of_others(text: str, meaning: str) -> None:
    assert explained(text).meaning.startswith(meaning)


@pytest.mark.parametrize("port", ["mlx5_1:1 ", "mlx5_bond_0:1 ", ""])
def test_a_port_that_came_up_again_is_no_cause(port: str) -> None:
    down, up = PORT.format(port, "error"), PORT.format(port, "active")
    assert explain_output(f"{down}{up}trained\n") is None
    for text in (down, f"{down}{up}{down}", f"{up}{down}", f"{down}{up.replace('n03', 'n04')}"):
        assert explained(text).meaning.startswith("a port of an adapter of n03 went down")


def _labelled(text: str, rank: int) -> str:
    return "".join(f"{rank}: {line}\n" for line in text.splitlines())


ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
TRACE = 'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n'


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (f"iter 10\niter 20\n{TRACE}{ECC}iter 30\niter 40\niter 50\ntrain.py FAILED\n", "a GPU"),
        (f"iter 10\niter 20\n{TRACE}{ECC}iter 30\niter 40\nRuntimeError: DataLoader worker exited\n", "a GPU"),
        (f"{TRACE}{ECC}iter 30\niter 40\nValueError: loss is NaN\n", "a GPU"),
    ],
)
def test_an_exception_ends_its_rank_whatever_others_print_after_it(text: str, meaning: str) -> None:
    """Without labels the lines after it are those of other ranks, which had not yet noticed."""
    assert explained(f"{text}srun: error: n03: task 1: Exited with exit code 1\n").meaning.startswith(meaning)


@pytest.mark.parametrize(
    "after",
    [
        "Removing worker 0\nRemoving worker 1\nRemoving worker 2\n",
        "".join(f"retrying in 2 s (attempt {number} of 9)\n" for number in range(1, 9)),
        "".join(f"[heartbeat] alive, {number}0 s without progress\n" for number in range(1, 9)),
    ],
    ids=["cleaning up", "trying again", "waiting"],
)
def test_lines_that_are_no_progress_excuse_no_cause(after: str) -> None:
    assert "cannot be written" in explained(f"{FULL}{after}").meaning


XID = "[ 12.5] NVRM: Xid (PCI:0000:3b:00): {}, pid=4711, {}\n"
LOST_GPU = XID.format(79, "GPU has fallen off the bus.")
GPU = "a GPU of a02 reports a fault of its hardware"
MEMORY = "an uncorrected error of memory or processor of a02 was reported"
ADAPTER = "an adapter of a02 reports a fault"
RANK = "rank 7 on a02 ended with exit code 3. It last said: "
AT_FAULT = [
    (LOST_GPU, GPU),
    (XID.format(48, "An uncorrectable double bit error (DBE) has been detected"), GPU),
    (f"Nov  3 12:00:00 a02 kernel: {LOST_GPU[8:]}", GPU),
    ("amdgpu 0000:c1:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc block\n", "an AMD GPU of a02"),
    ("[ 12.5] EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0\n", MEMORY),
    ("[ 12.5] mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 4: be00000000800400\n", MEMORY),
    ("[ 12.5] mlx5_core 0000:81:00.0: poll_health:800: device's health compromised - reached miss count\n", ADAPTER),
    (
        "[ 12.5] mlx5_core 0000:81:00.0: print_health_info:445: Health issue observed, firmware internal error\n",
        ADAPTER,
    ),
    (
        "[ 12.5] pcieport 0000:c0:01.1: AER: Uncorrected (Fatal) error received: 0000:c1:00.0\n",
        "the kernel of a02 reports",
    ),
    ("[ 12.5] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n", "an NVSwitch of a02"),
]
BERT = "[ 1.5] BERT: Error records from previous boot:\n[ 1.5] [Hardware Error]: event severity: fatal\n"
CORRECTED = "[ 12.5] mlx5_core 0000:c1:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)\n"
MISSING = "FileNotFoundError: [Errno 2] No such file or directory: 'in.json'\n"
MISTAKES = [PYTHON, MISSING, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
            "forrtl: severe (24): end-of-file during read, unit 11, file /home/u/in.dat\n"]  # fmt: skip
LIMIT = "slurmstepd: error: *** STEP 9.0 ON a02 CANCELLED AT 2026-11-03T12:00:00 DUE TO TIME LIMIT ***\n"


@pytest.mark.parametrize(("line", "meaning"), AT_FAULT)
@pytest.mark.parametrize("words", [VOLUME, "AssertionError: gradient not finite\n", CPP])
def test_what_hardware_reported_is_kept_although_a_job_went_on(line: str, meaning: str, words: str) -> None:
    labelled = "".join(_labelled(part, 7) for part in (STEPS, line, ENERGIES, words))
    for text in (f"{STEPS}{line}{ENERGIES}{words}{FAILED}{STOPPED}", f"{labelled}{FAILED}{STOPPED}"):
        assert explained(text).meaning.startswith(meaning)


@pytest.mark.parametrize("words", MISTAKES)
@pytest.mark.parametrize("line", [line for line, _ in AT_FAULT[::2]])
def test_no_hardware_makes_a_program_say_that_after_it_went_on(line: str, words: str) -> None:
    meanings = []
    for progress in ("", ENERGIES):
        failure = explained(f"{STEPS}{line}{progress}{words}{FAILED}{STOPPED}")
        meanings.append(failure.meaning)
    assert "report" in meanings[0]
    assert "report" not in meanings[1]


@pytest.mark.parametrize("line", [line for line, _ in AT_FAULT])
def test_a_job_that_hangs_after_a_fault_needs_no_more_time(line: str) -> None:
    hung, slow = (explain_output(f"{STEPS}{line}{after}{LIMIT}") for after in ("", ENERGIES))
    assert hung is not None and "time limit" not in hung.meaning
    assert slow is not None and "time limit" in slow.meaning


@pytest.mark.parametrize("end", [PYTHON, "ValueError: loss is nan\n", "forrtl: severe (174): SIGSEGV occurred\n", ""])
@pytest.mark.parametrize("line", [line for line, _ in AT_FAULT[::2]])
def test_an_exception_shows_that_a_job_did_not_go_on(line: str, end: str) -> None:
    assert explained(f"{STEPS}{line}{ENERGIES}{end}").overcome == (not end)


@pytest.mark.parametrize("line", [CORRECTED, BERT, f"{CORRECTED}{BERT}"])
def test_corrected_and_earlier_errors_of_hardware_are_no_complaints(line: str) -> None:
    assert explain_output(f"{STEPS}{line}{ENERGIES}done\n") is None


@pytest.mark.parametrize(
    "line",
    [
        CORRECTED,
        BERT,
        XID.format(63, "Row Remapper: New row marked for remapping, reset gpu to activate."),
        XID.format(92, "High single-bit ECC error rate"),
        XID.format(94, "Contained: SM (0x1). RST: No, D-RST: No"),
        "[ 12.5] mlx5_core 0000:c1:00.0: wait_func:1132: ACCESS_REG(0x805) timeout. Will cause a leak of a command\n",
        "amdgpu 0000:c1:00.0: amdgpu: 0 new uncorrectable hardware errors detected in umc block\n",
        f"a05: {LOST_GPU}",
        XID.format(13, "Graphics Exception: ESR 0x50df30"),
        XID.format(31, "Ch 00000008, MMU Fault"),
        XID.format(43, "Ch 00000008"),
        f"Nov  3 12:00:00 a05 kernel: {LOST_GPU[8:]}",
        f"0: {LOST_GPU}{''.join(f'0: step {number}' + chr(10) for number in range(6))}",
        "[ 12.5] EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0\n",
        "[ 12.5] mlx5_core 0000:81:00.0 ens1f0: Link down\n[ 12.6] mlx5_core 0000:81:00.0 ens1f0: Link up\n",
    ],
)
@pytest.mark.parametrize("words", [VOLUME, "AssertionError: gradient not finite\n"])
def test_a_fault_of_the_program_or_of_another_node_gives_way(line: str, words: str) -> None:
    own = [_labelled(part, 7) if line.startswith("0: ") else part for part in (STEPS, ENERGIES, words)]
    assert explained(f"{own[0]}{line}{own[1]}{own[2]}{FAILED}{STOPPED}").meaning.endswith(f": {RANK}{words.strip()}.")


@pytest.mark.parametrize("other", ["iter 90 loss 2.1\n", "WARNING: slow step\n", "error: retrying the download\n"])
def test_the_last_words_are_those_of_the_rank_that_died(other: str) -> None:
    words = "AssertionError: gradient not finite\n"
    failure = explained(f"0: begin\n7: begin\n7: {words}0: {other}0: {other}{FAILED}{STOPPED}")
    assert failure.meaning.endswith(f": {RANK}{words.strip()}.")


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("Fatal error:\nThe box of atoms is too hot for 61 ranks\n", "Fatal error: The box of atoms"),
        ("Error in routine  cdiaghg (17):\n S matrix not positive definite\n", "Error in routine cdiaghg (17): S"),
        ('FATAL ERROR:\ncannot find file "p"\nstopping\n', 'FATAL ERROR: cannot find file "p".'),
        ("Time = 12\n[7] #0  Foam::error::printStack() at ??\n[7] #1  Foam::divide() at ??:?\n", "Time = 12."),
        ("energy -1.2:\nERROR: lost atoms\n", "ERROR: lost atoms."),
        ("step: 1\nstep: 2\n", "step: 2."),
    ],
)  # fmt: skip
def test_a_complaint_has_the_words_below_it_and_calls_are_none(printed: str, words: str) -> None:
    assert explained(f"{printed}{FAILED}{STOPPED}").meaning.partition(RANK)[2].startswith(words)
