"""What srun, slurmstepd, Open MPI, MPICH, Intel MPI and the linker print on machines that are not ours."""

import textwrap

import pytest

from seatrial.failures.start_failure import StartFailure, explain
from tests.support.failure_texts import texts

RULE = "-" * 74
STARTS = [
    text
    for name in ("pmi", "mpirun", "transports", "devices", "programs", "steps", "slurm", "several")
    for text in texts(name)
]
LABELLED = ("0: ", "1: ", "3: ", "[1,1]<")


@pytest.mark.parametrize(("text", "meaning", "remedy"), STARTS, ids=range(len(STARTS)))
def test_what_other_machines_print_is_named_with_its_fix(text: str, meaning: str, remedy: str) -> None:
    failure = explain(text)
    found, advice = failure.meaning, failure.remedy
    assert meaning in found
    assert remedy in advice
    assert not {"\\", "{", "\n"} & set(found)


@pytest.mark.parametrize("dress", ["{}\r", "0: {}", " 7: {}\r", "[1,0]<stderr>:{}", "[prterun-n1-7@1,0]<stderr>: {}",
                                   "\x1b[1;31m{}\x1b[0m"])  # fmt: skip
def test_labels_colours_and_ends_of_lines_change_nothing(dress: str) -> None:
    plain = [start for start in STARTS if not start[0].startswith(LABELLED)]
    assert len(plain) > 250
    for text, meaning, remedy in plain:
        failure = explain("\n".join(dress.format(line) for line in text.split("\n")))
        assert (meaning in failure.meaning, remedy in failure.remedy) == (True, True), text


@pytest.mark.parametrize("width", [40, 74, 80, 1000])
def test_the_box_of_open_mpi_may_be_broken_anywhere(width: int) -> None:
    words = (
        'The application appears to have been direct launched using "srun", but OMPI was not built with SLURM\'s PMI '
        "support and therefore cannot execute."
    )
    failure = explain(f"{RULE}\n{textwrap.fill(words, width)}\n{RULE}\n")
    found, advice = failure.meaning, failure.remedy
    assert "(OMPI was not built with SLURM's PMI support)" in found
    assert "--mpi" in advice


NO_PARAMETERS = f"""{RULE}
WARNING: No preset parameters were found for the device that Open MPI
detected:

  Local host:            e001
  Device name:           bnxt_re0
{RULE}
{RULE}
WARNING: There is at least non-excluded one OpenFabrics device found,
but there are no active ports detected (or Open MPI was unable to use
them).  This is most certainly not what you wanted.

  Local host: e001
{RULE}
"""
HARMLESS = (
    NO_PARAMETERS,
    "[1529871139.428305] [server:28772:0]         rcache.c:534  UCX  WARN  failed to register region 0x5: failed\n",
    "[1.2] [n1:7:0] parser.c:1 UCX  WARN  transport 'rc_x' is not available, please use one or more of: tcp, self\n",
    "srun: error: spank: x11.so: Plugin file not found\n",
    "srun: warning: can't honor --ntasks-per-node set to 4 which doesn't match the requested tasks 2\n",
    "srun: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n",
    "srun: lua: This job was submitted from a host running Rocky 8. Assigning job to el8 reservation.\n",
    "srun: Job 9 step creation temporarily disabled, retrying (Requested nodes are busy)\n"
    "srun: Step created for job 9\n",
    "slurmstepd: error: Unable to create TMPDIR [/scratch/15]: Permission denied\n"
    "slurmstepd: error: Setting TMPDIR to /tmp\n",
    "slurmstepd: error: couldn't chdir to `/home/u': No such file or directory: going to /tmp instead\n",
    "slurmstepd: error: task/cgroup: unable to add task[pid=77] to memory cg '(null)'\n",
    "[n1:1] mca_base_component_repository_open: unable to open mca_btl_openib: librdmacm.so.1: cannot open shared "
    "object file: No such file or directory (ignored)\n",
    'n1:4:4 [0] init.cc:127 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to hang!\n',
    "[pi01:28731] 3 more processes have sent help message help-mpi-btl-openib.txt / no device params found\n"
    '[pi01:28731] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages\n',
    "[n1:26041] PMIX ERROR: ERROR in file ../gds_ds12_lock_pthread.c at line 169\n",
    "MPI startup(): Warning: I_MPI_PMI_LIBRARY will be ignored since the hydra process manager was found\n",
    "WARNING: Error in initializing MVAPICH2 ptmalloc library.Continuing without InfiniBand registration cache "
    "support.\n",
    "PMI2_KVS_Get:_pmi2_kvs_get failed\n_pmi2_kvs_get:key [-NONEXIST-KEY] was not found.\n",
    "e001.53882PSM2 no hfi units are active (err=23)\n",
    "libfabric:2833295:core:core:fi_getinfo_():954<warn> fi_getinfo: provider ofi_mrail returned -61 (No data "
    "available)\n",
)


@pytest.mark.parametrize("warning", HARMLESS)
@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (
            "./p: error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such",
            "libmpi.so.40",
        ),
        ("srun: error: Task launch for StepId=9.0 failed on node n4: Job credential expired", "n4: clocks differ"),
    ],
)
def test_a_harmless_warning_before_it_is_not_taken_for_the_cause(warning: str, text: str, meaning: str) -> None:
    assert meaning in explain(warning + text).meaning
    assert meaning in explain("".join(f"0: {line}\r\n" for line in (warning + text).split("\n"))).meaning


GUESSED = ("hfi units", "transport 'rc_x'")
"""A device that is not there is believed where nothing else is known."""


@pytest.mark.parametrize("warning", [one for one in HARMLESS if not any(words in one for words in GUESSED)])
def test_before_what_is_not_known_it_is_not_quoted(warning: str) -> None:
    assert explain(f"{warning}The moon is full over n7.\n") == StartFailure(meaning="The moon is full over n7.")


def test_what_is_not_known_is_quoted_without_what_is_harmless() -> None:
    assert explain(NO_PARAMETERS + "[n1:1] The moon is full\n").meaning == "[n1:1] The moon is full"
    assert "No preset parameters" in explain(NO_PARAMETERS).meaning
    assert explain("0: \x1b[31mThe moon\x1b[0m is full\r\n1: The moon is full\r\n").meaning == "The moon is full"


def test_many_nodes_are_counted_and_long_quotes_cut() -> None:
    lines = [f"slurmstepd-n{number}: error: execve(): /p: No such file or directory" for number in range(1, 21)]
    meaning = explain("\n".join(lines)).meaning
    assert meaning.startswith("the program /p does not exist on n1, n2, n3, n4, n5, n6, n7, n8 and 12 more. It says: ")
    failure = explain("sinfo: error: Munge encode failed: Socket " + "x" * 5000)
    found = failure.meaning
    assert len(found) < 400
