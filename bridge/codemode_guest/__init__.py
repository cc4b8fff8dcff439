"""The child's end of code mode: the zygote, the seal, the dialect and the program's runner.

Imports the standard library and RestrictedPython only. The host starts it (`python -I -S`, see `__main__`) and speaks
to it over a socket; nothing here is meant to be imported by a host's own code, so nothing is exported.
"""

from __future__ import annotations

__all__: list[str] = []
