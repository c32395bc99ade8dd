"""The network devices that sockets go by: the ones that variables name, and the ones that libraries choose alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from ipaddress import ip_interface

from raxl.checks import P1, Case, Verdict, check, evidence, fail, ok, unread, warn
from raxl.checks.ports import ports
from raxl.checks.variables import nccl_list, reading, taken
from raxl.checks.words import listed
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK
from raxl.model.machine import Address, Interface

_NCCL, _GLOO, _UCX = "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "UCX_NET_DEVICES"
_NEVER = ("lo", "docker")
"""What NCCL takes only where there is nothing else."""
_RAY = "ray:"
_INSIDE = ("bridge", "macvlan")
_MADE = ("veth", "br-", "virbr", "cni", "flannel", "cali", "kube-", "podman", "lxc", "tap", "vnet")
"""How container and machine managers call what leads to their guests alone."""

Addresses = Mapping[str, Sequence[Address]]


@check(
    "net.iface",
    "Sockets go by network devices that reach the other nodes",
    P1,
    QUICK,
    "config",
    reference="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname",
)
def iface(case: Case) -> Iterator[Verdict]:
    """A device name that is baked into an image fits one kind of machine, and jobs on others end at their first step.

    Read: the network devices with their addresses, NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME and UCX_NET_DEVICES. It fails
    where a variable names no device that has an address, and where no device has the address that Ray knows the node
    by. It warns where NCCL_SOCKET_IFNAME is unset on a node with accelerators and NCCL would also use a link-local
    address (169.254/16), or a bridge of containers beside a real network.

    Not to be confused: NCCL takes names as beginnings, `=` makes them whole, `^` excludes; gloo takes whole names. A
    job may set the variables in its runtime environment, which is not to be seen here.
    """
    addresses, interfaces = (case.facts.networks.get(name, NOT_READ) for name in ("addresses", "interfaces"))
    if not addresses.known or not interfaces.known:
        yield unread("node", "the addresses of network devices", addresses if not addresses.known else interfaces)
        return
    held = {name: tuple(one for one in told if one.scope != "host") for name, told in addresses.value.items()}
    names = list(interfaces.value)
    set_ = [(name, told) for name in (_NCCL, _GLOO, _UCX) if (told := reading(case, name)).value]
    for name, told in set_:
        yield _named(case, name, told, names, held)
    if _NCCL not in {name for name, _ in set_}:
        yield from _chosen(case, interfaces.value, held, addresses)
    if case.ray is not None and case.ray.address and case.node.source.startswith(_RAY):
        yield from _of_ray(case.ray.address, held, addresses)


def _named(case: Case, name: str, told: Reading, names: Sequence[str], held: Addresses) -> Verdict:
    """Whether the devices that a variable names are there, and have addresses."""
    text = str(told.value)
    hit = _hit(case, name, text, names)
    usable = [one for one in hit if held.get(one) or (name == _UCX and one not in names)]
    shown = evidence(told, f"{name}={text}")
    routed = listed([f"{one} ({held[one][0].address})" for one in held if held[one] and not one.startswith(_NEVER)])
    remedy = (
        f"set {name} to {routed or 'a device with an address'}, or unset it; look where the image or the job sets it"
    )
    more = {"remedy": remedy, "remedy_class": "config"}
    if not hit:
        words = f"{name}={text} matches no network device of this node; with an address there are {routed or 'none'}"
        return fail(name, words, shown, **more)
    if not usable:
        words = f"{name}={text} matches {listed(hit)}, without an address; with one there are {routed or 'none'}"
        return fail(name, words, shown, **more)
    if all(one.scope == "link" for device in usable for one in held.get(device, ())) and held.get(usable[0]):
        return warn(
            name, f"{name}={text} matches only {listed(usable)}, whose address reaches no other node", shown, **more
        )
    return ok(name, f"{name}={text}: {listed(usable)}", shown)


def _hit(case: Case, name: str, text: str, names: Sequence[str]) -> list[str]:
    """The devices of this node that the variable means."""
    if name == _NCCL:
        return [one for one in taken(nccl_list(text), names) if not (text.startswith("^") and one.startswith(_NEVER))]
    parts = [part.strip() for part in text.removeprefix("^").split(",") if part.strip()]
    if name == _GLOO:
        return [one for one in parts if one in names]
    rdma = [port.name.replace("/", ":") for port in ports(case)]
    every = [*names, *rdma, *[one.split(":")[0] for one in rdma]]
    if text.strip() == "all" or text.startswith("^"):
        return [one for one in every if not any(fnmatchcase(one, part) for part in parts)] or every
    return [one for part in parts for one in every if fnmatchcase(one, part)]


def _chosen(case: Case, interfaces: Mapping[str, Interface], held: Addresses, told: Reading) -> Iterator[Verdict]:
    """What NCCL takes where nothing is set: every device that is up and has an address, loopback and docker's aside."""
    candidates = {
        name: list(held[name])
        for name in held
        if held[name] and not name.startswith(_NEVER) and _is_up(interfaces.get(name))
    }
    words = listed([f"{name} ({one[0].address})" for name, one in candidates.items()])
    if not case.node.accelerators or len(candidates) < 2:
        yield ok("node", f"{_NCCL} is unset; sockets can go by {words or 'no device'}", evidence(told, words))
        return
    local = [name for name, one in candidates.items() if all(address.scope == "link" for address in one)]
    inner = [name for name in candidates if name not in local and _leads_inside(interfaces.get(name), name)]
    outer = [name for name in candidates if name not in local and name not in inner]
    for names, why in ((local, "whose address is link-local"), (inner, "which leads to this node's containers alone")):
        if names and outer:
            yield warn(
                "node",
                f"{_NCCL} is unset, and NCCL takes {listed(names)} too, {why}: candidates are {words}",
                evidence(told, words),
                remedy=f"set {_NCCL}={','.join(outer[:2])} for jobs, or {_NCCL}=^{','.join(['lo', 'docker', *names])}",
                remedy_class="config",
                root=why,
            )
    if not (outer and (local or inner)):
        yield ok("node", f"{_NCCL} is unset; sockets can go by {words}", evidence(told, words))


def _is_up(one: Interface | None) -> bool:
    return one is None or one.state not in ("down", "lowerlayerdown", "notpresent")


def _leads_inside(one: Interface | None, name: str) -> bool:
    """A bridge, or a device called as managers of containers call theirs; not a container's own end of a pair."""
    return (one is not None and one.kind in _INSIDE) or name.startswith(_MADE)


def _of_ray(address: str, held: Addresses, told: Reading) -> Iterator[Verdict]:
    if any(_same(address, one) for own in held.values() for one in own) or address.startswith("127."):
        return
    words = listed([f"{name} ({one[0].address})" for name, one in held.items() if one])
    yield fail(
        "node",
        f"Ray knows this node by {address}, which none of its network devices has: {words}",
        evidence(told, words),
        remedy="start the raylet with --node-ip-address set to an address that other nodes reach",
        remedy_class="restart-service",
        root="ray-address",
    )


def _same(address: str, one: Address) -> bool:
    try:
        return ip_interface(address).ip == ip_interface(one.address).ip
    except ValueError:
        return address == one.address
