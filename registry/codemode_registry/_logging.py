"""The registry's logger: `codemode.registry`, under the standard `logging` module. It never decides anything."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("codemode.registry")
