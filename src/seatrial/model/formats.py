"""The format number of everything that seatrial writes for itself or prints for other programs.

A number rises when a reader of the old format would misread the new one; new fields alone do not raise it. Readers
refuse a higher number than their own, and read every lower one.
"""

RUN = 1
"""run.json and journal.jsonl of a run (`model.run`, `archive.journal`)."""

RECORDING = 1
"""gather.json of a recorded machine (`recordings.recording`)."""

FACTS_STREAM = 1
"""Output of collect/facts.sh (`node.frame`): values, links, lists, files, tables, commands, absences. Real places,
columns and bytes came later; older readers keep them among the lines unknown to them."""

LAB = 1
"""lab.json of a virtual cluster (`lab.cluster.state`)."""

REPORT = 2
"""The JSON object that a command prints with --json (`render.envelope`). 1: each command had its own object, and errors
had none."""

BASELINE = 1
"""baseline.json and values.parquet of a baseline (`archive.baselines`)."""

SWAP = 1
"""The history of a search for a faulty part (`archive.swaps`)."""
