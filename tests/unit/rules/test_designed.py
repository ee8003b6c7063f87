"""Nodes that have other devices by design, as the scheduler's features and partitions describe them."""

import msgspec

from seatrial.model.run import with_kinds
from seatrial.rules.base import Readings
from seatrial.rules.catalogue import fact_findings
from seatrial.rules.peers import designed_peers
from seatrial.slurm.text import parse_features
from tests.support.facts_examples import cluster, hca, system
from tests.support.rule_cases import firmware

FEATURES = dict.fromkeys(("n1", "n3", "n4"), ("miriel", "opa")) | {"n2": ("miriel",)}


def kinds(readings: Readings) -> list[str]:
    return [finding.kind for finding in fact_findings(readings)]


def without_adapter() -> Readings:
    """Three nodes with an adapter and one without."""
    return Readings(facts=cluster(odd={"hcas": ()}))


def test_a_node_without_omni_path_by_design_is_not_accused() -> None:
    assert "hca-missing" in kinds(without_adapter())
    assert kinds(msgspec.structs.replace(without_adapter(), features=FEATURES)) == []


def test_the_same_features_promise_the_same_devices() -> None:
    alike = dict.fromkeys(("n1", "n2", "n3", "n4"), ("miriel", "opa"))
    assert "hca-missing" in kinds(msgspec.structs.replace(without_adapter(), features=alike))


def test_names_of_racks_are_not_kinds_of_nodes() -> None:
    racks = {f"n{number}": (f"rack{number}", "opa") for number in range(1, 5)}
    assert "hca-missing" in kinds(msgspec.structs.replace(without_adapter(), features=racks))


def test_a_head_node_that_shares_no_partition_is_not_a_compute_node() -> None:
    apart = dict.fromkeys(("n1", "n3", "n4"), ("partition=main", "partition=debug")) | {"n2": ("partition=login",)}
    assert kinds(msgspec.structs.replace(without_adapter(), features=apart)) == []
    joined = apart | {"n2": ("partition=debug",)}
    assert "hca-missing" in kinds(msgspec.structs.replace(without_adapter(), features=joined))


def test_the_kinds_of_the_site_come_before_features_and_partitions() -> None:
    words = {name: (*own, "kind=fat") for name, own in FEATURES.items()}
    alike = msgspec.structs.replace(without_adapter(), facts=with_kinds(without_adapter().facts, words), features=words)
    assert kinds(alike) == ["hca-missing"], "n2 lacks what its features do not promise and its kind has"
    words = dict.fromkeys(("n1", "n3", "n4"), ("kind=fat",)) | {"n2": ("kind=thin",)}
    apart = msgspec.structs.replace(without_adapter(), facts=with_kinds(without_adapter().facts, words), features=words)
    assert kinds(apart) == []


def test_other_facts_are_compared_whatever_the_features() -> None:
    readings = Readings(facts=cluster(odd={"kernel": "5.14.0-362.el9"}), features=FEATURES)
    assert kinds(readings) == ["kernel-differs"]
    assert sorted(map(sorted, designed_peers(readings))) == [["n1", "n3", "n4"], ["n2"]]


def test_active_features_count_and_available_ones_do_not() -> None:
    text = "n1|knl,cache,flat|knl,cache\nn2|knl,cache,flat|(null)\nn3|(null)|(null)\nn4|old\n"
    assert parse_features(text) == {"n1": ("knl", "cache", "flat"), "n2": ("knl", "cache", "flat"), "n4": ("old",)}
    active = parse_features(text, active=True)
    assert active == {"n1": ("knl", "cache"), "n2": ("knl", "cache", "flat"), "n4": ("old",)}


def test_all_nodes_flat_while_slurm_believes_cache() -> None:
    facts = cluster(every={"system": system(firmware=firmware(memory_mode="flat"))})
    readings = Readings(facts=facts, features=dict.fromkeys(facts, ("knl", "cache")))
    (finding,) = fact_findings(readings)
    assert finding.kind == "firmware-mode" and "its memory mode is flat" in finding.statement
    assert finding.subject.text == "cluster:all"


def test_peers_are_those_of_one_feature_also_for_rates() -> None:
    slow = hca("mlx5_0", msgspec.structs.replace(hca().ports[0], data_bits_per_s=100e9))
    readings = Readings(facts=cluster(odd={"hcas": (slow,)}))
    assert kinds(readings) == ["port-rate-differs"]
    described = dict.fromkeys(readings.facts, ("hdr200",)) | {"n2": ("hdr100",)}
    assert kinds(msgspec.structs.replace(readings, features=described)) == []
