"""Several lines of each node, each behind the name of its node or the number of its rank."""

import pytest

from seatrial.importers.fleets import read_fleet_table
from seatrial.model.errors import UsageError

NODES = [f"n{number:02}" for number in range(1, 7)]
KERNELS = {"Copy": 370.1, "Scale": 364.2, "Add": 378.5, "Triad": 380.3}


def printed(form: str, nodes: list[str] = NODES) -> str:
    """A line of each kernel on each node; `r` counts the nodes from 0."""
    return "".join(
        form.format(n=node, r=rank, k=kernel, v=value + rank / 10) + "\n"
        for rank, node in enumerate(nodes)
        for kernel, value in KERNELS.items()
    )


@pytest.mark.parametrize(
    "form",
    [
        "{n}: {k} {v}",
        "{n}: {k}: {v} GB/s",
        "{n}: {k}:   {v}   0.012{r}   0.011{r}   0.013{r}",
        "[{n}] {k} {v}",
        "{n}:\t{k}\t{v}",
        "{n}: rate of {k} {v}",
        "{r:>3}: {n}: {k} {v}",
    ],
)
def test_each_word_behind_the_name_of_a_node_is_judged_of_its_own(form: str) -> None:
    table = read_fleet_table(printed(form))
    conditions = [dict(stratum.conditions) for stratum in table.strata]
    assert [[*named.values()][-1] for named in conditions] == [*KERNELS]
    for stratum, value in zip(table.strata, KERNELS.values(), strict=True):
        assert stratum.values == {node: [value + rank / 10] for rank, node in enumerate(NODES)}


@pytest.mark.parametrize("form", ["{r:>3}: {n} GFLOPS {v}", "{r}: {n}: {v} GB/s", "{r:>2}: {n} {v}"])
def test_ranks_before_the_names_of_nodes_are_left_out(form: str) -> None:
    text = "".join(form.format(n=NODES[rank // 2], r=rank, v=24 + rank / 10) + "\n" for rank in range(12))
    values = read_fleet_table(text).values
    assert values == {
        node: [24 + rank / 10, 24 + (rank + 1) / 10] for rank, node in zip(range(0, 12, 2), NODES, strict=True)
    }


def test_ranks_without_names_of_nodes_are_the_names() -> None:
    table = read_fleet_table(printed("{r}: {k} {v}"))
    assert [[*stratum.values] for stratum in table.strata] == [[*"012345"]] * len(KERNELS)


@pytest.mark.parametrize("part", ["GPU", "nic", "socket"])
def test_numbered_devices_behind_the_name_of_a_node_are_its_parts(part: str) -> None:
    text = "".join(f"{node}: {part}{number} {24 + number / 10}\n" for node in NODES for number in range(4))
    assert read_fleet_table(text).parts[f"n03 {part}2"] == ("n03", f"{part}2")


@pytest.mark.parametrize("form", ["{n}: {v}", "{n} {v}", "{n}: Triad {v}", "{n}: Triad: {v} GB/s"])
def test_lines_of_one_value_are_read_as_they_are(form: str) -> None:
    text = "".join(form.format(n=node, v=24.5) + "\n" for node in NODES)
    table = read_fleet_table(text + text.replace("24.5", "24.6"))
    assert (table.values, len(table.strata)) == ({node: [24.5, 24.6] for node in NODES}, 1)


def test_columns_that_two_kinds_of_names_can_be_in_are_asked_about() -> None:
    with pytest.raises(UsageError, match="Several columns can hold the names"):
        read_fleet_table("".join(f"{node} {kernel} 24.5\n" for node in NODES for kernel in KERNELS))
