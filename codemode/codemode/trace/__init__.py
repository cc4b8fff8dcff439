"""A run, seen afterwards: from an event log to a tree in the terminal or one self-contained HTML page.

Nothing here is needed to run a program, and nothing of a log is trusted: the page escapes all of it.
"""

from codemode.trace._model import Approval, Run, SubCall, Trace, read_trace
from codemode.trace._page import render_page
from codemode.trace._tree import render_tree

__all__ = ["Approval", "Run", "SubCall", "Trace", "read_trace", "render_page", "render_tree"]
