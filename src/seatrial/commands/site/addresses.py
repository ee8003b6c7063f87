"""Names of the files of a site. An address is made from the name of a run or a node alone, so it never changes."""

import hashlib
from urllib.parse import quote

from seatrial.render.report import PageLink

INDEX, RUN_LIST, OVER_TIME, COMPARISON = "index", "runs", "over-time", "compare"
"""Pages in the folder of the site itself."""
RUNS, NODES, HISTORY, PAIRS = "runs", "nodes", "history", "pairs"
"""Folders of the site."""
FOLDERS = (RUNS, NODES, HISTORY, PAIRS)
UP = "../"
"""The way from a page in one of the folders to those above."""
PAGE, TWIN = ".html", ".json"
LONGEST = 180
"""Characters of a name; file systems permit 255 bytes with the ending."""


def file_stem(name: str) -> str:
    """A name without its ending: letters, digits, `-`, `_` and dots; any other byte is `~` and two digits.

    A file of this name is in the folder where it was written, and names that differ have stems that differ: of a long
    one the end is a hash. An address with it needs no further escapes.
    """
    stem = quote(name, safe="", errors="surrogatepass").replace("~", "%7E").replace("%", "~")
    stem = "~2E" + stem[1:] if stem.startswith(".") else stem
    if len(stem) <= LONGEST:
        return stem or "~"
    return f"{stem[: LONGEST // 2]}~~{hashlib.sha256(stem.encode()).hexdigest()}"


def run_page(run: str, stem: str, up: str = UP) -> PageLink:
    """A link to the page of a run. `stem`: of its file; `up`: the way to the folder of the site."""
    return PageLink(run, f"{up}{RUNS}/{stem}{PAGE}")


def node_page(node: str, up: str = UP) -> PageLink:
    """A link to the page of a node."""
    return PageLink(node, f"{up}{NODES}/{file_stem(node)}{PAGE}")


def pair_anchor(source: str, target: str) -> str:
    """The anchor of an ordered pair in the page of the pairs of a run."""
    return f"pair-{file_stem(f'{source}>{target}')}"


def pair_section(source: str, target: str, stem: str) -> PageLink:
    """A link to the samples of an ordered pair. `stem`: of the page of the run."""
    return PageLink(f"{source}>{target}", f"{UP}{PAIRS}/{stem}{PAGE}#{pair_anchor(source, target)}")


def ways(up: str, twin: str) -> tuple[PageLink, ...]:
    """The links of every page: to the lists, and to its own fields for programs. `twin`: the stem of these."""
    pages = {"index": INDEX, "all runs": RUN_LIST, "over time": OVER_TIME, "newest compared": COMPARISON}
    above = (PageLink(text, f"{up}{name}{PAGE}") for text, name in pages.items())
    return (*above, PageLink("JSON", f"{twin}{TWIN}"))
