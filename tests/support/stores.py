"""A real Prometheus with node_exporter, and a real carbon with Graphite's web, all of Debian, for as long as a test."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from seatrial.process.process import run
from tests.lab.waiting import eventually

PROGRAMS = ("prometheus", "promtool", "prometheus-node-exporter", "carbon-cache", "graphite-manage")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
SCRAPE_S = 1
CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 1)"
OURS = '{__name__=~"(seatrial|slurm)_.+"}'
CARBON = """[cache]
STORAGE_DIR = {folder}
LOCAL_DATA_DIR = {folder}/whisper/
CONF_DIR = {folder}
LOG_DIR = {folder}
PID_DIR = {folder}
USER =
MAX_CACHE_SIZE = inf
MAX_UPDATES_PER_SECOND = inf
MAX_CREATES_PER_MINUTE = inf
LINE_RECEIVER_INTERFACE = 127.0.0.1
LINE_RECEIVER_PORT = {line}
ENABLE_UDP_LISTENER = False
PICKLE_RECEIVER_PORT = 0
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = {query}
"""
SCHEMAS = "[all]\npattern = .*\nretentions = 1s:1h\n"
WEB = """DEFAULT_XFILES_FACTOR = 0
STORAGE_DIR = WHISPER_DIR = "{folder}/whisper"
CONF_DIR = LOG_DIR = "{folder}"
INDEX_FILE = "{folder}/index"
STATIC_ROOT = "{folder}/static"
SECRET_KEY = "test"
CARBONLINK_HOSTS = ["127.0.0.1:{query}"]
DATABASES = {{"default": {{"NAME": ":memory:", "ENGINE": "django.db.backends.sqlite3"}}}}
FUNCTION_PLUGINS = []
MEMCACHE_HOSTS = []
DEFAULT_CACHE_DURATION = 0
FIND_CACHE_DURATION = 0
"""
SCRAPES = """global: {{scrape_interval: {every}s, scrape_timeout: {every}s}}
scrape_configs: [{{job_name: node, static_configs: [{{targets: ["127.0.0.1:{exporter}"]}}]}}]
"""


@contextlib.contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """Ports of this machine for servers of the block, which nobody else gets meanwhile.

    A port that was free a moment ago may be that of another test, or of a connection. So a socket stays bound to each:
    none but those that ask for this port get it, and servers may listen on it, since both set SO_REUSEADDR and this
    socket does not listen.
    """
    with contextlib.ExitStack() as stack:
        ports: list[int] = []
        for _ in range(count):
            holder = stack.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("127.0.0.1", 0))
            ports.append(holder.getsockname()[1])
        yield ports


class Prometheus(msgspec.Struct, frozen=True, kw_only=True):
    """A server that scrapes what lies in `textfile`."""

    textfile: Path
    port: int

    def query(self, expression: str) -> dict[tuple[tuple[str, str], ...], float]:
        """What a query returns now, by labels; raises where Prometheus refuses it."""
        address = f"http://127.0.0.1:{self.port}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        answer = _json(address)["data"]
        rows = [{"metric": {}, "value": answer["result"]}] if answer["resultType"] == "scalar" else answer["result"]
        return {tuple(sorted(row["metric"].items())): float(row["value"][1]) for row in rows}

    def numbers(self) -> dict[tuple[str | tuple[str, str], ...], float]:
        """All of ours: name and labels, without those that Prometheus adds."""
        found = self.query(OURS)
        kept = {key: [pair for pair in key if pair[0] not in ("instance", "job", "__name__")] for key in found}
        return {(dict(key)["__name__"], *kept[key]): value for key, value in found.items()}

    def wait(self) -> None:
        """Until what lies in `textfile` now was scraped; a server begins to scrape after 5 s."""
        since_s = time.time()
        assert eventually(lambda: any(at_s > since_s for at_s in self.query("timestamp(up)").values()))


class Graphite(msgspec.Struct, frozen=True, kw_only=True):
    """carbon's plaintext port, and the web's."""

    line: int
    web: int

    def query(self, *targets: str) -> dict[str, float]:
        """The newest number of each series that the targets return."""
        words = urllib.parse.urlencode(
            [("format", "json"), ("from", "-300s"), ("noCache", "1"), *(("target", target) for target in targets)]
        )
        series = _json(f"http://127.0.0.1:{self.web}/render", words.encode())
        points = {one["target"]: [value for value, _ in one["datapoints"] if value is not None] for one in series}
        return {name: values[-1] for name, values in points.items() if values}

    def numbers(self) -> dict[str, float]:
        """All of ours by path; no family has more than two labels."""
        return self.query(*(f"{{seatrial,slurm}}_*{'.*.*' * labels}" for labels in range(3)))


def _json(address: str, posted: bytes | None = None) -> Any:
    """What a server says when it can.

    Prometheus listens before it answers, and Graphite's web cannot read a file that carbon is just creating: both
    answer 5xx meanwhile.
    """
    answers: list[Any] = []
    assert eventually(lambda: _answered(address, posted, answers)), address
    return answers[0]


def _answered(address: str, posted: bytes | None, answers: list[Any]) -> bool:
    try:
        with urllib.request.urlopen(address, posted, timeout=30) as answer:  # noqa: S310 - of this machine
            answers.append(json.load(answer))
    except urllib.error.HTTPError as error:
        if error.code < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
    return bool(answers)


@contextlib.contextmanager
def _running(
    argv: Sequence[str], port: int, log: Path, within: Sequence[str] = (), **environment: str
) -> Iterator[None]:
    connects = [*within, sys.executable, "-I", "-S", "-c", CONNECT, str(port)]
    with log.open("wb") as said:
        process = subprocess.Popen([*within, *argv], stdout=said, stderr=said, env={**os.environ, **environment})
    try:
        ready = eventually(lambda: process.poll() is not None or run(connects, timeout_s=10).ok)
        assert ready and process.poll() is None, log.read_text()[-2000:]
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def prometheus(folder: Path) -> Iterator[Prometheus]:
    """Prometheus, and node_exporter with its collector of text files."""
    textfile = folder / "textfile" / "seatrial.prom"
    textfile.parent.mkdir(parents=True)
    collects = ["--collector.disable-defaults", "--collector.textfile"]
    server = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with reserved_ports(2) as (port, exporter):
        (folder / "prometheus.yml").write_text(SCRAPES.format(every=SCRAPE_S, exporter=exporter))
        place = [f"--collector.textfile.directory={textfile.parent}", f"--web.listen-address=127.0.0.1:{exporter}"]
        address = f"--web.listen-address=127.0.0.1:{port}"
        with (
            _running(["prometheus-node-exporter", *collects, *place], exporter, folder / "exporter.log"),
            _running(["prometheus", *server, address], port, folder / "server.log"),
        ):
            yield Prometheus(textfile=textfile, port=port)


@contextlib.contextmanager
def graphite(folder: Path, within: Sequence[str] = ()) -> Iterator[Graphite]:
    """carbon, and Graphite's web with its development server. `within`: words that start carbon in another network."""
    (folder / "whisper").mkdir(parents=True)
    carbon = ["carbon-cache", f"--config={folder / 'carbon.conf'}", "--nodaemon", "start"]
    place = {"GRAPHITE_SETTINGS_MODULE": "seatrial_graphite", "PYTHONPATH": str(folder)}
    with reserved_ports(3) as (line, web, query):
        (folder / "carbon.conf").write_text(CARBON.format(folder=folder, line=line, query=query))
        (folder / "storage-schemas.conf").write_text(SCHEMAS)
        (folder / "seatrial_graphite.py").write_text(WEB.format(folder=folder, query=query))
        serve = ["graphite-manage", "runserver", "--noreload", f"127.0.0.1:{web}"]
        with _running(carbon, line, folder / "carbon.log", within), _running(serve, web, folder / "web.log", **place):
            yield Graphite(line=line, web=web)
