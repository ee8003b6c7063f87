"""Command lines as a test writes them: words and keywords, with errors raised as they are."""

from pathlib import Path

from seatrial.cli.main import invoke

FLAGS = {"as_json": "json"}
"""Parameters whose option has another name."""
Value = str | int | float | Path | bool | None


def words_of(options: dict[str, Value]) -> list[str]:
    """`{"as_json": True, "node_hours": 2}` -> `--json --node-hours 2`; nothing for None and False."""
    words: list[str] = []
    for name, value in options.items():
        option = f"--{FLAGS.get(name, name).replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


def call(command: str, *arguments: str, **options: Value) -> int:
    """Carry out `seatrial COMMAND ARGUMENTS OPTIONS`; its exit code.

    Raises SeatrialError and the parser's own errors, which `seatrial.cli.main.run` would print.
    """
    return invoke([command, *arguments, *words_of(options)])


def curve(*arguments: str, **options: Value) -> int:
    """`seatrial curve`."""
    return call("curve", *arguments, **options)


def saturate(*arguments: str, **options: Value) -> int:
    """`seatrial saturate`."""
    return call("saturate", *arguments, **options)
