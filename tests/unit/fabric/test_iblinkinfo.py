"""The map that iblinkinfo prints is the one that ibnetdiscover prints."""

import pytest

from seatrial.fabric.ibnetdiscover import SOURCE, parse_fabric
from seatrial.model.errors import UsageError
from seatrial.model.fabric import DeviceKind

TEXT = """CA: n1 mlx5_0:
      0x0c42a103006c2f5a      4    1[  ] ==( 4X       53.125 Gbps Active/  LinkUp)==>       1   17[  ] "leaf1" ( )
CA: n2 mlx5_0:
      0x0c42a103006c2f6b      5    1[  ] ==( 2X       53.125 Gbps Active/  LinkUp)==>       1   18[  ] "leaf1" ( x )
Switch: 0x0c42a10300a0b2c4 leaf1:
           1   17[  ] ==( 4X       53.125 Gbps Active/  LinkUp)==>       4    1[  ] "n1 mlx5_0" ( )
           1   18[  ] ==( 2X       53.125 Gbps Active/  LinkUp)==>       5    1[  ] "n2 mlx5_0" ( Could be 4X)
           1   19[  ] ==(                Down/ Polling)==>             [  ] "" ( )
           1   20[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       9   36[  ] "spine1" ( )
"""


def test_devices_cables_rates_and_ports_that_are_down() -> None:
    fabric = parse_fabric(TEXT)
    names = {device.name: (device.kind, device.lid) for device in fabric.devices}
    assert names["n1 mlx5_0"] == (DeviceKind.ADAPTER, 4)
    assert names["leaf1"] == (DeviceKind.SWITCH, 1)
    assert len(fabric.links) == 3
    rates = sorted((link.width, link.speed) for link in fabric.links if link.width and link.listed_by_other)
    assert rates == [(2, "HDR"), (4, "HDR")]
    assert [end.port for end in fabric.down] == [19]
    assert (fabric.source, fabric.unknown, fabric.cut_off, fabric.doubles) == (SOURCE, (), False, ())
    assert sorted(address.lid for address in fabric.addresses) == [4, 5]


def test_a_last_line_without_a_newline_is_not_counted() -> None:
    fabric = parse_fabric(TEXT[:-20])
    assert fabric.cut_off
    assert len(fabric.links) == 2


def test_lines_of_something_else_are_unknown() -> None:
    assert parse_fabric(TEXT + "ibwarn: [7] mad_rpc: timed out\n").unknown == ("ibwarn: [7] mad_rpc: timed out",)
    with pytest.raises(UsageError, match="not a map of a fabric"):
        parse_fabric("CA: n1 mlx5_0:\nhello\n")
