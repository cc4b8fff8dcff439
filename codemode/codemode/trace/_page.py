"""One HTML file that shows a trace, needs no network, and trusts nothing of what it shows.

How it is safe: the log's content travels as JSON in a script element that no browser executes, with every character
that could end that element (or confuse a parser) escaped; the page's own script puts it on screen through text nodes
only. A Content-Security-Policy names the hashes of our own script and style and forbids everything else, so even a
mistake of ours could load nothing and run nothing. The assets are the three files in `assets/`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import fields, is_dataclass
from importlib.resources import files
from typing import Any, cast

from codemode.trace._model import Trace

# What may not stand raw inside <script type="application/json">: "<" could open "</script" or "<!--"; the two
# separators end a line in old JavaScript parsers. JSON has its own spelling for each of them.
_UNSAFE_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def render_page(trace: Trace, *, title: str = "codemode trace") -> str:
    """Render a trace as one self-contained HTML page.

    Args:
        trace: what `read_trace` returned.
        title: the page's title; escaped like everything else.

    Returns:
        The HTML text. It makes no request, runs only the script it carries, and is valid without a network.
    """
    assets = files("codemode.trace") / "assets"
    script = (assets / "page.js").read_text("utf-8")
    style = (assets / "page.css").read_text("utf-8")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "@POLICY@": html.escape(policy, quote=True),
        "@TITLE@": html.escape(title, quote=True),
        "@STYLE@": style,
        "@SCRIPT@": script,
        "@DATA@": _embedded_json(trace),
    }
    page = (assets / "page.html").read_text("utf-8")
    # One pass over the template, never over what was put in: data that holds "@SCRIPT@" stays data.
    pieces: list[str] = []
    for line in page.splitlines(keepends=True):
        name = next((name for name in parts if name in line), None)
        pieces.append(line if name is None else line.replace(name, parts[name], 1))
    return "".join(pieces)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded_json(trace: Trace) -> str:
    # ASCII only: a lone surrogate has a JSON spelling but no UTF-8 one, and a log may hold anything.
    return json.dumps(_plain(trace), ensure_ascii=True, separators=(",", ":")).translate(_UNSAFE_IN_SCRIPT)


def _plain(value: Any) -> Any:
    """Dataclasses as objects, tuples as arrays, and integers that JavaScript cannot hold as their digits."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53 - 1:
        return str(value)
    return value
