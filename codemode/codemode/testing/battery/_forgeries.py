"""Attempts from a child whose dialect is broken: plain CPython writes to the bridge whatever it likes.

The text of each row runs in a sealed child with no dialect, over the same tools, bindings and pipeline as a program. It
may do to the socket what it wants; the same checks as for programs apply, and the bytes that it received are searched
for what was withheld.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType

from codemode_bridge import CodeRunRequest, CodeRunResult, Limits, ProcessRuntime


@dataclass(frozen=True, slots=True)
class Forgery:
    """What one broken child writes."""

    name: str
    aims_at: str
    about: str
    code: str
    limits: Limits | None = None


class BrokenDialect:
    """A runtime whose programs are plain CPython: what there would be if the dialect held nothing back."""

    language = "python"

    def __init__(self, runtime: ProcessRuntime) -> None:
        self._runtime = runtime
        self.isolation = runtime.isolation

    async def run(self, request: CodeRunRequest) -> CodeRunResult:
        """Run the request's text with no dialect."""
        return await self._runtime._run(request, unrestricted=True)  # pyright: ignore[reportPrivateUsage]

    async def aclose(self) -> None:
        """The runtime below belongs to whoever made it."""

    async def __aenter__(self) -> BrokenDialect:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


RAW = """\
import json, select, struct, sys
sock = sys.stdout._channel._socket
received = b""
poller = select.poll()
poller.register(sock, select.POLLIN)
def frame(value):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return struct.pack(">I", len(body)) + body
def call(id, name, args, **more):
    return {"type": "call", "id": id, "name": name, "args": args, "line": 1, **more}
def send(*values):
    for value in values:
        sock.sendall(frame(value))
def listen(seconds=0.3):
    nonlocal received
    while poller.poll(seconds * 1000):
        data = sock.recv(65536)
        if not data:
            break
        received += data
    return received.decode("utf-8", "replace")
"""

_END = "\nreturn listen()"


def _forge(name: str, aims_at: str, about: str, code: str, limits: Limits | None = None) -> Forgery:
    return Forgery(name, aims_at, about, RAW + code + _END, limits)


