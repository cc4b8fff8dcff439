"""One child without a zygote: for machines that cannot fork safely, or where the host asked for it.

Rules of this module: the same child as a forked one, on the inherited descriptor 3; only the way it came to be differs.
It is sealed where the seal is known, and says so in its `ready`.
"""

from __future__ import annotations

import faulthandler
from typing import NoReturn

from codemode_guest._child import prepare
from codemode_guest._syscalls import BRIDGE_FD


def main() -> NoReturn:
    """Be a child on descriptor 3."""
    faulthandler.enable(file=BRIDGE_FD, all_threads=False)
    nursery, _ = prepare(parent=None)
    nursery.live(BRIDGE_FD)
