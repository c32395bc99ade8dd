"""The rule that names the network device by which the node's sockets go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from ipaddress import ip_address, ip_interface

from raxl.checks.words import listed
from raxl.model.facts import NOT_READ, Reading
from raxl.model.machine import Address, Interface
from raxl.model.problem import FAILED, NOT_ASKED
from raxl.recipe.node_facts import NodeFacts
from raxl.recipe.parameter_rule import Options, ParameterRule, refused, texts

_NEVER = (
    "lo",
    "pod-id-link*",
    "docker*",
    "veth*",
    "br-*",
    "virbr*",
    "cni*",
    "flannel*",
    "cali*",
    "kube-*",
    "podman*",
    "lxc*",
    "tap*",
    "vnet*",
    "ib-*",
)
"""How the loopback and what leads to containers and guests of the node alone are called."""
_INSIDE = ("bridge", "macvlan")
_DOWN = ("down", "lowerlayerdown", "notpresent", "dormant")
_HARDWARE = "hardware"

Held = Mapping[str, Sequence[Address]]


def socket_interface(facts: NodeFacts, options: Options) -> Reading:
    """The network device that has the address by which Ray knows the node; else the one of the default route; else the
    only one with hardware beneath it that is up and has an address. Loopback, link-local addresses and what leads to
    the node's own containers are none. A name is a beginning to NCCL: write `={interface}` for NCCL_SOCKET_IFNAME."""
    networks = facts.case.facts.networks
    addresses, interfaces = networks.get("addresses", NOT_READ), networks.get("interfaces", NOT_READ)
    for one in (addresses, interfaces):
        if not one.known:
            return one
    fit = _fit(addresses.value, interfaces.value, texts(options, "leave_out", ()))
    view = facts.case.ray
    if view is not None and view.address and not _is_loopback(view.address):
        return _of_ray(view.address, addresses, fit)
    routes = networks.get("default_route", NOT_READ)
    told = [name for name in dict.fromkeys(routes.value) if name in fit] if routes.known else []
    if len(told) == 1:
        return Reading(told[0], routes.source)
    if len(told) > 1:
        return refused(routes.source, f"the default route leads through several: {_shown(told, fit)}")
    alone = [name for name in fit if interfaces.value[name].kind == _HARDWARE and interfaces.value[name].state == "up"]
    if len(alone) == 1:
        return Reading(alone[0], addresses.source)
    why = f"no default route leads through one of them ({routes.message or 'there is none'})"
    shown = _shown(list(fit), fit)
    words = f"{why}, and there are {shown}" if shown else "no network device is up that has an address beyond the link"
    return refused(addresses.source, words, FAILED if routes.known else routes.reason or NOT_ASKED)


def _fit(addresses: Held, interfaces: Mapping[str, Interface], never: Sequence[str]) -> Held:
    """The devices that may be the one, with their addresses that reach beyond the link."""
    found = {}
    for name, held in addresses.items():
        one = interfaces.get(name)
        beyond = tuple(address for address in held if address.scope == "global" and not _is_local(address))
        is_other = any(fnmatchcase(name, glob) for glob in (*_NEVER, *never))
        if one is None or is_other or not beyond or one.kind in _INSIDE or one.state in _DOWN:
            continue
        found[name] = beyond
    return found


def _of_ray(address: str, told: Reading, fit: Held) -> Reading:
    mine = [name for name, held in told.value.items() if any(_same(address, one) for one in held)]
    source = f"ray.nodes(): {address}; {told.source}"
    usable = [name for name in mine if name in fit]
    if len(usable) == 1:
        return Reading(usable[0], source)
    if len(usable) > 1:
        return refused(source, f"several network devices have {address}: {listed(usable)}")
    if mine:
        return refused(source, f"{address} is an address of {listed(mine)}, which other nodes do not reach")
    return refused(source, f"no network device has {address}, by which Ray knows the node: {_shown(list(fit), fit)}")


def _shown(names: Sequence[str], held: Held) -> str:
    return listed([f"{name} ({held[name][0].address})" for name in names])


def _same(address: str, one: Address) -> bool:
    try:
        return ip_interface(address).ip == ip_interface(one.address).ip
    except ValueError:
        return address == one.address


def _is_local(one: Address) -> bool:
    try:
        address = ip_address(one.address.partition("%")[0])
    except ValueError:
        return False
    return address.is_link_local or address.is_loopback


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


RULES = (
    ParameterRule("socket-interface", socket_interface, {"leave_out": "globs of devices that it never is: ib*, rdma*"}),
)
