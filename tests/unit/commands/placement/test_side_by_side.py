"""Launch lines side by side: are their ranks placed alike?"""

import msgspec

from seatrial.commands.placement.gain import Fix
from seatrial.commands.placement.judge import Placement
from seatrial.commands.placement.picture import RankRow
from seatrial.commands.placement.side_by_side import side_by_side, side_by_side_report
from seatrial.launch.line_parser import Dialect
from seatrial.model.errors import ExitCode
from seatrial.model.verdict import Verdict
from seatrial.render.text import as_text


def row(rank: int, node: str, cpus: str) -> RankRow:
    return RankRow(
        rank=rank, node=node, cpu=None, cpus=cpus, cores="", sockets="", numa_nodes="", distance="", advised=""
    )


def placed(line: str, *rows: RankRow, complete: bool = True) -> Placement:
    return Placement(
        line=tuple(line.split()), dialect=Dialect.SRUN, rows=rows, pictures=(), findings=(), advice=None,
        advised_line=(), fix=next(iter(Fix)), why="", gains=(), notes=(), verdict=Verdict.PASS, complete=complete,
    )  # fmt: skip


BLOCK = placed("srun -N2 --ntasks-per-node=2 ./a", *(row(r, f"n{r // 2 + 1}", str(r % 2)) for r in range(4)))
CYCLIC = placed("srun -n4 ./a", *(row(r, f"n{r % 2 + 1}", str(r // 2)) for r in range(4)))


def test_lines_that_place_their_ranks_alike_pass() -> None:
    report = side_by_side_report(side_by_side([BLOCK, msgspec.structs.replace(BLOCK, line=("srun", "-n4"))]))
    assert report.headline == "PASS  the 2 lines are the same: 4 ranks on the same nodes and processors"
    assert report.exit_code is ExitCode.PASS


def test_what_differs_is_counted_and_shown() -> None:
    bound = msgspec.structs.replace(BLOCK, rows=(*BLOCK.rows[:3], row(3, "n2", "0-3,8")))
    compared = side_by_side([BLOCK, CYCLIC, bound])
    assert [(line.elsewhere, line.bound_otherwise) for line in compared.lines] == [((), ()), ((1, 2), ()), ((), (3,))]
    report = side_by_side_report(compared)
    assert report.headline == "NOTE  line 2 differs from line 1: of 4 ranks 2 elsewhere"
    text = as_text(report, width=120)
    assert "2 on n[1-2]" in text
    assert "1 to 5 processors" in text
    assert ["3", "n2", "1", "n2", "1", "n2", "0-3,8"] in [line.split() for line in text.splitlines()]


def test_other_numbers_of_ranks_differ_and_unknown_places_decide_nothing() -> None:
    fewer = msgspec.structs.replace(BLOCK, rows=BLOCK.rows[:3])
    assert side_by_side([BLOCK, fewer]).lines[1].elsewhere == (3,)
    report = side_by_side_report(side_by_side([BLOCK, placed("srun -n4 ./b", complete=False)]))
    assert (report.word, report.exit_code) == ("INCONCLUSIVE", ExitCode.INCOMPLETE)
