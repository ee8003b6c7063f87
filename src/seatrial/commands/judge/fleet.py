"""Values of many nodes are read, from tables, outputs or runs of the archive, and judged."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec

from seatrial.archive import run_sets
from seatrial.benchmarks.catalogue import detected, outputs_by_node, refusal_of_folder
from seatrial.benchmarks.node_outputs import table_of_outputs
from seatrial.commands.judge.kinds import JudgeOptions
from seatrial.commands.judge.sources import Sources
from seatrial.driver import facts_reading
from seatrial.importers.fleets import FleetTable, Labels, aligned, one_stratum, read_fleet_table
from seatrial.importers.listed_nodes import with_listed_nodes
from seatrial.importers.output_names import lines_of_files
from seatrial.importers.row_keys import common_levels, refuse_unlike_rows
from seatrial.judgement.comparison import history
from seatrial.judgement.fleet import strata
from seatrial.judgement.fleet.strata import FileShift, FleetJudgement
from seatrial.model.errors import UsageError
from seatrial.model.facts import NodeFacts
from seatrial.model.imported import SENSES, Sense
from seatrial.model.verdict import Verdict, worst
from seatrial.model.words import count, name_form
from seatrial.render.fleet.view import fleet_report
from seatrial.render.report import Report
from seatrial.statistics.estimates import median

EFFECT = 0.02
"""Smallest loss of a node that matters, where the command line does not say."""


def fleet_judged(sources: Sources, wanted: JudgeOptions) -> Report:
    """Which nodes are slow or had single bad runs. Raises UsageError."""
    if len(wanted.column) > 1:
        raise UsageError("Nodes are compared in one column of values.", "Give --column once.")
    column = wanted.column[0] if wanted.column else ""
    tables = {wanted.runs: _of_runs(sources, wanted, column)} if wanted.runs else {}
    texts: dict[str, str] = {}
    lost: list[str] = []
    printed = any(detected(sources.text(file)) for file in sources.paths if not file.is_dir())
    files = {} if sources.one_file or wanted.runs else sources.together()
    together = None if printed or len(sources.paths) < 2 else _of_lines(files, wanted, column)
    tables |= {count(len(files), "file"): together} if together else {}
    for file in () if together else sources.paths:
        if file.is_dir():
            tables |= _of_folder(str(file), sources.folder(file), wanted, column)
        elif parts := outputs_by_node(text := sources.text(file)):
            texts.update(parts)
            lost += [node for node, part in parts.items() if not detected(part)]
        elif detected(text):
            texts[_name(file, files)] = text
        else:
            try:
                table = read_fleet_table(text, column, wanted.by, wanted.part)
                tables[str(file)] = with_listed_nodes(table, text)
            except UsageError:
                if not printed:
                    raise
                lost.append(_name(file, files))
                texts[lost[-1]] = text
    if printed_table := table_of_outputs(texts, column, lost):
        tables[count(len(texts), "output")] = printed_table
    sense = SENSES.get(wanted.better)
    if sense and len({each.sense for table in tables.values() for each in table.strata if each.sense}) > 1:
        raise UsageError(
            "Of some of these values higher ones are better, of others lower ones, by their names.",
            "Leave out --better, or choose one column: --column COLUMN.",
        )
    effect = wanted.effect or EFFECT
    facts_of = _facts(wanted)
    judged = _with_rows(strata.judge_strata(tables, sense, effect=effect), tables)
    _refuse_unlike_columns(tables)
    judged = _with_shifts(judged, tables)
    return fleet_report(strata.with_facts(judged, facts_of) if facts_of else judged, tables)


def _name(file: Path, files: Mapping[str, str]) -> str:
    """The name of a file, behind that of its folder if those of several files are named so."""
    inner = str(Path(file.parent.name, file.name))
    return inner if inner in files else file.name


def _of_folder(title: str, folder: Mapping[str, str], wanted: JudgeOptions, column: str) -> dict[str, FleetTable]:
    """The values of the nodes whose outputs are in a folder, or else in each table in it. Raises UsageError."""
    if table := table_of_outputs(folder, column) or _of_lines(folder, wanted, column):
        return {title: table}
    tables: dict[str, FleetTable] = {}
    refused: dict[str, UsageError] = {}
    for name, text in folder.items():
        try:
            tables[name] = read_fleet_table(text, column, wanted.by, wanted.part)
        except UsageError as error:
            refused[name] = error
    if not tables:
        raise refusal_of_folder(folder, "output of a known benchmark", next(iter(refused.values()), None))
    forms = {*map(name_form, tables)}
    if alike := [name for name in refused if name_form(name) in forms]:
        raise refused[alike[0]]
    return tables


def _of_lines(texts: Mapping[str, str], wanted: JudgeOptions, column: str) -> FleetTable | None:
    """The values in lines of files that are named after nodes; None for other files."""
    lines = lines_of_files(texts)
    return read_fleet_table(lines, column, wanted.by, wanted.part) if lines else None


def _refuse_unlike_columns(tables: Mapping[str, FleetTable]) -> None:
    """Raise UsageError for files whose columns of values have other names or units: what they have is not the same."""
    named = {
        file: (table.roles.value, unit)
        for file, table in tables.items()
        for unit in {stratum.unit for stratum in table.strata}
        if table.roles.value and not table.roles.value.startswith("column ") and not table.roles.units
    }
    unlike = {(name.strip().lower(), unit): file for file, (name, unit) in named.items()}
    if len(unlike) > 1:
        (first, second), (name, other) = list(unlike.values())[:2], list(unlike)[:2]
        words = [" ".join(filter(None, of_file)) for of_file in (name, other)]
        raise UsageError(
            f"{first} has {words[0]!r}, {second} has {words[1]!r}: not the same.",
            "Give the files one name and one unit of their values, or judge them one by one.",
        )


def _with_shifts(judged: FleetJudgement, tables: Mapping[str, FleetTable]) -> FleetJudgement:
    """The judgement with the files in which all nodes are worse than in another: no PASS of them all.

    Raises UsageError if they are worse by more than runs of one state are.
    """
    medians: defaultdict[tuple[Labels, str], defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for stratum in (each for table in tables.values() for each in table.strata):
        for subject, runs in stratum.values.items():
            medians[stratum.conditions, stratum.unit][subject] += [median(runs)] if runs else []
    everywhere = {key: [of for of in fleet.values() if len(of) == len(tables)] for key, fleet in medians.items()}
    remedy = "seatrial import writes each into the archive, and seatrial compare says what changed between them."
    refuse_unlike_rows(everywhere.values(), "file", remedy)
    shifts = []
    for of in judged.strata:
        levels = common_levels(everywhere.get((of.conditions, of.unit), []), judged.effect)
        if by_level := dict(zip(levels, tables, strict=False)):
            low, high = by_level[min(levels)], by_level[max(levels)]
            worse, better = (low, high) if of.higher_is_better else (high, low)
            loss = 1 - min(levels) / max(levels)
            shifts.append(FileShift(worse=worse, better=better, loss=loss, where=of.text))
    verdict = Verdict.NOTE if shifts and judged.verdict is Verdict.PASS else judged.verdict
    return msgspec.structs.replace(judged, shifts=tuple(shifts), verdict=verdict)


def _with_rows(judged: FleetJudgement, tables: Mapping[str, FleetTable]) -> FleetJudgement:
    """The judgement with the runs that failed, and with what few nodes have alone beside their values.

    Both withhold PASS: what is left of a node need not be what it does, and packets that only one loses are a fault.
    """
    missing = {name for stratum in judged.strata for name in stratum.missing}
    silent = missing & {node for table in tables.values() for node in table.not_begun}
    failed = tuple(node for table in tables.values() for node in table.failed if node not in silent)
    verdict = judged.verdict
    if failed and judged.subjects:
        verdict = worst([verdict, Verdict.INCONCLUSIVE])
    elif any(table.lone for table in tables.values()):
        nothing, alike = verdict is Verdict.NOT_RUN and not judged.subjects, verdict is Verdict.PASS
        verdict = Verdict.INCONCLUSIVE if nothing else Verdict.NOTE if alike else verdict
    return msgspec.structs.replace(judged, failed=failed, verdict=verdict)


def _facts(wanted: JudgeOptions) -> Mapping[str, NodeFacts]:
    """Facts of the run or recording that is named, or of the newest run that has any. Raises UsageError."""
    if wanted.facts:
        return facts_reading.read_named(wanted.facts, wanted.archive).facts
    return run_sets.find_runs(wanted.archive, wanted.runs).parsed_facts() if wanted.runs else {}


def _of_runs(sources: Sources, wanted: JudgeOptions, column: str) -> FleetTable:
    """The values of the nodes in runs of the archive."""
    chosen = run_sets.find_runs(wanted.archive, wanted.runs)
    table = history.metric_named(run_sets.load_tables([chosen], note=sources.waiting), column)
    leaf_of = {name: leaf for run in chosen.summaries for name, leaf in run.leaf_of.items()}
    values = history.values_by_node(table, leaf_of)
    members = dict.fromkeys(name for run in chosen.summaries for name in run.nodes)
    if 2 * len(values) >= len(members):  # else the metric was measured on a part of the nodes by intent
        values = {name: values.get(name, []) for name in (values | members)}
    return one_stratum(aligned(values), sense=Sense.LOWER if table.metric.sign > 0 else Sense.HIGHER)
