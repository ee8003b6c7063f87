"""Documents and data about failures, which are not the output of a run."""

import pytest

from seatrial.commands.doctor.run import examine_outputs
from seatrial.failures.documents import document_form
from seatrial.failures.job_output import explain_output
from seatrial.model.errors import MOST_NAME_PARTS
from seatrial.model.verdict import Verdict
from tests.support.processor_time import within

KILLED = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed."
LIBRARY = "./a.out: error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such file"
NODE = "srun: error: Node failure on n13"
FALLEN = "GPU has fallen off the bus"
DOCUMENTS = {
    "HTML or XML": f"<html>\n<body>\n<pre>\n{KILLED}\n</pre>\n</html>\n",
    "a file of settings": f"[oom]\nmatch = {KILLED}\nlevel = high\n",
    "YAML": f'rules:\n  - alert: Xid\n    summary: {FALLEN} (Xid 79)\n    words: "{KILLED}"\n',
    "a page of a manual": f"SRUN(1)    Slurm    SRUN(1)\n\nIt prints\n\n    {NODE}\n\nSlurm 25    SRUN(1)\n",
    "a difference of files": f"--- a/t.py\n+++ b/t.py\n@@ -1,2 +1,2 @@\n-x\n+{KILLED}\n {NODE}\n",
    "a list of changes": f"* Changes in Slurm 22.05.3\n====\n -- Fix {KILLED}\n    on\n -- Print {NODE}\n -- Fix\n",
    "a catalogue of translations": '# German\nmsgid ""\nmsgstr ""\nmsgid "Segmentation fault"\nmsgstr "x"\n',
    "JSON": f'{{\n "words": ["{KILLED}",\n "{NODE}"]\n}}\n',
    "a table": f'id,host,words\n1,n12,"{KILLED}"\n2,n13,{NODE}\n',
}
"""One text of each form."""
ALIKE = {
    "settings without sections": (f"error.oom={KILLED}\nerror.lib={LIBRARY}\nx=1\n", "a file of settings"),
    "a page of PHP": (f'<?\n$s = "x";\n?>\n<p>\n{NODE}\n<br>\n', "HTML or XML"),
    "semicolons": (f"Nr;Knoten;Meldung\n1;n12;{KILLED}\n2;n13;{NODE}\n", "a table"),
    "tabs": (f"code\tmessage\tclass\n1\t{NODE}\tnode\n2\t{KILLED}\tmemory\n", "a table"),
    "a difference by git": (f"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n+{NODE}\n",
                            "a difference of files"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "form"), [*((text, form) for form, text in DOCUMENTS.items()), *ALIKE.values()])
def test_a_document_about_failures_is_no_output(text: str, form: str) -> None:
    assert document_form(text) == form
    assert explain_output(text) is None
    (remark,) = examine_outputs({"x": text}).remarks
    assert remark.verdict is Verdict.NOT_RUN
    assert form in remark.statement


@pytest.mark.parametrize("text", [*DOCUMENTS.values(), *(text for text, _ in ALIKE.values())])
def test_a_document_that_a_job_printed_hides_no_failure_after_it(text: str) -> None:
    crash = "srun: error: n4: task 3: Segmentation fault\n"
    assert document_form(text + crash) == ""
    assert explain_output(text + crash) is not None


@pytest.mark.parametrize(
    "text",
    [
        f"{KILLED}\n{NODE}\n{LIBRARY}\n",
        f"nodes = 4\nranks = 8\nsteps = 9\n{KILLED}\n",
        f"nodes = 4\nranks = 8\nsteps = 9\n  {KILLED}\n",
        f"Changes of the input:\n - ranks\n - steps\n - nodes\n{KILLED}\n",
        f"[n1:11] *** An error occurred in MPI_Init\n[n1:11] *** on a NULL communicator\n{NODE}\n",
        f"Output:\n  {NODE}\n  {KILLED}\n  srun: Terminating job step 3.0\n",
        "Output:\n  step: 3\n  time: 4\n  forrtl: severe (174): SIGSEGV, segmentation fault occurred\n",
        f"Results:\n  ranks: 4\n  time: 3.2\n{NODE}\n",
        "srun: error: n1: tasks 0,1: Killed\nsrun: error: n2: tasks 2,3: Killed\nsrun: error: n3: tasks 4,5: Killed\n",
        f"step,time,loss\n1,2,3\n2,2,3\n{NODE}\n",
        f'{{"level": "error", "msg": "{LIBRARY}"}}\n',
        f"<rank 0> starts\nstep 1\nstep 2\n{NODE}\n",
        f"Node changes 1.2 GB\n - step 1\n - step 2\n - step 3\n{NODE}\n",
        "HDF5-DIAG: Error detected in HDF5 (1.14.1) rank 9:\n  #000: H5F.c line 6 in H5Fopen(): open\n    major: A\n",
        f"--- step 1\n--- step 2\n--- step 3\n{NODE}\n",
        f"### It fails\n\n```\nstep 1\nstep 2\nstep 3\n{NODE}\n```\n",
        f"It fails:\n```\n{NODE}\n```\n",
        f"/*---- solver ----\\\n  version 12\n\\*-----*/\n{NODE}\n",
    ],
)
def test_what_programs_print_is_no_document(text: str) -> None:
    assert document_form(text) == ""
    assert explain_output(text) is not None


