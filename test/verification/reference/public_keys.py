"""Checks of signatures with a public key, from their definitions, with Python's own integers."""

import base64
import hashlib
from datetime import datetime, timezone

from strict import base64url_bytes, need

# ---- DER (X.690), as much of it as keys, signatures and certificates need


class Der:
    def __init__(self, data):
        self.data, self.at = data, 0

    def next(self, tag=None):
        """Tag and content of the next element."""
        need(self.at + 2 <= len(self.data))
        found, length, self.at = self.data[self.at], self.data[self.at + 1], self.at + 2
        if length >= 0x80:
            size = length & 0x7F
            need(1 <= size <= 4 and self.at + size <= len(self.data))
            length = int.from_bytes(self.data[self.at : self.at + size], "big")
            need(length >= (0x80 if size == 1 else 1 << 8 * (size - 1)))
            self.at += size
        need(self.at + length <= len(self.data) and tag in (None, found))
        content, self.at = self.data[self.at : self.at + length], self.at + length
        return found, content

    def sequence(self):
        return Der(self.next(0x30)[1])

    def integer(self):
        """Positive and in as few bytes as possible."""
        content = self.next(0x02)[1]
        need(content and content[0] < 0x80 and not (len(content) > 1 and content[0] == 0 and content[1] < 0x80))
        return int.from_bytes(content, "big")

    def end(self):
        need(self.at == len(self.data))


# ---- ECDSA on P-256 (FIPS 186-5, section 6.4.2; SEC 2 for the numbers)

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
A = P - 3
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
SPKI_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")


def on_p256(x, y):
    return x < P and y < P and (y * y - (x * x * x + A * x + B)) % P == 0


def p256_add(one, other):
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2:
        if (y1 + y2) % P == 0:
            return None
        slope = (3 * x1 * x1 + A) * pow(2 * y1, -1, P) % P
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, P) % P
    x3 = (slope * slope - x1 - x2) % P
    return x3, (slope * (x1 - x3) - y1) % P


def p256_times(factor, point):
    total = None
    while factor:
        if factor & 1:
            total = p256_add(total, point)
        point, factor = p256_add(point, point), factor >> 1
    return total


def ecdsa_p256(key, r, s, message):
    need(0 < r < N and 0 < s < N)
    inverse = pow(s, -1, N)
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    point = p256_add(p256_times(digest * inverse % N, G), p256_times(r * inverse % N, key))
    need(point is not None and point[0] % N == r)


def p256_from_spki(der):
    """Uncompressed points only (RFC 5480, section 2.2)."""
    need(len(der) == 91 and der.startswith(SPKI_P256) and der[26] == 4)
    x, y = int.from_bytes(der[27:59], "big"), int.from_bytes(der[59:], "big")
    need(on_p256(x, y))
    return x, y


def p256_from_jwk(jwk):
    need(jwk.get("kty") == "EC" and jwk.get("crv") == "P-256")
    x, y = (int.from_bytes(base64url_bytes(jwk.get(name, "")), "big") for name in ("x", "y"))
    need(on_p256(x, y))
    return x, y


def der_signature(signature):
    outer = Der(signature)
    pair = outer.sequence()
    outer.end()
    r, s = pair.integer(), pair.integer()
    pair.end()
    return r, s


# ---- Ed25519 (RFC 8032, section 5.1.7, without the cofactor, as OpenSSL has it)

Q = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, Q) % Q
ROOT = pow(2, (Q - 1) // 4, Q)


def ed_point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, Q) % Q
    x = pow(square, (Q + 3) // 8, Q)
    if (x * x - square) % Q:
        x = x * ROOT % Q
    need((x * x - square) % Q == 0 and not (x == 0 and sign))
    if x & 1 != sign:
        x = Q - x
    return x, y % Q, 1, x * y % Q


def ed_add(one, other):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = one, other
    a, b = (y1 - x1) * (y2 - x2) % Q, (y1 + x1) * (y2 + x2) % Q
    c, d = 2 * t1 * t2 * D % Q, 2 * z1 * z2 % Q
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % Q, g * h % Q, f * g % Q, e * h % Q


def ed_times(factor, point):
    total = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            total = ed_add(total, point)
        point, factor = ed_add(point, point), factor >> 1
    return total


def ed_bytes(point):
    x, y, z, _ = point
    inverse = pow(z, -1, Q)
    x, y = x * inverse % Q, y * inverse % Q
    return (y | (x & 1) << 255).to_bytes(32, "little")


ED_BASE = ed_point(bytes([0x58]) + bytes([0x66]) * 31)


def ed25519(key, signature, message):
    need(len(key) == 32 and len(signature) == 64)
    x, y, z, t = ed_point(key)
    s = int.from_bytes(signature[32:], "little")
    need(s < L)
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    found = ed_add(ed_times(s, ED_BASE), ed_times(k, (Q - x, y, z, Q - t)))
    need(ed_bytes(found) == signature[:32])


# ---- RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2)

DIGEST_INFO = {
    "sha1": bytes.fromhex("3021300906052b0e03021a05000414"),
    "sha256": bytes.fromhex("3031300d060960864801650304020105000420"),
}


def rsa(key, algorithm, signature, message):
    modulus, exponent = key
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    need(len(signature) == size and number < modulus)
    tail = b"\0" + DIGEST_INFO[algorithm] + hashlib.new(algorithm, message).digest()
    expected = b"\0\1" + b"\xff" * (size - 2 - len(tail)) + tail
    need(pow(number, exponent, modulus).to_bytes(size, "big") == expected)


RSA_OID = bytes.fromhex("2a864886f70d010101")


def rsa_from_certificate(pem):
    """Key, and the time it is good for in Unix seconds (RFC 5280)."""
    lines = pem.strip().splitlines()
    need(lines[0] == "-----BEGIN CERTIFICATE-----" and "-----END CERTIFICATE-----" in lines)
    body = lines[1 : lines.index("-----END CERTIFICATE-----")]
    certificate = Der(base64.b64decode("".join(body))).sequence().sequence()
    tag, _ = certificate.next()
    if tag == 0xA0:  # version, and then the serial number
        certificate.next(0x02)
    certificate.next(0x30)  # algorithm
    certificate.next(0x30)  # issuer
    validity = certificate.sequence()
    times = [time_of(*validity.next()), time_of(*validity.next())]
    certificate.next(0x30)  # subject
    spki = certificate.sequence()
    need(spki.sequence().next(0x06)[1] == RSA_OID)
    bits = spki.next(0x03)[1]
    need(bits[0] == 0)
    numbers = Der(bits[1:]).sequence()
    return (numbers.integer(), numbers.integer()), times


def time_of(tag, content):
    text = content.decode("ascii")
    if tag == 0x17:
        text = ("20" if int(text[:2]) < 50 else "19") + text
    moment = datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=timezone.utc)
    return moment.timestamp()
