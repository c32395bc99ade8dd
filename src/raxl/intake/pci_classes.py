"""The words by which the list of PCI ids calls classes, and what a device's name alone tells of its class.

https://pci-ids.ucw.cz: the words changed their capitals over the years, and nothing else.
"""

from __future__ import annotations

import re

from raxl.sources import nvidia_names

_WORDS = {
    "00": "Non-VGA unclassified device|VGA compatible unclassified device||||Image coprocessor",
    "01": "SCSI storage controller|IDE interface|Floppy disk controller|IPI bus controller|RAID bus controller|"
    "ATA controller|SATA controller|Serial Attached SCSI controller|Non-Volatile memory controller|"
    "Universal Flash Storage controller",
    "02": "Ethernet controller|Token ring network controller|FDDI network controller|ATM network controller|"
    "ISDN controller|WorldFip controller|PICMG controller|Infiniband controller|Fabric controller",
    "03": "VGA compatible controller|XGA compatible controller|3D controller",
    "04": "Multimedia video controller|Multimedia audio controller|Computer telephony device|Audio device",
    "05": "RAM memory|FLASH memory|CXL",
    "06": "Host bridge|ISA bridge|EISA bridge|MicroChannel bridge|PCI bridge|PCMCIA bridge|NuBus bridge|"
    "CardBus bridge|RACEway bridge|Semi-transparent PCI-to-PCI bridge|InfiniBand to PCI host bridge",
    "07": "Serial controller|Parallel controller|Multiport serial controller|Modem|GPIB controller|"
    "Smard Card controller",
    "08": "PIC|DMA controller|Timer|RTC|PCI Hot-plug controller|SD Host controller|IOMMU",
    "09": "Keyboard controller|Digitizer Pen|Mouse controller|Scanner controller|Gameport controller",
    "0b": "386|486|Pentium",
    "0c": "FireWire (IEEE 1394)|ACCESS Bus|SSA|USB controller|Fibre Channel|SMBus|InfiniBand|IPMI Interface|"
    "SERCOS interface|CANBUS",
    "11": "DPIO module|Performance counters",
    "12": "Processing accelerators|SNIA Smart Data Accelerator Interface (SDXI) controller",
}
"""By base class, the names of its subclasses in their order."""
_OTHERS = {
    "Unclassified device": "0000",
    "Mass storage controller": "0180",
    "Network controller": "0280",
    "Display controller": "0380",
    "Multimedia controller": "0480",
    "Memory controller": "0580",
    "Bridge": "0680",
    "Communication controller": "0780",
    "System peripheral": "0880",
    "Timing Card": "0899",
    "Input device controller": "0980",
    "Co-processor": "0b40",
    "Power PC": "0b20",
    "Serial bus controller": "0c80",
    "Wireless controller": "0d80",
    "Bluetooth": "0d11",
    "Encryption controller": "1080",
    "Network and computing encryption device": "1000",
    "Entertainment encryption device": "1010",
    "Signal processing controller": "1180",
    "Communication synchronizer": "1110",
    "Signal processing management": "1120",
    "Non-Essential Instrumentation": "1300",
    "Coprocessor": "4000",
    "Unassigned class": "ff00",
}
CLASSES = {
    **{words.lower(): digits for words, digits in _OTHERS.items()},
    **{
        words.lower(): f"{base}{place:02x}"
        for base, names in _WORDS.items()
        for place, words in enumerate(names.split("|"))
        if words
    },
}
"""By name in small letters, base class and subclass."""

BRIDGE, NVSWITCH, GPU, ADAPTER = "060400", "068000", "038000", "028000"
"""Classes of names: of a graphics processor and of a network adapter the base class is told and the subclass is not,
and 80 is what PCI calls another one."""
_NVSWITCH = re.compile(r"NVSwitch")
_NVIDIA_CHIP = re.compile(r"[AGT][A-Z][0-9]{2,3}[A-Z]{0,3}(?: ?\[.*\])?")
_AMD_CARD = re.compile(r"\[.*(?:Instinct|Radeon|FirePro|Radeon Pro)")
_ADAPTER = re.compile(r"ConnectX|Ethernet|NetXtreme|[Nn]etwork (?:Adapter|Connection|device)|\bE[FN]A\b|NIC\b")
_NO_ADAPTER = re.compile(r"Bridge|Recovery|Upstream|Downstream|Switch Port|Data Direct")


def of_name(vendor_id: str | None, device_id: str | None, name: str) -> str | None:
    """The class of a device of which only the name is known; None where the name does not tell."""
    known = nvidia_names.MODELS.get(device_id or "", "") if vendor_id == nvidia_names.VENDOR_ID else ""
    if _NVSWITCH.search(known or name) and vendor_id == nvidia_names.VENDOR_ID:
        return NVSWITCH
    if known or (vendor_id == nvidia_names.VENDOR_ID and _NVIDIA_CHIP.fullmatch(name)):
        return GPU
    if vendor_id == "1002" and _AMD_CARD.search(name):
        return GPU
    if _ADAPTER.search(name) and not _NO_ADAPTER.search(name):
        return ADAPTER
    return None
