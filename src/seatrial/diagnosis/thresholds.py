"""The lines between good and bad. Each says where it comes from."""

PEERS_FLOOR = 0.90
"""Bandwidth below this share of the peers' is slow. ClusterKit's published rule is 0.93 of the best pair; here the
reference is a median and every suspect is measured again, so the line can leave room for noise."""

LIMIT_FLOOR = 0.75
"""Bandwidth below this share of the limit is slow even where all peers are alike. Public runs reach 0.93 to 0.99."""

GATE_TOLERANCE = 1.01
"""Above this times the gate a number is INVALID; the hundredth is for the clock and for buffers that fill meanwhile."""

GROSS_GATE = 1.5
"""Every window above this times the gate is INVALID whatever the number of runs: buffers and a late clock read explain
a few percent, not half as much again."""

LATENCY_RATIO = 2.1
"""Latency above this times its peers' is high: ClusterKit's published rule."""

LATENCY_FLOOR_S = 5e-6
"""... and above them by at least this much, which a scheduler's whim can cost."""

WAVERING_SHARE = 0.25
"""When the control pairs are late too in more of their runs than this, the measuring itself was disturbed; on a quiet
lab none is, on one whose two cores others load, 40 %."""

STALL_S = 0.19
"""A small round trip this long waited for TCP's retransmission timer, at least 0.2 s on Linux (TCP_RTO_MIN)."""

UNIFORM_SHARE = 0.9
"""When this share of all pairs is below the limit's floor and none below its peers, the whole fabric is."""

RETEST_RUNS = 6
"""The fewest runs whose range covers the median with 95 % (96.9 %)."""

RETEST_PAIRS = 4
"""Pairs measured again for each suspect."""

CONTROL_PAIRS = 3
"""Good pairs measured again beside the suspects, so that both see the same minute."""

RETEST_CAP = 200
"""Pairs measured again at most in all."""
