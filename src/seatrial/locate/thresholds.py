"""The lines between good and bad that do not follow the noise (see `locate.effects`). Each says where it comes from."""

PEERS_FLOOR = 0.90
"""Of several rails or ports: below this share of the best one is slow. ClusterKit's published rule is 0.93."""

SUSPICION = 2 / 3
"""Of the practical effect: what the survey suspects, so that the retest decides on all that may reach the effect."""

MOST_LACK = 0.7
"""Log: a pair at half of what its peers deliver is suspected whatever the scatter."""

SURE = 0.85
"""Of the practical effect: a part whose whole interval is above it was measured again and is good ..."""

NEAR = 0.5
"""... and so is one whose median lacks less than this part of the effect, since noise widens intervals."""

GROSS = 0.10
"""Runs this much worse than the peers, with good ones between them, are instability and no noise."""

LIMIT_FLOOR = 0.75
"""Bandwidth below this share of the limit is slow even where all peers are alike. Public runs reach 0.93 to 0.99."""

GATE_TOLERANCE = 1.01
"""Above this times the gate a number is INVALID; the hundredth is for the clock and for buffers that fill meanwhile."""

GROSS_GATE = 1.5
"""Every window above this times the gate is INVALID whatever the number of runs: buffers and a late clock read explain
a few percent, not half as much again."""

LATENCY_RATIO = 2.1
"""Where nodes share a kernel, latency above this times its peers' is high: ClusterKit's published rule ..."""

LATENCY_FLOOR_S = 5e-6
"""... if it is above them by at least this much, which a scheduler's whim can cost."""

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
