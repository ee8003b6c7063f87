"""How long the nodes of one reading of facts are waited for: less where the others have shown what it takes."""

LONGEST_S = 15.0
FIRST_WORD_S = 5.0
"""A step that has started says its first word at once. Where one node hangs, srun starts none of them, and says nothing
until Slurm's MessageTimeout has passed a second time."""
SHORTEST_S = 11.0
TIMES = 8.0
"""A node that takes so many times what the slowest of its peers took does not answer."""
EXTRA_S_PER_NODE = 0.02


class Patience:
    """That of one reading. Its steps run side by side: each tells here what it took, and asks whether to go on."""

    def __init__(self) -> None:
        self.slowest_s = 0.0
        """Of the steps in which all nodes answered; 0 while there is none."""

    def longest_s(self, nodes: int) -> float:
        """Seconds that a step on so many nodes may take in any case."""
        return LONGEST_S + EXTRA_S_PER_NODE * nodes

    def took(self, seconds: float) -> None:
        """All nodes of a step have answered within these seconds."""
        self.slowest_s = max(self.slowest_s, seconds)

    def over(self, nodes: int, seconds: float, said_anything: bool) -> bool:
        """Whether a step on so many nodes is in vain, that has run for `seconds`.

        One on several nodes is where it has said nothing, since they can be asked apart; any one where the others of
        the reading were there long ago.
        """
        extra_s = EXTRA_S_PER_NODE * nodes
        if nodes > 1 and not said_anything and seconds > FIRST_WORD_S + extra_s:
            return True
        return bool(self.slowest_s) and seconds > max(SHORTEST_S, TIMES * self.slowest_s) + extra_s

    def compared(self) -> str:
        """What the others took, for a sentence on those that did not answer; empty where none did."""
        return f", where others took {self.slowest_s:.1f} s" if self.slowest_s else ""
