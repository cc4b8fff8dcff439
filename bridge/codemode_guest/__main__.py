"""`python -I -S -m codemode_guest`, as the host starts it: a zygote, or one child where there is no fork.

Rules of this module: the interpreter is isolated (no site, no user paths, no environment), so the host hands over the
folders of what may be imported. Everything is imported here, before the seal.
"""

from __future__ import annotations

import gc
import os
import sys


def main(mode: str) -> None:
    """Be what `mode` says: "zygote" or "spawn".

    Raises:
        ValueError: any other mode.
    """
    # A library of the host may have opened descriptors that survive an exec. Only 0 to 4 are ours.
    os.closerange(5 if mode == "zygote" else 4, os.sysconf("SC_OPEN_MAX"))
    # Nothing of what is loaded here becomes garbage; a child has its collector turned on with its program.
    gc.disable()
    # asyncio works without ssl, and a child has no use for it: half of the import time and memory of asyncio.
    sys.modules["ssl"] = None  # type: ignore[assignment]
    if mode == "zygote":
        from codemode_guest._memory import load_libraries

        load_libraries()
        from codemode_guest._zygote import main as zygote

        zygote()
    elif mode == "spawn":
        from codemode_guest._spawned import main as spawned

        spawned()
    else:
        raise ValueError(f"codemode_guest runs as 'zygote' or 'spawn', not {mode!r}")


if __name__ == "__main__":
    main(sys.argv[1])
