"""Every error that raxl raises, and the exit code it ends with.

RaxlError
├── UsageError              the command line                                   exit 2
├── RecipeError             a recipe is wrong, does not fit, or was refused    exit 1
│   └── NotDecided          what decides it could not be read                  exit 3
├── PluginError             a plug-in of others failed; names its package      exit 4
└── CannotStart             input unreadable; missing part                     exit 4
    ├── UnreadableInput     no such file; not permitted; damaged
    ├── UnknownForm         a file whose content is no form that is known
    │   └── NoNodes         a list of nodes that is empty
    ├── TooLarge            an archive over the limits
    ├── SchemaTooNew        a snapshot that a newer raxl wrote
    ├── ClusterUnreachable  no Ray cluster answers at the address
    ├── ClusterLocked       it wants a token
    └── MissingDependency   a package that the command needs

A question to the machine that has no answer is no exception: it is an `Answer` that carries its reason
(`raxl.host.Answer`), and becomes a `Problem` of the inventory.
"""

from __future__ import annotations


class RaxlError(Exception):
    """An error that is told in one line: what, why, and what to try.

    `what` is the fact, `why` its cause in the words of whoever refused, `try_` one step that may help.
    """

    exit_code = 4

    def __init__(self, what: str, why: str = "", try_: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.try_ = try_

    def __str__(self) -> str:
        reason = f" ({self.why})" if self.why else ""
        step = f". {self.try_}" if self.try_ else ""
        return f"{self.what}{reason}{step}"


class UsageError(RaxlError):
    """The command line is wrong."""

    exit_code = 2


class RecipeError(RaxlError):
    """A recipe is broken, does not fit this node, or may not be applied as things stand. Nothing was changed."""

    exit_code = 1


class NotDecided(RecipeError):
    """Which recipe is for a node, or what it would set there, could not be told: what decides it was not read."""

    exit_code = 3


class PluginError(RaxlError):
    """A plug-in that raxl does not ship failed. `reason` is one of the model's; `what` names the package."""

    def __init__(self, what: str, why: str = "", reason: str = "failed") -> None:
        super().__init__(what, why)
        self.reason = reason


class CannotStart(RaxlError):
    """Nothing could be read or done."""


class ClusterUnreachable(CannotStart):
    """No Ray cluster answers at the address."""


class ClusterLocked(CannotStart):
    """The cluster wants a token that this environment does not give."""


class UnreadableInput(CannotStart):
    """An input that is missing, forbidden or damaged."""


class UnknownForm(CannotStart):
    """An input whose content is none of the forms that are known."""


class NoNodes(UnknownForm):
    """A list of nodes that is empty."""


class TooLarge(CannotStart):
    """An archive that holds more than raxl is willing to read."""


class SchemaTooNew(CannotStart):
    """A snapshot in a layout that only a newer raxl can read."""


class MissingDependency(CannotStart):
    """A package that the command needs is not installed."""
