"""Schemes that sign more than bytes in a row, each from its provider's document."""

import base64
import hashlib
import re
import zlib
from urllib.parse import parse_qsl, quote

from public_keys import (
    der_signature,
    ecdsa_p256,
    ed25519,
    p256_from_jwk,
    p256_from_spki,
    rsa,
    rsa_from_certificate,
)
from schemes import digest, matches, plain, same
from strict import Refused, base64_bytes, base64url_bytes, hex_bytes, identity, json_value, member, need, utf8

# ---- Standard Webhooks


def standard_webhooks(request):
    svix = not request.has("webhook-signature") and request.has("svix-signature")
    name = "svix-" if svix else "webhook-"
    stamp, message = request.header(name + "timestamp"), identity(request.header(name + "id"), "~:/+=@|")
    items = request.header(name + "signature").split(" ")
    need(len(items) <= 20 and all(item.count(",") <= 1 for item in items))
    request.check_time(stamp, "s", 300)
    content = b".".join([message, stamp.encode(), request.body])
    for key in request.keys():
        text = key.decode("latin-1")
        public = text.startswith("whpk_")
        raw = loose_base64(text[5:] if public else re.sub("^(v1,)?whsec_", "", text))
        version, size = ("v1a,", 64) if public else ("v1,", 32)
        for item in items:
            try:
                need(any(raw) and item.startswith(version))
                signature = base64_bytes(item[len(version) :], size)
                if public:
                    return ed25519(raw, signature, content)
                if same(signature, digest(raw, "sha256", content)):
                    return None
            except Refused:
                pass
    raise Refused


def loose_base64(text):
    """Of an operator's secret: padding may be missing."""
    if not re.fullmatch("[A-Za-z0-9+/]+={0,2}", text):
        return b""
    text = text.rstrip("=")
    return base64.b64decode(text[: len(text) - (len(text) % 4 == 1)] + "=" * (-len(text) % 4))


# ---- Twilio


def utf16(text):
    return text.encode("utf-16-be", "surrogatepass")


