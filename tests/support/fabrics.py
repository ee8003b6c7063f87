"""Made-up fabrics in the words of ibnetdiscover and of the tools that print forwarding tables."""

from collections.abc import Sequence

from seatrial.fabric.ibnetdiscover import parse_fabric
from seatrial.fabric.routes import Routes


def fat_tree(leaves: int, per_leaf: int, spines: int, *, cables: int = 1, rails: Sequence[str] = ("mlx5_0",)) -> str:
    """Nodes n1, n2, ... on leaf1, leaf2, ...; a leaf's node ports come first, then `cables` to each spine in turn.

    Of the node ports the first rails of all nodes come first, then the second ones.
    """
    lines: list[str] = ["# Topology file: made up"]
    cas: list[str] = []
    spine_lines: list[list[str]] = [[] for _ in range(spines)]
    for leaf in range(leaves):
        lines += ["", f'Switch 64 "S-{leaf + 1:016x}" # "leaf{leaf + 1}" enhanced port 0 lid {leaf + 1} lmc 0']
        port = 0
        for rail, name in enumerate(rails):
            for place in range(per_leaf):
                port += 1
                node = leaf * per_leaf + place
                guid, lid = 0x1000 + 16 * node + rail, 1000 + 10 * node + rail
                up = f'# lid {lid} lmc 0 "leaf{leaf + 1}" lid {leaf + 1} 4xNDR'
                lines.append(f'[{port}] "H-{guid:016x}"[1]({guid + 8:x}) # "n{node + 1} {name}" lid {lid} 4xNDR')
                cas += [
                    "",
                    f'Ca 1 "H-{guid:016x}" # "n{node + 1} {name}"',
                    f'[1]({guid + 8:x}) "S-{leaf + 1:016x}"[{port}] {up}',
                ]
        for spine in range(spines):
            for _ in range(cables):
                port += 1
                there = len(spine_lines[spine]) + 1
                lines.append(f'[{port}] "S-{0x100 + spine:016x}"[{there}] # "spine{spine + 1}" lid {100 + spine} 4xNDR')
                spine_lines[spine].append(
                    f'[{there}] "S-{leaf + 1:016x}"[{port}] # "leaf{leaf + 1}" lid {leaf + 1} 4xNDR'
                )
    for spine in range(spines):
        head = f'Switch 64 "S-{0x100 + spine:016x}" # "spine{spine + 1}" enhanced port 0 lid {100 + spine} lmc 0'
        lines += ["", head, *spine_lines[spine]]
    return "\n".join([*lines, *cas]) + "\n"


def tables_of(text: str, *, shift: int = 0) -> str:
    """Forwarding tables of that fabric as ibroute prints them: D-mod-K's, destinations counted from `shift` on."""
    fabric = parse_fabric(text)
    routes = Routes(fabric)
    lid_of = {one.end.device: one for one in fabric.addresses}
    lines = []
    for switch in routes.graph.names:
        device = fabric.by_key[switch]
        lines.append(f"Unicast lids [0x0-0xfff] of switch Lid {device.lid} guid 0x{switch[2:]} ({device.name}):")
        lines += ["  Lid  Out   Destination", "       Port     Info"]
        up = [port for port, there in routes.neighbours(switch).items() if there in routes.graph.place]
        for number, adapter in enumerate(routes.adapters):
            near = [port for port, there in routes.neighbours(switch).items() if there == adapter]
            down = [port for port, there in routes.neighbours(switch).items() if there == routes.leaf_of[adapter]]
            ports = near or down or up
            port, address = ports[(number + shift) % len(ports)], lid_of[adapter]
            lines.append(
                f"0x{address.lid:04x} {port:03d} : (Channel Adapter portguid 0x{address.guid}: "
                f"'{fabric.by_key[adapter].name}')"
            )
    return "\n".join(lines) + "\n"