@pytest.mark.parametrize(
    "line",
    [
        '        ("ssh: connect to host failed", FindingClass::Transport),',
        f'        "{FALLEN}",            \\',
        f"| 79  | {FALLEN}     | PCIe link down       | Restart   |",
        f'FALLEN=$(egrep "kernel: NVRM:.*{FALLEN}" ${{FILE}} | wc -l)',
        f'   egrep "NVRM: GPU at PCI|{FALLEN}" ${{FILE}}',
        f'if echo "$OUT" | grep -q "{FALLEN}"; then',
        f'@.str.7 = private unnamed_addr constant [47 x i8] c"{FALLEN}\\00", align 1',
        f'c(\n  "x",\n  "y",\n  "{FALLEN}"\n)',
        f"\\begin{{verbatim}}\n{KILLED}\n\\end{{verbatim}}",
    ],
)
def test_a_line_that_only_has_the_words_of_a_message_is_left_out(line: str) -> None:
    assert explain_output(f"Done\n{line}\n") is None
    assert explain_output(f"Done\n{line}\n[ 12.5] NVRM: Xid (PCI:0000:3b:00): 79, {FALLEN}.\n") is not None


@pytest.mark.parametrize(
    "line",
    [
        f'"{LIBRARY}"',
        f"| {LIBRARY} |",
        f"+ {LIBRARY} $(hostname)",
        "/var/spool/job1/slurm_script: line 3: ${x}: bad substitution",
        "FATAL:   container creation failed: mount tmpfs->${path}/session error: broken pipe",
        "grep: mesh.in: No such file or directory",
    ],
)
def test_a_message_of_a_run_in_quotes_or_a_frame_stays(line: str) -> None:
    assert explain_output(f"Done\n{line}\n") is not None


@pytest.mark.parametrize("script", ["#!/bin/bash\n", ""])
def test_what_a_script_would_print_was_not_printed(script: str) -> None:
    failure = explain_output(f"{script}echo 'CUDA error: {FALLEN}'\n")
    assert (failure is None) is bool(script)


PYTHON = 'TEXTS = {\n    3: "x",\n    "CUDA out of memory": 1,\n}\n'
TEST = 'def test_x():\n    text = """\nslurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch.\n"""\n'
TOML = "[[cause]]\nlook = 'CUDA out of memory. Tried'\n"


@pytest.mark.parametrize("source", [PYTHON, TEST, f"import re\n{PYTHON}", "    " + TOML.replace("\n", "\n    "), TOML])
@pytest.mark.parametrize("after", ["", "CUDA out of memory. Tried to allocate 2 GiB\n"])
def test_a_source_is_no_output_unless_something_else_was_printed(source: str, after: str) -> None:
    failure = explain_output(source + after)
    assert (failure is not None) is bool(after)


@pytest.mark.parametrize(
    "text",
    ["{'error': 'CUDA out of memory.'}\n", "['CUDA out of memory']\n{'l': 0.3}\n", "error = 'CUDA out of memory.'\n"],
)
def test_values_that_a_program_prints_are_no_source(text: str) -> None:
    assert explain_output(text) is not None


@pytest.mark.parametrize(("parts", "silent"), [(MOST_NAME_PARTS, True), (MOST_NAME_PARTS + 1, False)])
def test_a_source_has_names_of_few_parts(parts: int, silent: bool) -> None:
    assert (explain_output(f"{'.'.join('x' * parts)} = {{look = 'CUDA out of memory. Tried'}}\n") is None) is silent


@pytest.mark.parametrize("nested", ["a" + ".b" * 80_000 + "=1", "a=" + "[" * 90_000, "(" * 90_000, "-" * 90_000 + "1"])
def test_what_only_looks_like_a_source_takes_little_time(nested: str) -> None:
    with within(5):
        assert explain_output(nested) is None
