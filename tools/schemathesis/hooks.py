"""What schemathesis cannot know of a running Davit: tokens, and the names of what is there.

The file named by DAVIT_KNOWN holds {"tokens", "namespace", "routes", "reaching", "destinations", "events", "policies", "runs"}. Nothing is changed that was made to be refused: in a
part of a request that is generated negative, everything stays as it is.
"""

import hashlib
import itertools
import json
import os
import threading
from collections import defaultdict, deque
from datetime import datetime, timedelta, timezone

import schemathesis
from schemathesis.core.parameters import ParameterLocation

with open(os.environ["DAVIT_KNOWN"], encoding="utf-8") as file:
    KNOWN = json.load(file)

LOCK = threading.Lock()
TOKENS = itertools.cycle(KNOWN["tokens"])
# Replays and cursors that answers told, by token and, for cursors, path.
REPLAYS = defaultdict(lambda: deque(maxlen=20))
CURSORS = defaultdict(lambda: deque(maxlen=20))
# Which token made what, by id.
MAKERS = {}


@schemathesis.auth(refresh_interval=None)
class Tokens:
    """
    Each call takes the next token: the API of one destination bounds how often each may call. What one of them made is there for no other.
    """

    def get(self, case, context):
        for value in (case.path_parameters or {}).values():
            if isinstance(value, str) and value in MAKERS:
                return MAKERS[value]
        with LOCK:
            return next(TOKENS)

    def set(self, case, data, context):
        case.headers["Authorization"] = f"Bearer {data}"


class Choice:
    """Draws that depend on nothing but the case, so that a seed repeats them."""

    def __init__(self, case):
        parts = [case.operation.label, case.path_parameters, case.query, repr(case.body)]
        self.digest = hashlib.sha256(json.dumps(parts, default=repr, sort_keys=True).encode()).digest()
        self.at = 0

    def draw(self, below):
        self.at += 1
        return hashlib.sha256(self.digest + bytes([self.at])).digest()[0] % below

    def of(self, values, instead):
        """One of the values; in a quarter of the cases, and when there is none, what was generated."""
        if not values or self.draw(4) == 0:
            return instead
        return values[self.draw(len(values))]


def token_of(case):
    return str((case.headers or {}).get("Authorization", ""))


def is_negative(case, location):
    return case.meta is not None and case.meta.is_negative_at(location)


@schemathesis.hook
def before_call(context, case, kwargs):
    choice = Choice(case)
    if case.path_parameters and not is_negative(case, ParameterLocation.PATH):
        for name, value in case.path_parameters.items():
            case.path_parameters[name] = choice.of(known(name, case), value)
    if case.query and not is_negative(case, ParameterLocation.QUERY):
        make_sensible(case.query, case, choice)
    if isinstance(case.body, dict) and not is_negative(case, ParameterLocation.BODY):
        make_sensible(case.body, case, choice)
        if isinstance(case.body.get("filter"), dict):
            make_sensible(case.body["filter"], case, choice)


def known(name, case):
    if name == "replay":
        return list(REPLAYS[token_of(case)])
    if name == "namespace":
        return [KNOWN["namespace"]]
    return KNOWN.get({"policy": "policies"}.get(name, f"{name}s"), [])


def make_sensible(fields, case, choice):
    """What the descriptions ask for in words: names that exist, times in their order, a cursor that an answer gave."""
    if "route" in fields:
        # Not every route reaches the destinations that test events go to.
        routes = [KNOWN["reaching"]] if case.operation.path.endswith("/test") else KNOWN["routes"]
        fields["route"] = choice.of(routes, routes[0])
    if "destination" in fields:
        fields["destination"] = "~" + choice.of(KNOWN["destinations"], KNOWN["destinations"][0])
    if fields.get("from") and fields.get("to"):
        del fields["from"]
    if "until" in fields:
        fields["until"] = (datetime.now(timezone.utc) + timedelta(days=1)).isoformat()
    if "cursor" in fields:
        cursors = CURSORS[(token_of(case), case.operation.label)]
        if cursors and case.operation.method == "get":
            fields["cursor"] = cursors[-1]
        else:
            del fields["cursor"]


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code not in (200, 201, 202):
        return
    try:
        body = json.loads(response.content)
    except ValueError:
        return
    if response.status_code in (201, 202):
        MAKERS[body["id"]] = token_of(case).removeprefix("Bearer ")
    if response.status_code == 201:
        REPLAYS[token_of(case)].append(body["id"])
    if "items" in body and isinstance(body.get("next"), str):
        CURSORS[(token_of(case), case.operation.label)].append(body["next"])
