"""Samples of Prometheus at one moment are values of nodes."""

import json

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.importers.labelled_samples import rows_of_samples
from seatrial.model.errors import UsageError
from seatrial.model.imported import Sense

NODES = ["n01", "n02", "n03", "n04"]


def lines(form: str) -> str:
    return "".join(form.format(node=node, value=180 + place) + "\n" for place, node in enumerate(NODES))


@pytest.mark.parametrize(
    "form",
    [
        'triad_GB_s{{cluster="a", instance="{node}:9100"}} {value}',
        'triad_GB_s{{instance="{node}:9100",job="node"}} {value} 1718181000123',
        'triad_GB_s{{instance="{node}:9100", job="node"}} => {value} @[1718181000.123]',
        'triad_GB_s{{instance="10.0.0.1:9400", Hostname="{node}"}} {value}',
        'triad_GB_s{{instance="10.0.0.1:9400", Hostname="{node}", hostname="{node}"}} {value}',
    ],
)
def test_lines_of_samples_are_values_of_nodes_by_their_metric(form: str) -> None:
    (stratum,) = read_fleet_table("# TYPE triad_GB_s gauge\n" * ("=>" not in form) + lines(form)).strata
    assert stratum.values == {node: [180.0 + place] for place, node in enumerate(NODES)}
    assert stratum.sense is Sense.HIGHER


def test_the_answer_to_a_query_is_the_same() -> None:
    samples = [
        {"metric": {"__name__": "triad_GB_s", "instance": f"{node}:9100"}, "value": [1718181000.1, f"{180 + place}"]}
        for place, node in enumerate(NODES)
    ]
    answer = {"status": "success", "data": {"resultType": "vector", "result": samples}}
    (stratum,) = read_fleet_table(json.dumps(answer)).strata
    assert stratum.values["n04"] == [183.0]


def test_metrics_and_other_labels_are_columns() -> None:
    text = lines('bw{{instance="{node}", gpu="0"}} {value}') + lines('bw{{instance="{node}", gpu="1"}} 1{value}')
    assert rows_of_samples(text)[-1] == {"node": "n04", "gpu": "1", "bw": "1183"}
    assert rows_of_samples(text.replace("bw{", "lat{", 1))[0] == {
        "node": "n01", "gpu": "0", "metric": "lat", "value": "180"
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        lines('bw{{instance="n01", cpu="{node}"}} {value}'),
        lines('bw{{job="{node}"}} {value}'),
        lines('bw{{instance="{node}"}} {value}') + "load 0.3\n",
        "node,bw\nn01,180\n",
    ],
)
def test_what_is_of_one_node_or_something_else_has_no_rows(text: str) -> None:
    assert rows_of_samples(text) == []


def test_an_exporter_is_no_table() -> None:
    with pytest.raises(UsageError):
        read_fleet_table(lines('bw{{cpu="{node}"}} {value}'))


def test_what_distinguishes_no_further_part_names_none() -> None:
    text = "".join(
        f'DCGM_FI_DEV_SM_CLOCK{{gpu="{gpu}", UUID="GPU-{node}{gpu}", device="nvidia{gpu}", Hostname="{node}"}} '
        f"{1200 if (node, gpu) == ('n03', 1) else 1980}\n"
        for node in NODES
        for gpu in range(4)
    )
    table = read_fleet_table(text)
    assert table.roles.parts == ("gpu",)
    assert table.values["n03 gpu 1"] == [1200.0]


def test_a_speed_in_bytes_is_no_size_of_messages() -> None:
    rates = [12500000000] * 3 + [6250000000]
    text = "".join(f'network_speed_bytes{{host="{node}"}} {rate}\n' for node, rate in zip(NODES, rates, strict=True))
    assert read_fleet_table(text).values["n04"] == [6.25e9]
