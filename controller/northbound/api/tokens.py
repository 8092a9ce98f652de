"""Access tokens: made here, shown once, kept as salted hashes.

A token is ``oc_<id>_<secret>``. The secret has 256 random bits, so that one salted SHA-256 is enough: nothing can be
guessed, and checking a token costs microseconds.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

PREFIX = "oc"
ID_BYTES, SECRET_BYTES, SALT_BYTES = 6, 32, 16
FORM = re.compile(rf"{PREFIX}_([0-9a-f]{{{2 * ID_BYTES}}})_([0-9a-f]{{{2 * SECRET_BYTES}}})")

KEPT = re.compile(rf"sha256\$([0-9a-f]{{{2 * SALT_BYTES}}})\$[0-9a-f]{{64}}")


@dataclass(frozen=True, slots=True)
class Made:
    """`text` is for the user and is kept nowhere; `id` and `hash` are for the store."""

    id: str
    text: str
    hash: str


def make(identifier: str | None = None) -> Made:
    """A new token, with a random id unless one is given."""
    identifier, secret = identifier or secrets.token_hex(ID_BYTES), secrets.token_hex(SECRET_BYTES)
    return Made(identifier, f"{PREFIX}_{identifier}_{secret}", _hash(secret, secrets.token_hex(SALT_BYTES)))


def split(text: str) -> tuple[str, str] | None:
    """Id and secret of a token's text; None for what is no token."""
    match = FORM.fullmatch(text)
    return (match[1], match[2]) if match else None


def fits(secret: str, kept: str) -> bool:
    """Whether a secret is the one of the hash that was kept."""
    match = KEPT.fullmatch(kept)
    return match is not None and hmac.compare_digest(_hash(secret, match[1]), kept)


def _hash(secret: str, salt: str) -> str:
    return f"sha256${salt}${hashlib.sha256(bytes.fromhex(salt) + secret.encode()).hexdigest()}"
