"""Samples of Prometheus at one moment: lines `triad{instance="n01:9100"} 1.8e11`, what promtool prints, and JSON."""

import re
from collections.abc import Mapping, Sequence

from seatrial.model.column_words import NODE_NAMES

SAMPLE = re.compile(
    r"(?P<metric>[A-Za-z_:][\w:]{0,200})?\{(?P<labels>[^\n]{1,4000})\}(?: =>)? {1,20}(?P<value>\S{1,40})"
    r"(?: {1,20}@?\[?[\d.]{1,20}\]?)?"
)
LABEL = re.compile(r'(\w{1,100})="([^"\n]{0,400})"')
INSTANCE, NODE, METRIC, VALUE = "instance", "node", "metric", "value"
PORT = re.compile(r":\d{1,5}$")
Row = dict[str, str]


def rows_of_samples(value: object) -> list[Row]:
    """A row for each sample of several nodes, with the labels in which they differ; none for anything else.

    `value`: a text, or the JSON of an answer to an instant query. One metric gives its name to the column of values.
    """
    samples = _of_lines(value) if isinstance(value, str) else _of_answer(value)
    labels = {name.lower(): name for name in samples[0]} if samples else {}
    named = next((labels[name] for name in NODE_NAMES if name in labels), INSTANCE)
    rows = [_renamed(sample, named) for sample in samples]
    names = dict.fromkeys(name for row in rows for name in row if name != VALUE)
    varying = [name for name in names if len({row.get(name, "") for row in rows}) > 1]
    metric = VALUE if METRIC in varying or not rows else rows[0][METRIC] or VALUE
    return [{**{name: row.get(name, "") for name in varying}, metric: row[VALUE]} for row in rows if NODE in varying]


def _of_lines(text: str) -> list[Row]:
    rows: list[Row] = []
    for written in re.finditer(r"[^\n]+", text):
        line = written[0].strip()
        if line and not line.startswith("#"):
            if (match := SAMPLE.fullmatch(line)) is None:
                return []
            rows.append({METRIC: match["metric"] or "", **dict(LABEL.findall(match["labels"])), VALUE: match["value"]})
    return rows


def _of_answer(value: object) -> list[Row]:
    data = value.get("data") if isinstance(value, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    rows: list[Row] = []
    for sample in result if isinstance(result, list) else ():
        labels, pair = (sample.get("metric"), sample.get("value")) if isinstance(sample, dict) else (None, None)
        if not isinstance(labels, Mapping) or not isinstance(pair, Sequence) or len(pair) != 2:
            return []
        words = {str(name): str(word) for name, word in labels.items()}
        rows.append({METRIC: words.get("__name__", ""), **words, VALUE: str(pair[1])})
    return rows


def _renamed(sample: Row, named: str) -> Row:
    """The sample with its node under NODE, without a port; the instance beside another name is an exporter's."""
    left = {name: word for name, word in sample.items() if name not in (named, INSTANCE, "__name__")}
    return {NODE: PORT.sub("", sample.get(named, "")), **left}
