"""Strict decoding of what stands in headers and bodies. Standard library only."""

import base64
import json
import re
from datetime import datetime, timedelta, timezone


class Refused(Exception):
    """The request is not believed."""


def need(condition):
    if not condition:
        raise Refused


def identity(text, extra=""):
    """An id in the signed content: nothing that could be the border to its neighbour, or the beginning of a body of JSON."""
    need(0 < len(text) <= 256 and all(c.isascii() and (c.isalnum() or c in "_-" + extra) for c in text))
    return text.encode()


def hex_bytes(text, size, any_case=False):
    need(len(text) == 2 * size and re.fullmatch("[0-9a-fA-F]+" if any_case else "[0-9a-f]+", text))
    return bytes.fromhex(text)


def base64_bytes(text, size=None):
    """RFC 4648 section 4: padded, and the one way to write these bytes."""
    need(len(text) % 4 == 0 and re.fullmatch("[A-Za-z0-9+/]+={0,2}", text))
    decoded = base64.b64decode(text)
    need(base64.b64encode(decoded).decode() == text and size in (None, len(decoded)))
    return decoded


def base64url_bytes(text):
    """RFC 7515 section 2: without padding."""
    need(re.fullmatch("[A-Za-z0-9_-]*", text) and len(text) % 4 != 1)
    decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    need(base64.urlsafe_b64encode(decoded).decode().rstrip("=") == text)
    return decoded


def digits(text):
    need(re.fullmatch("[0-9]{1,15}", text))
    return int(text)


RFC3339 = r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})"


def rfc3339_ms(text):
    match = re.fullmatch(RFC3339, text)
    need(match)
    *date, fraction, zone = match.groups()
    offset = timedelta()
    if zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        need(hours <= 23 and minutes <= 59)
        offset = timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
    try:
        moment = datetime(*(int(part) for part in date), tzinfo=timezone.utc) - offset
    except (ValueError, OverflowError):
        raise Refused
    whole = int((moment - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds())
    return whole * 1000 + int(((fraction or ".0")[1:] + "000")[:3])


def no_constant(_name):
    raise ValueError


def json_value(body):
    """RFC 8259. A byte order mark is passed over; bytes that are not UTF-8 are refused."""
    try:
        text = body.decode("utf-8")
        return json.loads(text[1:] if text.startswith("\ufeff") else text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise Refused


def member(value, *names, kind=str):
    for name in names:
        need(isinstance(value, dict) and name in value)
        value = value[name]
    need(isinstance(value, kind) and not (kind is int and isinstance(value, bool)))
    return value


def utf8(text):
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair: JSON may hold it, no text in UTF-8 does
        return text.encode("utf-8", "replace")
