"""Mutates one piece of an HTTP request after the other with boofuzz, over raw sockets, and counts the answers.

It reads {"port", "path", "headers", "body", "cases"} from its input; `cases` is the most for each piece. It prints
{"cases", "answers", "failures"} as JSON. A failure is an answer with 5xx, with what was sent.
"""

import json
import logging
import sys
from collections import Counter

from boofuzz import Block, Bytes, Delim, Request, Session, Static, String, Target, TCPSocketConnection

# How long a server may keep silent before the next case: it waits for the rest of many of these requests.
SILENCE = 0.25


def pieces_of(asked: dict) -> list[tuple[str, str]]:
    """The request as named pieces; those whose name begins with "." never change."""
    body = asked["body"]
    headers = {"Host": "localhost", "Content-Length": str(len(body)), **asked["headers"]}
    pieces = [("method", "POST"), ("first blank", " "), ("target", asked["path"]), ("second blank", " ")]
    pieces += [("protocol", "HTTP/1.1"), ("first line end", "\r\n")]
    for name, value in headers.items():
        pieces += [(f"name of {name}", name), (f".{name}", ": "), (f"value of {name}", value), (f"end of {name}", "\r\n")]
    return [*pieces, ("a header more", "X-More: 1"), (".more", "\r\n"), ("end of headers", "\r\n"), ("body", body)]


def with_chunks(asked: dict) -> list[tuple[str, str]]:
    """The same in chunks (RFC 9112 section 7.1), and with both ways to say the length."""
    body = asked["body"]
    lines = "".join(f"{name}: {value}\r\n" for name, value in asked["headers"].items())
    head = f"POST {asked['path']} HTTP/1.1\r\nHost: localhost\r\n{lines}"
    return [
        (".head", head),
        ("encoding", "Transfer-Encoding: chunked"),
        (".after encoding", "\r\n"),
        ("a second length", "X-Length: 7"),
        (".after headers", "\r\n\r\n"),
        ("size of a chunk", f"{len(body):x}"),
        ("end of a size", "\r\n"),
        (".chunk", body),
        ("end of a chunk", "\r\n"),
        ("last chunk", "0"),
        ("trailer", "\r\n\r\n"),
    ]


def request_of(name: str, pieces: list[tuple[str, str]]) -> Request:
    def part(at: int, piece: str, value: str):
        label = f"{at}"
        if piece != name:
            return Static(name=label, default_value=value)
        if piece == "body":
            return Bytes(name=label, default_value=value.encode())
        if value.strip() == "":
            return Delim(name=label, default_value=value)
        return String(name=label, default_value=value)

    children = tuple(part(at, piece, value) for at, (piece, value) in enumerate(pieces))
    return Request(name, children=(Block("all", children=children),))


def main() -> None:
    asked = json.load(sys.stdin)
    answers: Counter[str] = Counter()
    failures: list[str] = []

    def judge(target, fuzz_data_logger, session, *_args, **_kwargs) -> None:
        said = session.last_recv or b""
        status = said[9:12].decode("latin-1") if said.startswith(b"HTTP/1.") else ("silence" if said == b"" else "no HTTP")
        answers[status] += 1
        if status.startswith("5") or status == "no HTTP":
            failures.append(f"{status} to {(session.last_send or b'')[:300]!r}: {said[:200]!r}")

    for number, pieces in enumerate((pieces_of(asked), with_chunks(asked))):
        for piece in [name for name, _ in pieces if not name.startswith(".")]:
            connection = TCPSocketConnection("127.0.0.1", asked["port"], send_timeout=2.0, recv_timeout=SILENCE)
            session = Session(
                target=Target(connection=connection),
                session_filename=f"{asked['folder']}/{number}-{piece}.session",
                db_filename=f"{asked['folder']}/boofuzz.db",
                index_end=asked["cases"],
                web_port=None,
                keep_web_open=False,
                fuzz_loggers=[],
                receive_data_after_each_request=False,
                receive_data_after_fuzz=True,
                ignore_connection_reset=True,
                ignore_connection_aborted=True,
                post_test_case_callbacks=[judge],
            )
            session.connect(request_of(piece, pieces))
            session.fuzz(max_depth=1)

    json.dump({"cases": sum(answers.values()), "answers": answers, "failures": failures[:20]}, sys.stdout)


logging.disable(logging.CRITICAL)
main()
