"""Text and data formats: string, textwrap, re, json, csv, html, base64, difflib, unicodedata, struct, io, ast."""

from __future__ import annotations

import ast
import base64
import binascii
import csv
import difflib
import html
import io
import json
import re
import string
import struct
import textwrap
import unicodedata
from typing import Any, Final

from .._guards import guarded_getattr
from .._types_seen import opaque_type
from .._user_types import SHARED_CLASSES, UserType, is_user_class
from ._pick import Members, only, pick

_DUMPS: Final = frozenset(
    ["skipkeys", "ensure_ascii", "check_circular", "allow_nan", "indent", "separators", "default", "sort_keys", "cls"]
)
_LOADS: Final = frozenset(["object_hook", "parse_float", "parse_int", "parse_constant", "object_pairs_hook"])


def _encoder_init(self: Any, **options: Any) -> None:
    only("JSONEncoder", options, _DUMPS - {"cls"})
    self._options = options


def _encoder_default(self: Any, value: Any) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _encoder_encode(self: Any, value: Any) -> str:
    options = dict(self._options)
    options.setdefault("default", self.default)
    return json.dumps(value, **options)


JSON_ENCODER: Final[Any] = UserType(
    "JSONEncoder",
    (),
    {
        "__init__": _encoder_init,
        "default": _encoder_default,
        "encode": _encoder_encode,
        "__module__": "json.encoder",
    },
)
"""`json.JSONEncoder` as a class that programs may inherit from."""
SHARED_CLASSES.add(JSON_ENCODER)


def dumps(value: Any, **options: Any) -> str:
    """`json.dumps`; `cls` must be a class under our JSONEncoder."""
    if not options:
        return json.dumps(value)
    only("dumps", options, _DUMPS)
    encoder: Any = options.pop("cls", None)
    if encoder is None:
        return json.dumps(value, **options)
    if not is_user_class(encoder) or not issubclass(encoder, JSON_ENCODER):
        raise TypeError("cls must be a class that inherits from json.JSONEncoder; or use default=function")
    made: Any = encoder(**options)
    text: str = made.encode(value)
    return text


def dump(value: Any, file: Any, **options: Any) -> None:
    """`json.dump`."""
    guarded_getattr(file, "write")(dumps(value, **options))


def loads(text: Any, **options: Any) -> Any:
    """`json.loads`."""
    if not options:
        return json.loads(text)
    only("loads", options, _LOADS)
    return json.loads(text, **options)


def load(file: Any, **options: Any) -> Any:
    """`json.load`."""
    return loads(guarded_getattr(file, "read")(), **options)


def literal_eval(text: Any) -> Any:
    """`ast.literal_eval`, of text only."""
    if type(text) is not str:
        raise TypeError("literal_eval() takes a string in programs")
    return ast.literal_eval(text)


def modules() -> dict[str, Members]:
    """The shared facades of this family."""
    return {
        "string": pick(
            string,
            """Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable
            punctuation whitespace""",
        ),
        "textwrap": pick(textwrap, "dedent fill indent shorten wrap"),
        "re": pick(
            re,
            """A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE NOFLAG PatternError RegexFlag S U UNICODE VERBOSE X
            compile error escape findall finditer fullmatch match purge search split sub subn""",
            Pattern=opaque_type(re.Pattern),
            Match=opaque_type(re.Match),
        ),
        "json": {
            "dumps": dumps,
            "dump": dump,
            "loads": loads,
            "load": load,
            "JSONDecodeError": json.JSONDecodeError,
            "JSONEncoder": JSON_ENCODER,
        },
        "csv": pick(
            csv,
            """DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC QUOTE_NOTNULL
            QUOTE_STRINGS reader writer""",
        ),
        "html": pick(html, "escape unescape"),
        "base64": pick(
            base64,
            """a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode b64decode b64encode
            b85decode b85encode decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode
            urlsafe_b64encode""",
        ),
        "binascii": pick(binascii, "Error Incomplete a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 hexlify unhexlify"),
        "difflib": pick(
            difflib,
            """Differ SequenceMatcher context_diff get_close_matches ndiff restore unified_diff""",
        ),
        "unicodedata": pick(
            unicodedata,
            """bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup
            mirrored name normalize numeric unidata_version""",
        ),
        "struct": pick(struct, "Struct calcsize error iter_unpack pack unpack unpack_from"),
        "io": pick(io, "BytesIO SEEK_CUR SEEK_END SEEK_SET StringIO UnsupportedOperation"),
        "ast": {"literal_eval": literal_eval},
    }
