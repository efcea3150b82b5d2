"""A case of a file of vectors as a request, its keys and its clock."""

import base64

from strict import digits, json_value, need, rfc3339_ms


class Request:
    def __init__(self, case):
        self.case = case
        self.method = case.get("method") or "POST"
        self.url = case.get("url") or ""
        self.body = base64.b64decode(case["bodyBase64"])
        self.extra = case.get("extra") or {}
        self.headers = {}
        for name, value in case["headers"].items():
            values = value if isinstance(value, list) else [value]
            # one character a byte, as headers are on the wire
            self.headers.setdefault(name.lower(), []).extend(v.encode("utf-8").decode("latin-1") for v in values)

    def keys(self):
        """Bytes of every usable secret: an empty, blank or all-zero one is none, since anybody knows it."""
        secret, encoding = self.case["secret"], self.case.get("secretEncoding")
        keys = []
        for text in secret if isinstance(secret, list) else [secret]:
            if not text.strip(" \t\n\v\f\r"):
                continue
            if encoding == "hex":
                need(len(text) % 2 == 0 and all(c in "0123456789abcdefABCDEF" for c in text))
                keys.append(bytes.fromhex(text))
            elif encoding == "base64":
                keys.append(base64.b64decode(text))
            else:
                keys.append(text.encode("utf-8"))
        keys = [key for key in keys if any(key)]
        need(keys)
        return keys

    def text_key(self):
        """What is no secret."""
        secret = self.case["secret"]
        need(secret)
        return secret[0] if isinstance(secret, list) else secret

    def text_keys(self):
        """Public keys, as people copy them."""
        secret = self.case["secret"]
        return [text.strip() for text in (secret if isinstance(secret, list) else [secret])]

    def header(self, name):
        """There, once, and not empty."""
        values = self.headers.get(name, [])
        need(len(values) == 1 and values[0] != "")
        return values[0]

    def has(self, name):
        return name in self.headers

    def json(self):
        return json_value(self.body)

    def path(self):
        """Path and query as in the URL."""
        rest = self.url.split("://", 1)[-1]
        slash = rest.find("/")
        return (rest[slash:] if slash >= 0 else "/").split("#")[0]

    def check_time(self, text, unit, default_tolerance):
        """Both into the past and into the future, counted in the unit of the timestamp. Without a clock only the form counts."""
        stamp = rfc3339_ms(text) if unit == "rfc3339" else digits(text) * (1000 if unit == "s" else 1)
        now, tolerance = self.case.get("now"), self.case.get("toleranceSec", default_tolerance)
        if now is not None and tolerance:
            need(abs(now * 1000 - stamp) <= tolerance * 1000)
