"""Identifiers, hashes and addresses: uuid, secrets, hashlib, hmac, urllib.parse."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import urllib.parse
import uuid
from typing import Any

from .._names import words
from ._pick import Members, pick


def _new_hmac(key: Any, msg: Any = None, digestmod: Any = "") -> hmac.HMAC:
    """`hmac.new`, with the hash by name or as a function of the hashlib facade."""
    if not digestmod:
        raise TypeError("Missing required argument 'digestmod'.")
    name = digestmod if type(digestmod) is str else _HASH_NAMES.get(digestmod)
    if name is None:
        raise TypeError("digestmod must be the name of a hash, such as 'sha256'")
    return hmac.new(key, msg, name)


def _hmac_digest(key: Any, msg: Any, digest: Any) -> bytes:
    return _new_hmac(key, msg, digest).digest()


def _new_hash(name: Any, data: Any = b"", *, usedforsecurity: bool = True) -> Any:
    """`hashlib.new`, for the hashes that are listed."""
    if type(name) is not str or name.lower().replace("-", "_") not in _HASHES:
        raise ValueError(f"unsupported hash type {name}")
    return getattr(hashlib, name.lower().replace("-", "_"))(data)


_HASHES = words(
    """
    md5 sha1 sha224 sha256 sha384 sha512 sha3_224 sha3_256 sha3_384 sha3_512 shake_128 shake_256 blake2b blake2s
    """
)
_HASH_NAMES: dict[Any, str] = {getattr(hashlib, name): name for name in _HASHES}


def modules() -> dict[str, Members]:
    """The shared facades of this family."""
    return {
        "uuid": pick(
            uuid,
            """NAMESPACE_DNS NAMESPACE_OID
            NAMESPACE_URL NAMESPACE_X500 RESERVED_FUTURE RFC_4122 UUID uuid3 uuid4 uuid5""",
        ),
        "secrets": pick(secrets, "choice compare_digest randbelow randbits token_bytes token_hex token_urlsafe"),
        "hashlib": pick(
            hashlib,
            """blake2b blake2s md5 pbkdf2_hmac sha1 sha224 sha256 sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512
            shake_128 shake_256""",
            new=_new_hash,
            algorithms_guaranteed=_HASHES,
            algorithms_available=_HASHES,
        ),
        "hmac": pick(hmac, "compare_digest", new=_new_hmac, digest=_hmac_digest),
        "urllib.parse": pick(
            urllib.parse,
            """parse_qs parse_qsl quote quote_from_bytes quote_plus unquote unquote_plus unquote_to_bytes urldefrag
            urlencode urljoin urlparse urlsplit urlunparse urlunsplit""",
        ),
        "urllib": {},
    }
