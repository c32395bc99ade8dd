"""What `hl-smi` prints, in small texts of the project's own making; names and numbers are neutral."""

from __future__ import annotations

TABLE = """\
+-----------------------------------------------------------------------------+
| HL-SMI Version:                              hl-1.22.1-fw-61.3.1.0          |
| Driver Version:                                     1.22.1-0f1e2d3          |
| Nic Driver Version:                                 1.22.1-4c5b6a7          |
|-------------------------------+----------------------+----------------------+
| AIP  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncor-Events|
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | AIP-Util  Compute M. |
|===============================+======================+======================|
|   0  HL-325L             N/A  | 0000:b3:00.0     N/A |                   0  |
| N/A   36C   P0  228W /  900W  |   672MiB / 131072MiB |     0%            0% |
|-------------------------------+----------------------+----------------------+
|   1  HL-325L             N/A  | 0000:33:00.0     N/A |                   4  |
| N/A   37C   P0  226W /  900W  |   672MiB / 131072MiB |     0%            0% |
|-------------------------------+----------------------+----------------------+
| Compute Processes:                                               AIP Memory |
|  AIP       PID   Type   Process name                             Usage      |
|=============================================================================|
|   0       4711    C     python3 train.py --token hunter2         672MiB     |
|   1        N/A   N/A    N/A                                      N/A        |
+=============================================================================+
"""
CSV = """\
index, module_id, uuid, serial, name, bus_id, driver_version, memory.total [MiB]
0, 3, 01P0-HL3090A0-18-U4V193-22-07-00, AN21000001, HL-325L, 0000:b3:00.0, 1.22.1-0f1e2d3, 131072 MiB
1, 5, 01P0-HL3090A0-18-U4V193-22-07-01, AN21000002, HL-325L, 0000:33:00.0, 1.22.1-0f1e2d3, 131072 MiB
"""


def ports(addresses: list[str], down: dict[str, int] | None = None) -> str:
    """`-n link` of each device: 21 ports inside, of which one may be down."""
    text = ""
    for address in addresses:
        text += f"=== {address} ===\n"
        for port in (*range(8), *range(9, 22)):
            state = "DOWN" if (down or {}).get(address) == port else "UP"
            text += f"port {port:2}:\t{state}\n"
    return text


OAMS = [f"0000:{bus}:00.0" for bus in ("19", "33", "3d", "4e", "9b", "b3", "cc", "da")]
TEXTS = {"hl-smi": TABLE, "hl-smi -Q": CSV, "hl-smi -n": ports(OAMS)}
"""One text of each form."""
