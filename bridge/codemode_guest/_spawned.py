"""One child without a zygote: for machines that cannot fork safely, or where the host asked for it.

Rules of this module: the same child as a forked one, on the inherited descriptor 3; only the way it came to be differs.
It is sealed where the seal is known, and says so in its `ready`.
"""

from __future__ import annotations

import faulthandler
from typing import NoReturn

from codemode_guest import _limits, _seal
from codemode_guest._child import Nursery
from codemode_guest._rehearsal import load
from codemode_guest._seal_proof import prove
from codemode_guest._syscalls import BRIDGE_FD


def main() -> NoReturn:
    """Be a child on descriptor 3."""
    faulthandler.enable(file=BRIDGE_FD, all_threads=False)
    load()
    system = _seal.kernel()
    address_space = _limits.address_space()
    layers = _seal.seal_zygote(system)
    seal = None if system is None else _seal.ChildSeal(system, parent=None)
    if seal is not None and system is not None:
        layers += prove(seal, system)
    sealed = all(layer.holds for layer in layers if layer.required)
    Nursery(seal, sealed=sealed, address_space=address_space).live(BRIDGE_FD)
