"""Writes the dashboards of contrib/grafana: one row of a table below is one panel.

usage: dashboards.py

A query whose series are missing returns 0 where seatrial writes its numbers, and nothing where it does not: a dashboard
shows no good cluster because nobody measures it.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "contrib" / "grafana"
SCHEMA = 38
"""The schema of Grafana 10; later versions convert it when they load a dashboard."""
COLUMNS = 24
HEIGHTS = {"stat": 4, "bargauge": 8, "table": 8, "timeseries": 8}

Row = tuple[str, str, str, int, tuple[tuple[str, str], ...]]
"""Title, kind of panel, unit, width, and queries with their legends."""


def nodes(query: str) -> tuple[tuple[str, str], ...]:
    """The query and the name of the node as its legend."""
    return ((query, "{{node}}"),)


QUALIFICATION: tuple[Row, ...] = (
    ("Nodes that are not good", "stat", "none", 6, (("count(seatrial_node_good == 0)", ""),)),
    ("Open findings", "stat", "none", 6, (("sum(seatrial_findings_open)", ""),)),
    ("Runs that cannot be read", "stat", "none", 6, (("sum(seatrial_runs_unread)", ""),)),
    ("Oldest verdict", "stat", "s", 6, (("max(seatrial_node_verdict_age_seconds)", ""),)),
    ("Nodes by verdict", "timeseries", "none", 12, (("sum by (verdict) (seatrial_nodes)", "{{verdict}}"),)),
    ("Open findings by kind", "timeseries", "none", 12, (("sum by (kind) (seatrial_findings)", "{{kind}}"),)),
    (
        "How long findings are open", "table", "s", 12,
        (("sort_desc(max by (node, kind) (seatrial_node_finding_age_seconds))", "{{node}} {{kind}}"),),
    ),
    ("Lowest shares of the limit", "bargauge", "percentunit", 12, nodes("bottomk(10, seatrial_node_limit_ratio)")),
    (
        "Lowest clocks (median of a node's processors)", "bargauge", "hertz", 6,
        nodes('bottomk(10, seatrial_node_clock_hertz{of="median"})'),
    ),
    ("Hottest nodes", "bargauge", "celsius", 6, nodes("topk(10, seatrial_node_temperature_celsius)")),
    ("Highest power", "bargauge", "watt", 6, nodes("topk(10, seatrial_node_power_watts)")),
    ("Slowed down for heat since boot", "bargauge", "none", 6, nodes("topk(10, seatrial_node_throttle_events > 0)")),
    ("Age of clocks and heat", "stat", "s", 6, (("max(seatrial_node_facts_age_seconds)", ""),)),
    (
        "Commands of Slurm without an answer", "stat", "none", 6,
        (("count(seatrial_slurm_command_answered == 0)", ""),),
    ),
    (
        "Nodes by the last answer of their gate", "stat", "none", 12,
        (("sum by (outcome) (seatrial_gate_nodes)", "{{outcome}}"),),
    ),
)  # fmt: skip
"""For Prometheus. All of them are followed by a 0."""


def named(*families: str) -> tuple[tuple[str, str], ...]:
    """Series without labels, under their names."""
    return tuple((f"aliasByMetric({family})", "") for family in families)


def labelled(*families: str) -> tuple[tuple[str, str], ...]:
    """Series with one label, under its value."""
    return tuple((f"aliasByNode({family}.*.*, 2)", "") for family in families)


SLURM: tuple[Row, ...] = (
    ("Nodes", "timeseries", "none", 12, named("slurm_nodes_{alloc,mixed,idle,down,unknown}")),
    (
        "Nodes out of service", "timeseries", "none", 12,
        named("slurm_nodes_{drained,draining,fail,maint,noresp,resv}"),
    ),
    ("Jobs", "timeseries", "none", 12, named("slurm_jobs_{running,pending,suspended,completing}")),
    (
        "Processors in use", "timeseries", "percent", 12,
        (("alias(asPercent(slurm_jobs_cpus_alloc, sumSeries(slurm_node_cpus.node.*)), 'in use')", ""),),
    ),
    ("Processors by user", "timeseries", "none", 12, labelled("slurm_user_jobs_cpus_alloc")),
    ("Processors by account", "timeseries", "none", 12, labelled("slurm_account_jobs_cpus_alloc")),
    ("Pending jobs by user", "timeseries", "none", 12, labelled("slurm_user_jobs_pending")),
    ("Pending jobs by partition", "timeseries", "none", 12, labelled("slurm_partition_jobs_pending")),
    ("Longest wait of pending jobs", "timeseries", "s", 12, labelled("seatrial_pending_longest_seconds")),
    ("Median wait of pending jobs", "timeseries", "s", 12, labelled("seatrial_pending_median_seconds")),
    ("Hours that accounts have used", "timeseries", "h", 12, labelled("seatrial_account_used_hours")),
    ("Their limits", "timeseries", "h", 12, labelled("seatrial_account_limit_hours")),
    (
        "Jobs since midnight", "timeseries", "none", 12,
        named("slurm_sdiag_jobs_{submitted,started,completed,canceled,failed}"),
    ),
    (
        "Cycles of the scheduler", "timeseries", "µs", 12,
        named("slurm_{sched,bf}_mean_cycle", "slurm_{schedule,bf}_cycle_last"),
    ),
    (
        "Queues and threads of slurmctld", "timeseries", "none", 12,
        named("slurm_{agent,slurmdbd}_queue_size", "slurm_server_thread_cnt"),
    ),
    ("Answers of Slurm's commands (0: unknown)", "timeseries", "none", 12, labelled("seatrial_slurm_command_answered")),
    ("What they took", "timeseries", "s", 12, labelled("seatrial_slurm_command_seconds")),
)  # fmt: skip
"""For Graphite."""


def target(kind: str, store: str, number: int, query: str, legend: str) -> dict[str, object]:
    """One query of a panel."""
    letter = chr(ord("A") + number)
    if store == "graphite":
        return {"refId": letter, "target": f"fallbackSeries({query}, alias(scale(seatrial_runs_read, 0), 'none'))"}
    form = {"instant": kind != "timeseries", "format": "table" if kind == "table" else "time_series"}
    return {
        "refId": letter,
        "expr": f"{query} or on() max(seatrial_runs_read) * 0",
        "legendFormat": legend or "__auto",
        **form,
    }


def dashboard(title: str, store: str, rows: tuple[Row, ...]) -> dict[str, object]:
    """The dashboard as Grafana imports it; it asks for its data source."""
    source = {"type": store, "uid": "${datasource}"}
    panels, x, y, height = [], 0, 0, 0
    for number, (name, kind, unit, width, queries) in enumerate(rows, 1):
        if x + width > COLUMNS:
            x, y = 0, y + height
        height = HEIGHTS[kind]
        panels.append(
            {
                "id": number,
                "title": name,
                "type": kind,
                "datasource": source,
                "gridPos": {"h": height, "w": width, "x": x, "y": y},
                "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
                "targets": [target(kind, store, place, *query) for place, query in enumerate(queries)],
            }
        )
        x += width
    choice = {"name": "datasource", "type": "datasource", "query": store, "label": "Data source"}
    return {
        "title": title,
        "uid": title.lower().replace(" ", "-"),
        "tags": ["seatrial"],
        "schemaVersion": SCHEMA,
        "time": {"from": "now-24h", "to": "now"},
        "refresh": "1m",
        "templating": {"list": [choice]},
        "panels": panels,
    }


def texts() -> dict[str, str]:
    """File -> content."""
    made = {
        "qualification.json": dashboard("Qualification of nodes", "prometheus", QUALIFICATION),
        "slurm.json": dashboard("State of Slurm", "graphite", SLURM),
    }
    return {name: json.dumps(one, indent=1, ensure_ascii=False) + "\n" for name, one in made.items()}


if __name__ == "__main__":
    for name, text in texts().items():
        (FOLDER / name).write_text(text)
    sys.exit(0)