def twilio(request):
    """URL and, sorted, the name and value of each parameter of a form; or the URL alone, with the hash of the body in it."""
    query = parse_qsl(request.url.partition("?")[2].partition("#")[0], keep_blank_values=True)
    hashes = [value for name, value in query if name == "bodySHA256"]
    signed = ""
    if hashes:
        need(len(hashes) == 1 and hashes[0] == hashlib.sha256(request.body).hexdigest())
    else:
        kind = (request.headers.get("content-type") or [""])[0].split(";")[0].strip().lower()
        need(not request.body or kind == "application/x-www-form-urlencoded")
        need(request.body.count(b"&") < 1000)
        pairs = set(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
        ordered = sorted(pairs, key=lambda pair: (utf16(pair[0]), utf16(pair[1])))
        signed = "".join(name + value for name, value in ordered)
    signature = base64_bytes(request.header("x-twilio-signature"), 20)
    keys = request.keys()
    for url in twilio_urls(request.url):
        if any(same(signature, digest(key, "sha1", utf8(url + signed))) for key in keys):
            return
    raise Refused


def twilio_urls(url):
    """As it is, with its scheme's port, and without a port: Twilio is not of one mind."""
    match = re.fullmatch(r"(https?)://([^/?#]*?)(:[0-9]+)?([/?#].*)?", url, re.S)
    if not match:
        return [url]
    scheme, host, port, rest = match.groups()
    other = "" if port else (":443" if scheme == "https" else ":80")
    return [url, f"{scheme}://{host}{other}{rest or ''}"]


# ---- HubSpot v3

ESCAPES = {"3A": ":", "2F": "/", "3F": "?", "40": "@", "21": "!", "24": "$", "27": "'", "28": "(", "29": ")"} | {
    "2A": "*",
    "2C": ",",
    "3B": ";",
}


def hubspot(request):
    stamp = request.header("x-hubspot-request-timestamp")
    request.check_time(stamp, "ms", 300)
    signature = base64_bytes(request.header("x-hubspot-signature-v3"), 32)
    unescaped = re.sub("%([0-9A-Fa-f]{2})", lambda m: ESCAPES.get(m[1].upper(), m[0]), request.url)
    for url in (request.url, unescaped):
        content = [request.method.encode(), utf8(url), request.body, stamp.encode()]
        if any(same(signature, digest(key, "sha256", *content)) for key in request.keys()):
            return
    raise Refused


# ---- Box: two keys, each for its own header


def box(request):
    need(request.header("box-signature-version") == "1" and request.header("box-signature-algorithm") == "HmacSHA256")
    stamp = request.header("box-delivery-timestamp")
    request.check_time(stamp, "rfc3339", 600)
    secrets = request.case["secret"]
    secrets = secrets if isinstance(secrets, list) else [secrets]
    names = ("box-signature-primary", "box-signature-secondary")
    need(all(len(request.headers.get(name, [])) <= 1 for name in names))
    for place, secret in enumerate(secrets):
        for name in names[place : place + 1] or names:  # a third key is a former one of either
            try:
                need(secret.strip())
                signature = base64_bytes(request.header(name), 32)
                if same(signature, digest(secret.encode(), "sha256", request.body, stamp.encode())):
                    return
            except Refused:
                pass
    raise Refused


# ---- Adyen

ADYEN_FIELDS = ["pspReference", "originalReference", "merchantAccountCode", "merchantReference"]


def adyen_key(request):
    keys = []
    for key in request.keys() if request.case.get("secretEncoding") == "hex" else [None]:
        need(key)
        keys.append(key)
    return keys


def adyen_text(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    need(isinstance(value, (str, int)))
    return str(value)


def adyen_item(request):
    keys = adyen_key(request)
    items = member(request.json(), "notificationItems", kind=list)
    need(items)
    seen = set()
    for item in items:
        item = member(item, "NotificationRequestItem", kind=dict)
        amount = {} if item.get("amount") is None else member(item, "amount", kind=dict)
        values = [item.get(name) for name in ADYEN_FIELDS]
        values += [amount.get("value"), amount.get("currency"), item.get("eventCode"), item.get("success")]
        signature = base64_bytes(member(item, "additionalData", "hmacSignature"), 32)
        matches([signature], keys, "sha256", utf8(":".join(adyen_text(value) for value in values)))
        need(signature not in seen)
        seen.add(signature)


def adyen_raw(request):
    adyen_key(request)
    plain("hmacsignature", encoding="base64")(request)


# ---- Contentful


def contentful(request):
    stamp = request.header("x-contentful-timestamp")
    request.check_time(stamp, "ms", 30)
    names = request.header("x-contentful-signed-headers").split(",")
    need({"x-contentful-timestamp", "x-contentful-signed-headers"} <= set(names) and len(set(names)) == len(names) <= 64)
    values = {name: request.header(name).strip() for name in names}
    values["x-contentful-signed-headers"] = ",".join(sorted(values))
    headers = ";".join(f"{name}:{values[name]}" for name in sorted(values))
    pathname, _, search = request.path().partition("?")
    search = search.partition("?")[0]
    path = pathname + ("?" + quote(search, safe="-_.!~*'()") if search else "")
    path = quote(path, safe=";,/?:@&=+$#-_.!~*'()")
    signature = hex_bytes(request.header("x-contentful-signature"), 32)
    keys = [key for key in request.keys() if len(key) == 64]
    need(keys)
    matches([signature], keys, "sha256", f"{request.method}\n{path}\n{headers}\n".encode(), request.body)


# ---- Hook0


def hook0(request):
    items = [item.partition("=") for item in request.header("x-hook0-signature").split(",")]
    fields = {}
    for name, mark, value in items:
        need(mark and name not in fields)
        fields[name] = value
    need("t" in fields)
    request.check_time(fields["t"], "s", 300)
    stamp = fields["t"].encode()
    if "v1" in fields:
        need("h" in fields)
        names = fields["h"].split(" ")
        lower = [name.lower() for name in names]
        need(len(names) <= 64 and len(set(lower)) == len(lower))
        for name in lower:
            if name == "x-event-id":
                identity(request.header(name))
            need(not set('{["') & set(request.header(name)))
        values = [request.header(name.lower()).encode("latin-1") for name in names]
        content = b".".join([stamp, fields["h"].encode("latin-1"), b".".join(values), request.body])
        signature = hex_bytes(fields["v1"], 32, any_case=True)
    else:
        content = stamp + b"." + request.body
        signature = hex_bytes(fields.get("v0", ""), 32, any_case=True)
    matches([signature], request.keys(), "sha256", content)


# ---- Public keys


def any_of(keys, check):
    for key in keys:
        try:
            return check(key)
        except Refused:
            pass
    raise Refused


def discord(request):
    stamp = request.header("x-signature-timestamp")
    request.check_time(stamp, "s", 0)
    signature = hex_bytes(request.header("x-signature-ed25519"), 64, any_case=True)
    any_of(
        request.text_keys(),
        lambda text: ed25519(hex_bytes(text, 32, any_case=True), signature, stamp.encode() + request.body),
    )


def sendgrid(request):
    stamp = request.header("x-twilio-email-event-webhook-timestamp")
    request.check_time(stamp, "s", 0)
    r, s = der_signature(base64_bytes(request.header("x-twilio-email-event-webhook-signature")))
    any_of(
        request.text_keys(),
        lambda text: ecdsa_p256(p256_from_spki(loose_base64(text)), r, s, stamp.encode() + request.body),
    )


def certificate_key(request):
    key, (start, end) = rsa_from_certificate(request.extra["certPem"])
    now = request.case.get("now")
    need(now is None or start <= now <= end)
    return key


def paypal(request):
    names = ("transmission-id", "transmission-time", "cert-url", "auth-algo", "transmission-sig")
    transmission, time, url, algorithm, signature = (request.header("paypal-" + name) for name in names)
    need(algorithm == "SHA256withRSA" and re.fullmatch(r"https://([a-z0-9-]+\.)*paypal\.com/[A-Za-z0-9/._-]+", url))
    identity(transmission)
    request.check_time(time, "rfc3339", 4 * 86400)
    content = f"{transmission}|{time}|{request.text_key()}|{zlib.crc32(request.body)}".encode("latin-1")
    rsa(certificate_key(request), "sha256", base64_bytes(signature), content)


SNS_NOTIFICATION = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
SNS_CONFIRMATION = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
SNS_TYPES = {"Notification": SNS_NOTIFICATION} | {
    kind: SNS_CONFIRMATION for kind in ("SubscriptionConfirmation", "UnsubscribeConfirmation")
}


def sns(request):
    message = request.json()
    algorithm = {"1": "sha1", "2": "sha256"}.get(member(message, "SignatureVersion"))
    names = SNS_TYPES.get(member(message, "Type"))
    url = member(message, "SigningCertURL")
    need(algorithm and names)
    need(re.fullmatch(r"https://sns\.[a-z0-9-]{3,}\.amazonaws\.com(\.cn)?/[A-Za-z0-9-]+\.pem", url))
    need(member(message, "TopicArn") == request.text_key())
    request.check_time(member(message, "Timestamp"), "rfc3339", 0)
    names = [name for name in names if name != "Subject" or message.get(name) is not None]
    need(not any(end in member(message, name) for name in names if name != "Message" for end in "\r\n"))
    identity(member(message, "MessageId"))
    content = "".join(f"{name}\n{member(message, name)}\n" for name in names)
    rsa(certificate_key(request), algorithm, base64_bytes(member(message, "Signature")), utf8(content))


# ---- JSON Web Tokens (RFC 7515, RFC 7519)


def token_parts(token):
    parts = token.split(".")
    need(len(parts) == 3)
    header, claims = (json_value(base64url_bytes(part)) for part in parts[:2])
    need(isinstance(header, dict) and isinstance(claims, dict) and "crit" not in header)
    return header, claims, base64url_bytes(parts[2]), ".".join(parts[:2]).encode()


def plaid(request):
    header, claims, signature, signed = token_parts(request.header("plaid-verification"))
    jwk = json_value(request.text_key().encode())
    need(isinstance(jwk, dict))
    need(header.get("alg") == "ES256" and header.get("kid") == jwk.get("kid") and len(signature) == 64)
    numbers = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    ecdsa_p256(p256_from_jwk(jwk), *numbers, signed)
    request.check_time(str(member(claims, "iat", kind=int)), "s", 300)
    need(member(claims, "request_body_sha256") == hashlib.sha256(request.body).hexdigest())


def monday(request):
    token = request.header("authorization")
    header, claims, signature, signed = token_parts(token.removeprefix("Bearer "))
    need(header.get("alg") == "HS256" and len(signature) == 32)
    matches([signature], request.keys(), "sha256", signed)
    expires, now = member(claims, "exp", kind=int), request.case.get("now")
    need(now is None or now < expires)


# ---- Bodies that carry their own signature or secret


def mailgun(request):
    body = request.json()
    for field in ("signature", "parent-signature"):
        try:
            token, text = (member(body, field, name) for name in ("token", "signature"))
            stamp = str(member(body, field, "timestamp", kind=(str, int)))
            request.check_time(stamp, "s", 8 * 3600)
            return matches([hex_bytes(text, 32)], request.keys(), "sha256", stamp.encode(), utf8(token))
        except Refused:
            pass
    raise Refused


def ms_graph(request):
    items = member(request.json(), "value", kind=list)
    need(items)
    for item in items:
        state = utf8(member(item, "clientState"))
        need(any(same(state, key) for key in request.keys()))


SPECIAL_SCHEMES = {
    "standard-webhooks-v1": standard_webhooks,
    "standard-webhooks-v1a": standard_webhooks,
    "twilio-form": twilio,
    "twilio-bodysha256": twilio,
    "hubspot-v3": hubspot,
    "box-v1": box,
    "adyen-item": adyen_item,
    "adyen-raw": adyen_raw,
    "contentful": contentful,
    "hook0": hook0,
    "discord-ed25519": discord,
    "sendgrid-ecdsa": sendgrid,
    "paypal-rsa": paypal,
    "sns-v1": sns,
    "sns-v2": sns,
    "plaid-jwt": plaid,
    "monday-jwt": monday,
    "mailgun-body": mailgun,
    "graph-client-state": ms_graph,
}
