"""hwloc XML, versions 1 to 3, as `lstopo` writes it: a whole machine with its PCI tree.

hwloc's documentation, "Importing and exporting topologies from/to XML files".
"""

from __future__ import annotations

from raxl.intake import hwloc_gpus, hwloc_links, hwloc_machine, hwloc_matrix, hwloc_nics, hwloc_objects, hwloc_pci
from raxl.intake.foreign import Foreign
from raxl.intake.hwloc_pci import FORM
from raxl.model.problem import FAILED, Problem
from raxl.model.report import Report
from raxl.sources import xml_text


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The machine that a document describes, and what is wrong with the document.

    Of a document that was cut off, what stands before the cut is read; counts that it cannot know are not given.
    """
    root, error = xml_text.parse(text)
    topology = hwloc_objects.topology(root) if root is not None else None
    if topology is None:
        why = error or "it has no topology element"
        return Foreign(FORM), (Problem("pci_tree", FAILED, f"the hwloc XML cannot be read: {why}", (FORM,)),)
    cut = () if error is None else (_cut(error),)
    tree, contradictions = hwloc_pci.pci_tree(topology)
    matrices, misfits = hwloc_matrix.matrices(topology)
    switches = hwloc_pci.nvswitches(topology, tree)
    links, differences = hwloc_links.links(
        matrices, tree, frozenset(switch.pci.address for switch in switches if switch.pci)
    )
    foreign = Foreign(
        form=FORM,
        functions=tuple(function for _, function in sorted(tree.functions.items())),
        os=hwloc_machine.operating_system(topology),
        cpu=hwloc_machine.cpu(topology, whole=error is None),
        hostname=hwloc_machine.hostname(topology),
        numa_nodes=hwloc_machine.numa_nodes(topology, matrices),
        nics=hwloc_nics.nics(topology, tree),
        report=Report(claims=hwloc_gpus.claims(topology, tree), links=links, switches=switches),
    )
    return foreign, (*cut, *contradictions, *misfits, *differences)


def _cut(error: str) -> Problem:
    return Problem("pci_tree", FAILED, f"the hwloc XML ends early ({error}): what stands before is read", (FORM,))
