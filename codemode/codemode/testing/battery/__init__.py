"""The bypass battery: proof, for your own registry, that code mode cannot get around its rules.

Two halves. `_own` derives its attempts from what is registered (tools, guards, policies, restrictions, reviews) and
holds what programs get against what direct calls get. `_pipeline` makes some eighty attempts on a registry whose rules
are known to the last detail: from programs in the dialect (`_programs`), from children whose dialect is broken and that
forge frames (`_forgeries`), and from the host's side (`_host`). What really ran is written down by the bodies
themselves (`_ledger`), so the verdict never rests on the pipeline's own word.
"""

from codemode.testing.battery._battery import bypass_battery
from codemode.testing.battery._report import BatteryReport, Finding, Verdict

__all__ = ["BatteryReport", "Finding", "Verdict", "bypass_battery"]
