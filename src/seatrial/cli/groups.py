"""Groups of commands, whose help has the whole first paragraph of each command; click would cut it."""

import importlib
from collections.abc import Mapping, Sequence

import click
from click.shell_completion import CompletionItem


class CommandGroup(click.Group):
    """A group of commands, which help lists in the order of their declaration."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)

    def summary(self, name: str) -> str:
        """What help says of a command."""
        return (self.commands[name].help or "").partition("\n\n")[0]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summary(name)) for name in self.list_commands(ctx)])


class LazyGroup(CommandGroup):
    """A group that imports a command's module when the command is called; help and completion need only summaries.

    The module is called as the command, or as `modules` says; the command in it has its own name or that of the module.
    `headings`: the commands below each heading of the help.
    """

    def __init__(
        self,
        *words: object,
        summaries: Mapping[str, str],
        headings: Mapping[str, Sequence[str]],
        modules: Mapping[str, str],
        **named: object,
    ) -> None:
        super().__init__(*words, **named)  # type: ignore[arg-type]
        self._summaries = summaries
        self._headings = headings
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return [name for names in self._headings.values() for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, below the question that it answers."""
        for heading, names in self._headings.items():
            formatter.write(f"\n{heading}\n")
            with formatter.indentation():
                formatter.write_dl([(name, self.summary(name)) for name in names])

    def summary(self, name: str) -> str:
        """What help says of a command; equal to the first paragraph of its own help."""
        return self._summaries[name]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command; None where there is no such command."""
        if cmd_name not in self._summaries:
            return None
        name = self._modules.get(cmd_name, cmd_name)
        module = importlib.import_module(f"seatrial.cli.{name}")
        command: click.Command = getattr(module, cmd_name, None) or getattr(module, name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so."""
        own = click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=self.summary(name))
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ] + own
