"""What of a server's configuration must never be seen again, and the one function that takes it out of a text.

Rules
- A configuration brings secrets in `env`, `headers` and in the user info or query of `url`. None of them may reach an
  event, an error, a stub or a log record. Each text that leaves this package passes a `Redactor` first.
- Two sets, because hiding too much is a fault as well. `texts` (errors, descriptions, log records, the last words of a
  dead process) hides every configured value but the plainly harmless ones: switches, numbers, paths, short words.
  `values` (what a tool returned, which is data) hides only what is a secret by its name or its look; a directory or a
  database name in `env` must come back unharmed from a tool that lists directories.
- Pure: no logging set-up here, no I/O. `RedactingFilter` only rewrites the records it is given.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ._json import is_list, is_object

if TYPE_CHECKING:
    from ._config import UpstreamConfig

REPLACEMENT = "[redacted]"

_SHORTEST_SECRET = 6
"""Characters. Shorter values (`1`, `true`, `en_US`) would blank out ordinary words; no issuer hands out such keys."""

_SHORTEST_RANDOM = 16
"""Characters of a value without spaces that has letters and digits mixed: the look of a generated key."""

_SECRET_NAME = re.compile(
    r"key|token|secret|passw|passphrase|credential|auth|cookie|session|private|signature|bearer|dsn|connection", re.I
)
_HARMLESS_HEADERS = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "connection", "content-type", "user-agent"}
)
_HARMLESS_VALUE = re.compile(
    r"true|false|yes|no|on|off|none|null|debug|info|warn|warning|error|critical|verbose|production|development|test|utf-?8"
    r"|[-+0-9.,:]+|(?:/|~/|\./|\.\./|[A-Za-z]:\\).*",
    re.I | re.S,
)


_TOLD_OTHERWISE = "Failed to parse JSONRPC message from server"
"""The SDK's record, a traceback for each line that a server prints by mistake."""


class Redactor:
    """Takes the secrets of some servers out of texts and JSON values.

    Args:
        texts: what may stand in no message.
        values: what may not even stand in data; a subset of `texts` in practice.
    """

    __slots__ = ("_text_pattern", "_value_pattern")

    def __init__(self, texts: Iterable[str] = (), values: Iterable[str] = ()) -> None:
        narrow = set(values)
        self._text_pattern = _pattern(narrow | set(texts))
        self._value_pattern = _pattern(narrow)

    def text(self, text: str) -> str:
        """`text` without any configured value that is not plainly harmless."""
        return text if self._text_pattern is None else self._text_pattern.sub(REPLACEMENT, text)

    def value(self, value: Any) -> Any:
        """A JSON value, its strings and keys without what is a secret by name or look.

        Untouched parts are handed back as they are, not copied.
        """
        if self._value_pattern is None:
            return value
        return self._walk(value)

    def _walk(self, value: Any) -> Any:
        assert self._value_pattern is not None
        if isinstance(value, str):
            return self._value_pattern.sub(REPLACEMENT, value)
        if is_object(value):
            return {self._walk(key): self._walk(item) for key, item in value.items()}
        if is_list(value):
            return [self._walk(item) for item in value]
        return value


class RedactingFilter(logging.Filter):
    """Rewrites a log record so that the SDK's own messages carry no secret, tracebacks included."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets the record through, after taking the secrets out; what is told as a warning event already is dropped."""
        if record.msg == _TOLD_OTHERWISE:
            return False
        try:
            message = record.getMessage()
        except Exception:  # a record with wrong arguments is the caller's fault; logging reports it itself
            return True
        record.msg, record.args = self._redactor.text(message), None
        if record.exc_info and record.exc_info[0] is not None:
            text = record.exc_text or logging.Formatter().formatException(record.exc_info)
            record.exc_text, record.exc_info = self._redactor.text(text), None
        return True


def redactor_for(configs: Iterable[UpstreamConfig]) -> Redactor:
    """The redactor that knows every secret of `configs`."""
    texts: set[str] = set()
    values: set[str] = set()
    for config in configs:
        for name, value, certain in _candidates(config):
            secret = value.strip()
            if len(secret) < _SHORTEST_SECRET or _HARMLESS_VALUE.fullmatch(secret):
                continue
            texts.add(secret)
            if certain or _SECRET_NAME.search(name) or _looks_random(secret):
                values.add(secret)
    return Redactor(texts, values)


def public_url(url: str) -> str:
    """`url` as it may be shown: scheme, host, port and path."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    try:
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        port = ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


def _candidates(config: UpstreamConfig) -> Iterable[tuple[str, str, bool]]:
    """(name, value, certainly a secret) of everything in `config` that could be one."""
    for name, value in config.env.items():
        yield name, value, False
        if "://" in value and (password := _password(value)):
            yield "password", password, True
    yield from _arguments(config.args)
    for name, value in config.headers.items():
        if name.lower() in _HARMLESS_HEADERS:
            continue
        yield name, value, True
        scheme, _, credential = value.partition(" ")
        if credential and scheme.lower() in {"bearer", "basic", "token", "digest"}:
            yield name, credential, True
    if config.url is not None:
        parts = urlsplit(config.url)
        for part in (parts.username, parts.password):
            if part:
                yield "password", part, True
                yield "password", unquote(part), True
        for name, value in parse_qsl(parts.query):
            yield name, value, False


def _arguments(args: Sequence[str]) -> Iterable[tuple[str, str, bool]]:
    """Of a command line only what is a secret by name (`--token X`, `--token=X`) or look; the rest is plain words."""
    flag = ""
    for argument in args:
        name, _, value = argument.partition("=") if "=" in argument else (flag, "", argument)
        if _SECRET_NAME.search(name) or _looks_random(value):
            yield name, value, False
        flag = argument if argument.startswith("-") else ""


def _password(url: str) -> str | None:
    try:
        return urlsplit(url).password
    except ValueError:
        return None


def _looks_random(text: str) -> bool:
    """Whether `text` has the look of a generated key: long, one word, letters and digits."""
    return (
        len(text) >= _SHORTEST_RANDOM
        and not re.search(r"\s", text)
        and "://" not in text
        and bool(re.search(r"[A-Za-z]", text))
        and bool(re.search(r"[0-9]", text))
    )


def _pattern(secrets: set[str]) -> re.Pattern[str] | None:
    """One alternation, longest first, so that a secret that holds another one vanishes whole."""
    if not secrets:
        return None
    spellings = secrets | {json_escaped for secret in secrets for json_escaped in _escaped(secret)}
    return re.compile("|".join(re.escape(secret) for secret in sorted(spellings, key=len, reverse=True)))


def _escaped(secret: str) -> tuple[str, ...]:
    """The secret as it stands inside a JSON text or a `repr`."""
    return (secret.replace("\\", "\\\\").replace('"', '\\"'), repr(secret)[1:-1])
