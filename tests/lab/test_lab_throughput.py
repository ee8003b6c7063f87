"""A virtual link carries what a real one of its design rate would, and not more."""

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from seatrial.lab import planting
from seatrial.lab.faults.base import Parameters
from seatrial.lab.plan import LabPlan
from seatrial.lab.shaping import tcp_limit_bytes_per_s
from seatrial.launch.process import Completed

pytestmark = pytest.mark.lab
InLab = Callable[..., Completed]
RECEIVE = """
import socket, time
connection = socket.create_server(("", 5001)).accept()[0]
buffer, received, marks = bytearray(1 << 16), 0, []
while count := connection.recv_into(buffer):
    received += count
    marks.append((time.perf_counter(), received))
steady = [(at, have) for at, have in marks if at > marks[0][0] + 0.5]
middle = sum(at for at, _ in steady) / len(steady)
print(sum((at - middle) * have for at, have in steady) / sum((at - middle) ** 2 for at, _ in steady))
"""
SEND = """
import socket, time
for _ in range(100):
    try:
        connection = socket.create_connection(("TARGET", 5001))
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
end = time.perf_counter() + 2.5
while time.perf_counter() < end:
    connection.sendall(bytes(1 << 20))
"""


def throughput(plan: LabPlan, in_lab: InLab, source: str, target: str) -> float:
    """Bytes per second of a steady TCP stream: the slope of bytes over time, the median of three streams.

    Other programs may take the cores away for a moment, and what is then read late makes the next moment look too fast:
    at an end of the stream that would spoil a difference of two points, and hardly moves a slope over all.
    """
    rates = []
    for _ in range(3):
        with ThreadPoolExecutor() as pool:
            receiving = pool.submit(in_lab, plan, ["python3", "-c", RECEIVE], host=target)
            in_lab(plan, ["python3", "-c", SEND.replace("TARGET", target)], host=source)
            rates.append(float(receiving.result().stdout))
    return statistics.median(rates)


def test_a_link_carries_its_design_rate(lab4: LabPlan, in_lab: InLab) -> None:
    limit = tcp_limit_bytes_per_s(1e9, 1500)
    assert 0.97 < throughput(lab4, in_lab, "n1", "n3") / limit < 1.005


def test_a_slow_link_carries_what_the_fault_left(lab4: LabPlan, in_lab: InLab) -> None:
    planting.plant(lab4.name, "link-rate", "n3", Parameters(percent=60))
    limit = tcp_limit_bytes_per_s(6e8, 1500)
    assert 0.97 < throughput(lab4, in_lab, "n3", "n4") / limit < 1.005
