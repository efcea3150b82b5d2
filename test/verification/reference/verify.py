"""
An independent verifier of webhook signatures, written from the providers' documents. It shares nothing with Davit: other language, other
libraries, asymmetric cryptography of its own.

Reads one JSON case a line and answers each with {"id", "valid"}.
"""

import json
import sys

from request import Request
from schemes import HMAC_SCHEMES
from special import SPECIAL_SCHEMES
from strict import Refused

SCHEMES = HMAC_SCHEMES | SPECIAL_SCHEMES


def valid(case):
    try:
        SCHEMES[case["scheme"]](Request(case))
    except Refused:
        return False
    return True


def main():
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps({"id": case["id"], "valid": valid(case)}))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
