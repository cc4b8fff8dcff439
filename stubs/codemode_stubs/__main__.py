"""`python -m codemode_stubs FILE...`: what the stubs of some MCP servers cost beside the schemas that they replace.

A FILE holds tools as MCP lists them: `{"server": ..., "tools": [{"name", "inputSchema", "outputSchema"?, ...}]}` as
JSON, or one such object a line (`.jsonl`), either gzipped (`.gz`). Prints a table of characters and ratios.
"""

from __future__ import annotations

import sys

from ._cost import cost_table, read_servers


def main(arguments: list[str]) -> int:
    """Prints the table; 2 if there is nothing to read."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    print(cost_table(server for path in arguments for server in read_servers(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
