"""A service in Python that takes notices of changes at a URL, with nothing but Python: copy `verified`.

FARETRAIL_SECRET=whsec_... python receiver.py <port>
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Mapping

TOLERATED_SECONDS = 300


def verified(secret: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """The notice in a request, by its headers and its raw body. Raises ValueError for one that is not signed with this secret
    or is older than five minutes (https://www.standardwebhooks.com)."""
    sent_at = headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > TOLERATED_SECONDS:
        raise ValueError("sent too long ago, or without a time")
    signed = f"{headers.get('webhook-id')}.{sent_at}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    # While the secret changes, a notice is signed with the old one and the new one.
    given = headers.get("webhook-signature", "").split()
    if not any(hmac.compare_digest(signature.encode(), one.encode()) for one in given):
        raise ValueError("not signed with this secret")
    return json.loads(body)


class Receiver(BaseHTTPRequestHandler):
    seen: set[str] = set()  # a service keeps them in its database

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            notice = verified(os.environ["FARETRAIL_SECRET"], self.headers, body)
        except ValueError:
            self.send_error(401)
            return
        if self.headers["webhook-id"] not in self.seen:
            self.seen.add(self.headers["webhook-id"])
            data = notice["data"]
            # Another release may send other types: they are taken, and mean nothing here.
            print(f"{notice['type']}: order {data.get('orderId')} is {data.get('status')}", flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
