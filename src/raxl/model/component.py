"""Functions of the PCI tree: anything with an address and a parent."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class PciLink:
    """Speed and width of a PCIe link, now and at most. The maximum is what device and slot can both do."""

    speed_gts: float | None = None
    """Gigatransfers per second of one lane; an idle link may be slower than it can be."""
    width: int | None = None
    max_speed_gts: float | None = None
    max_width: int | None = None


@dataclass(frozen=True)
class PciIdentity:
    """Where a device sits on PCI and what it calls itself. Ids are four hex digits."""

    address: str
    vendor_id: str | None = None
    device_id: str | None = None
    subsystem_id: str | None = None
    """`vvvv:dddd`, the board maker's id."""
    link: PciLink | None = None


@dataclass(frozen=True)
class PciFunction:
    """One function of the PCI tree, with the way up from it.

    `chain` holds the bridges from the root port down to the parent: root port, then upstream and downstream port of
    each switch. It is empty for an endpoint in the root complex, and for a source that knows no bridges.
    """

    address: str
    class_id: str | None
    """Six hex digits: base class, subclass, interface."""
    host_bridge: str | None
    """`pci0000:16`; None where the source does not say."""
    chain: tuple[str, ...] = ()
    vendor_id: str | None = None
    device_id: str | None = None
    subsystem_id: str | None = None
    numa_node: int | None = None
    local_numa_nodes: tuple[int, ...] = ()
    link: PciLink | None = None
    driver: str | None = None
    physical_function: str | None = None
    """On an SR-IOV virtual function: the address of the function that it belongs to."""
    name: str | None = None
    """Vendor's and device's name where the source carries them."""
    slot: str | None = None
    """The physical slot as firmware numbers it."""
    is_lost: bool = False
    """Whether the kernel knows it and nothing answers at its address any more."""
    evidence: str = "sysfs"

    @property
    def is_bridge(self) -> bool:
        """Whether this function forwards to a bus below it (class 0604)."""
        return (self.class_id or "").startswith("0604")

    def filled(self, other: PciFunction) -> PciFunction:
        """This function with what it lacks taken from another source's reading of it; a way up is taken whole."""
        missing = {
            name: getattr(other, name)
            for name, value in vars(self).items()
            if value in (None, ()) and name not in ("host_bridge", "chain")
        }
        if self.host_bridge is None and not self.chain:
            missing.update(host_bridge=other.host_bridge, chain=other.chain)
        return replace(self, **missing, is_lost=self.is_lost or other.is_lost)

    @property
    def beside(self) -> dict[str, str | int | float | bool | None]:
        """What an accelerator's attributes tell of its function: driver and physical slot, where they are known."""
        told = {"driver": self.driver, "physical_slot": self.slot}
        return {name: value for name, value in told.items() if value is not None}

    @property
    def identity(self) -> PciIdentity:
        """The published part."""
        return PciIdentity(self.address, self.vendor_id, self.device_id, self.subsystem_id, self.link)


@dataclass(frozen=True)
class Switch:
    """A switch between devices: a PCIe switch by its upstream port, an NVSwitch by its function."""

    id: str
    kind: str
    """pcie | nvswitch"""
    pci: PciIdentity | None = None
    pcie_root: str | None = None
    numa_node: int | None = None
    parent: str | None = None
    """The PCIe switch above it, where one is stacked on another."""
    members: tuple[str, ...] = ()
    """Ids of the accelerators and NICs directly beneath (not those beneath a switch below)."""
