"""Schemes that are an HMAC (RFC 2104) over parts of the request, each from its provider's document."""

import hashlib
import hmac as mac

from strict import Refused, base64_bytes, hex_bytes, identity, member, need, utf8

SIZES = {"md5": 16, "sha1": 20, "sha256": 32, "sha512": 64}


def same(one, other):
    return mac.compare_digest(one, other)


def digest(key, algorithm, *parts):
    return mac.new(key, b"".join(parts), algorithm).digest()


def decoded(text, encoding, algorithm):
    if encoding == "base64":
        return base64_bytes(text, SIZES[algorithm])
    return hex_bytes(text, SIZES[algorithm], any_case=encoding == "HEX")


def some(texts, decode):
    """Those of a list that have the form; one at least."""
    found = []
    for text in texts:
        try:
            found.append(decode(text))
        except Refused:
            pass
    need(found)
    return found


def matches(signatures, keys, algorithm, *parts):
    need(any(same(signature, digest(key, algorithm, *parts)) for key in keys for signature in signatures))


def plain(*headers, prefix="", encoding="hex", algorithm="sha256", content=None):
    """One signature a header, over the body or what `content` makes of the request."""

    def verify(request):
        keys = request.keys()
        present = [name for name in headers if request.has(name)]
        need(present and all(len(request.headers[name]) == 1 for name in present))

        def decode(name):
            value = request.header(name)
            need(value.startswith(prefix))
            return decoded(value[len(prefix) :], encoding, algorithm)

        signatures = some(present, decode) if len(headers) > 1 else [decode(present[0])]
        parts = content(request) if content else [request.body]
        matches(signatures, keys, algorithm, *parts)

    return verify


def listed(header, item, separator=",", encoding="hex", algorithm="sha256", time=None, join=None, tolerance=300):
    """`name=value` items of one header. The time stands there exactly once and is signed as `time + join + body`."""

    def verify(request):
        keys = request.keys()
        items = request.header(header).split(separator)
        parts = [request.body]
        if time:
            stamps = [text[len(time) :] for text in items if text.startswith(time)]
            need(len(stamps) == 1)
            request.check_time(stamps[0], "s", tolerance)
            parts = [stamps[0].encode(), join, request.body]
        texts = [text[len(item) :] for text in items if text.startswith(item)]
        matches(some(texts, lambda text: decoded(text, encoding, algorithm)), keys, algorithm, *parts)

    return verify


def timed(header, time_header, prefix, unit, tolerance, before=b"", after=b"", encoding="hex", id_header=None):
    """A signature header and a header with the time: `id + before + time + after + body`."""

    def content(request):
        stamp = request.header(time_header)
        request.check_time(stamp, unit, tolerance)
        head = identity(request.header(id_header)) if id_header else b""
        return [head, before, stamp.encode(), after, request.body]

    return plain(header, prefix=prefix, encoding=encoding, content=content)


def with_url(url_first):
    def content(request):
        url = utf8(request.url)
        return [url, request.body] if url_first else [request.body, url]

    return content


def linear(request):
    stamp = member(request.json(), "webhookTimestamp", kind=int)
    request.check_time(str(stamp), "ms", 8 * 3600)
    return [request.body]


def token(header):
    """The secret itself."""

    def verify(request):
        value = request.header(request.extra.get("header", header)).encode("latin-1")
        need(any(same(value, key) for key in request.keys()))

    return verify


def pusher(request):
    need(request.header("x-pusher-key") == request.extra.get("key"))
    plain("x-pusher-signature")(request)


def docusign(request):
    names = [f"x-docusign-signature-{number}" for number in range(1, 101)]
    plain(*names, encoding="base64")(request)


def convoy(advanced):
    def verify(request):
        algorithm = request.extra.get("hash", "SHA256").lower()
        encoding = request.extra.get("encoding", "hex")
        if advanced:
            listed("x-convoy-signature", "v1=", ",", encoding, algorithm, "t=", b",")(request)
        else:
            plain("x-convoy-signature", encoding=encoding, algorithm=algorithm)(request)

    return verify