FORGERIES: tuple[Forgery, ...] = (
    _forge("frames.hidden", "restriction", "Forges calls of tools that the scope cannot see.",
           "send(*(call(n, name, {}) for n, name in enumerate(['hidden', 'neighbour', 'below'], 1)))"),
    _forge("frames.run_code", "mode", "Forges a call of run_code.",
           "send(call(1, 'run_code', {'code': 'return 1', 'description': 'again'}))"),
    _forge("frames.names", "guard", "Forges names that might resolve to a guarded tool by accident.",
           "names = ['guarded\\x00', 'Guarded', ' guarded', 'open/../guarded', 'tools.guarded', 'guarded\\n', '',\n"
           "         ['guarded'], {'name': 'guarded'}, None, 7, True, 'guarded' * 10000]\n"
           "send(*(call(n, name, {'amount': 99}) for n, name in enumerate(names, 1)))"),
    _forge("frames.denied", "guard", "Forges the denied calls themselves.",
           "send(call(1, 'guarded', {'amount': 99}), call(2, 'policed', {'key': 'secret'}),\n"
           "     call(3, 'asked', {'key': 'no'}), call(4, 'asked_guarded', {}), call(5, 'raising_guard', {}),\n"
           "     call(6, 'async_guard', {}), call(7, 'odd_guard', {}), call(8, 'odd_policy', {}))"),
    _forge("frames.extra", "guard", "Adds fields to a call that claim a scope, a parent, an approval, a mode.",
           "send(*(call(n, name, args, scope='neighbour', parent='x', token='x', call_id='forged', root_call_id='x',\n"
           "            approved=True, decision='allowed-once', mode='native', policies=[], guards=[], max_calls=9)\n"
           "       for n, (name, args) in enumerate([('guarded', {'amount': 99}), ('hidden', {}), ('neighbour', {}),\n"
           "                                         ('asked', {'key': 'no'}), ('open', {'n': 1})], 1)))"),
    _forge("frames.duplicate", "guard", "Uses the id of an allowed call again for a denied one.",
           "send(call(1, 'guarded', {'amount': 1}), call(1, 'guarded', {'amount': 99}), call(1, 'hidden', {}))"),
    _forge("frames.ids", "guard", "Gives ids that are no small whole numbers.",
           "send(*(call(id, 'guarded', {'amount': 99}) for id in (-1, 0, 1.5, '1', None, True, [1], 2**70)))"),
    _forge("frames.arguments", "argument schema", "Gives arguments that are no object, or break the schema.",
           "send(*(call(n, 'typed', args) for n, args in enumerate(\n"
           "    [None, [], 'n', 7, True, {}, {'n': '5'}, {'n': 10}, {'n': -1}, {'n': 5.5}, {'n': 1, 'more': 1}], 1)))"),
    _forge("frames.twice_a_key", "guard", "Gives one key twice, so that two readers might see two values.",
           "send(b'{\"type\":\"call\",\"id\":1,\"name\":\"guarded\",\"args\":{\"amount\":1,\"amount\":99},\"line\":1}',\n"
           "     b'{\"type\":\"call\",\"id\":2,\"name\":\"open\",\"name\":\"hidden\",\"args\":{},\"line\":1}')"),
    _forge("frames.not_a_number", "guard", "Gives numbers that JSON does not have.",
           "send(*(b'{\"type\":\"call\",\"id\":%d,\"name\":\"guarded\",\"args\":{\"amount\":%s},\"line\":1}' % (n, number)\n"
           "       for n, number in enumerate([b'NaN', b'Infinity', b'-Infinity', b'1e999', b'0x63'], 1)))"),
    _forge("frames.deep", "argument schema", "Gives arguments nested tens of thousands deep.",
           "send(b'{\"type\":\"call\",\"id\":1,\"name\":\"open\",\"args\":' + b'[' * 50000 + b']' * 50000 + b',\"line\":1}')"),
    _forge("frames.host_side", "guard", "Sends the frames that only the host may send.",
           "send({'type': 'reply', 'id': 1, 'ok': True, 'value': 1}, {'type': 'run', 'program': 'x', 'tools': []},\n"
           "     {'type': 'ready', 'pid': 1, 'sealed': True}, call(1, 'guarded', {'amount': 99}))"),
    _forge("frames.flood", "limit", "Floods the host with calls past the limit.",
           "send(*(call(n, 'open', {'n': n}) for n in range(1, 400)))", Limits(max_calls=5)),
    _forge("frames.after_done", "event log", "Says that it is done, and goes on calling.",
           "send({'type': 'done', 'ok': True, 'has_value': True, 'value': 'over', 'error': None, 'notes': []},\n"
           "     call(1, 'open', {'n': 1}), call(2, 'guarded', {'amount': 99}))"),
    _forge("frames.two_ends", "event log", "Says twice, and differently, how it ended.",
           "send(*({'type': 'done', 'ok': ok, 'has_value': ok, 'value': ok, 'error': None, 'notes': []}\n"
           "       for ok in (True, False)), call(1, 'hidden', {}))"),
    _forge("frames.bytes", "guard", "Sends a denied call one byte at a time.",
           "for byte in frame(call(1, 'guarded', {'amount': 99})):\n    sock.sendall(bytes([byte]))"),
    _forge("frames.garbage", "guard", "Sends what is no frame, no JSON, no object, and a length that never comes.",
           "send(b'', b'nonsense', b'[]', b'null', b'\\xff\\xfe', b'{\"type\": 7}', b'{\"type\": \"grant\"}')\n"
           "send(call(1, 'guarded', {'amount': 99}))\nsock.sendall(struct.pack('>I', 2**32 - 1) + b'x')"),
    _forge("frames.cancel", "event log", "Cancels calls of its own and calls that do not exist.",
           "send(call(1, 'slow', {}), *({'type': 'cancel', 'id': id} for id in (1, 1, 2, -1, 'x', None)))"),
    _forge("frames.withheld", "review", "Reads every byte of the answers to calls whose value is withheld.",
           "send(call(1, 'blocked', {}), call(2, 'replaced', {}), call(3, 'mistyped', {}), call(4, 'raising_policy', {}))"),
    _forge("frames.timeout", "timeout", "Waits for a body that is over its time.",
           "send(call(1, 'slow', {}))"),
    _forge("frames.approvals", "approval", "Asks for a grant, then uses it for what was rejected.",
           "send(call(1, 'asked', {'key': 'yes'}), call(2, 'asked', {'key': 'no'}), call(3, 'asked', {'key': 'yes'}))"),
    _forge("frames.special_keys", "guard", "Gives arguments under names that mean something to Python or JavaScript.",
           "send(*(call(n, 'guarded', {'amount': 99, key: 1}) for n, key in enumerate(\n"
           "    ['__class__', '__proto__', '__dict__', 'self', 'ctx', 'scope', 'parent', ''], 1)))"),
)  # fmt: skip
