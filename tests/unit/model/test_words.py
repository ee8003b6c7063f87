"""Numbers and names in sentences."""

from seatrial.model.words import by_text, count, some


def test_one_is_one_and_none_are_several() -> None:
    assert [count(number, "node") for number in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]
    assert [count(number, "switch", "switches") for number in (1, 2)] == ["1 switch", "2 switches"]


def test_many_names_are_cut_and_the_rest_is_counted() -> None:
    assert some(["a", "b", "c"], 3) == "a, b, c"
    assert some(["a", "b", "c", "d"], 3) == "a, b, c and 1 more"
    assert some([], 3) == ""


def test_every_text_once_with_those_it_is_said_of() -> None:
    assert by_text([("n1", "down"), ("n3", "busy"), ("n2", "down")]) == {"down": ["n1", "n2"], "busy": ["n3"]}
    assert by_text([]) == {}