def outpost(header, prefix):
    """The prefix stands once, before the list of signatures. A template of the sender may put something else before it, as `t=…,`."""

    def verify(request):
        keys, algorithm = request.keys(), request.extra.get("alg", "sha256")
        items = request.header(header).split(",")
        first = next((place for place, item in enumerate(items) if item.startswith(prefix)), None)
        need(first is not None)
        texts = [items[first][len(prefix) :], *items[first + 1 :]]
        matches(some(texts, lambda text: decoded(text, "hex", algorithm)), keys, algorithm, request.body)

    return verify


def hubspot_hash(version):
    """Not an HMAC: SHA-256 over secret and content. The header that names the version is not signed, so it decides nothing. Such a hash can be lengthened, but not
    into JSON."""

    def verify(request):
        keys = request.keys()
        signature = hex_bytes(request.header("x-hubspot-signature"), 32)
        head = utf8(request.method + request.url) if version == "v2" else b""
        need(any(same(signature, hashlib.sha256(key + head + request.body).digest()) for key in keys))
        if request.body:
            request.json()

    return verify


HMAC_SCHEMES = {
    "github-sha256": plain("x-hub-signature-256", prefix="sha256="),
    "hub-sha256": plain("x-hub-signature", prefix="sha256="),
    "meta-sha256": plain("x-hub-signature-256", prefix="sha256="),
    "hub-sha1": plain("x-hub-signature", prefix="sha1=", algorithm="sha1"),
    "gitlab-token": token("x-gitlab-token"),
    "slack-v0": timed("x-slack-signature", "x-slack-request-timestamp", "v0=", "s", 300, b"v0:", b":"),
    "stripe-v1": listed("stripe-signature", "v1=", time="t=", join=b"."),
    "hubspot-v1": hubspot_hash("v1"),
    "hubspot-v2": hubspot_hash("v2"),
    "pusher": pusher,
    "square": plain("x-square-hmacsha256-signature", encoding="base64", content=with_url(True)),
    "notion": plain("x-notion-signature", prefix="sha256=", encoding="HEX"),
    "razorpay": plain("x-razorpay-signature"),
    "circleci-v1": listed("circleci-signature", "v1="),
    "pagerduty-v1": listed("x-pagerduty-signature", "v1="),
    "docusign": docusign,
    "shopify": plain("x-shopify-hmac-sha256", "shopify-hmac-sha256", encoding="base64"),
    "woocommerce": plain("x-wc-webhook-signature", encoding="base64"),
    "typeform": plain("typeform-signature", prefix="sha256=", encoding="base64"),
    "dropbox": plain("x-dropbox-signature"),
    "vercel-sha1": plain("x-vercel-signature", algorithm="sha1"),
    "lemonsqueezy": plain("x-signature"),
    "coinbase-commerce": plain("x-cc-webhook-signature"),
    "heroku": plain("heroku-webhook-hmac-sha256", encoding="base64"),
    "asana": plain("x-hook-signature"),
    "sentry": plain("sentry-hook-signature"),
    "xero": plain("x-xero-signature", encoding="base64"),
    "zendesk": timed(
        "x-zendesk-webhook-signature", "x-zendesk-webhook-signature-timestamp", "", "rfc3339", 0, encoding="base64"
    ),
    "hookdeck": plain("x-hookdeck-signature", "x-hookdeck-signature-2", encoding="base64"),
    "trello": plain("x-trello-webhook", encoding="base64", algorithm="sha1", content=with_url(False)),
    "zoom-v0": timed("x-zm-signature", "x-zm-request-timestamp", "v0=", "s", 300, b"v0:", b":"),
    "calendly": listed("calendly-webhook-signature", "v1=", time="t=", join=b".", tolerance=180),
    "cloudflare-stream": listed("webhook-signature", "sig1=", time="time=", join=b".", tolerance=86400),
    "twitch": timed(
        "twitch-eventsub-message-signature",
        "twitch-eventsub-message-timestamp",
        "sha256=",
        "rfc3339",
        600,
        id_header="twitch-eventsub-message-id",
    ),
    "linear": plain("linear-signature", content=linear),
    "paddle": listed("paddle-signature", "h1=", ";", time="ts=", join=b":", tolerance=5),
    "convoy-simple": convoy(False),
    "convoy-advanced": convoy(True),
    "hmac-primitive": outpost("x-signature", ""),
    "outpost-v0": outpost("x-outpost-signature", "v0="),
    "static-header": token("authorization"),
}
