"""A server on the loopback interface that speaks the vendors' wire formats, strictly.

It refuses whatever the vendor would refuse, keeps what it was sent, and answers from a script. It
runs in threads of its own, so that it serves clients on any event loop.
"""

from __future__ import annotations

import json
import threading
import traceback
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from tests.providers.wire import chat_wire, messages_wire, responses_wire
from tests.providers.wire.script import Answer, Failure, Request, Responder, Scripted
from tests.providers.wire.strict import RefusedError, tokens_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_PATHS = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}


class WireServer:
    """The server; use it as a context manager.

    Args:
        script: The answers, in order; a function decides when it knows the request. When the
            script is used up, its last item is used again.
        official: Whether it plays the vendor itself; otherwise a server that speaks the vendor's
            protocol in front of a model with a strict template.
        window: The tokens that a request may have, as `tokens_in` counts them.
        overflow: What is answered to a larger one.

    Attributes:
        requests: What it was sent and did not refuse.
        refusals: Why it refused a request as malformed; a test wants none.
    """

    def __init__(
        self,
        *script: Scripted | Responder,
        official: bool = True,
        window: int | None = None,
        overflow: Callable[[int, int], Failure] | None = None,
    ) -> None:
        self.script = deque(script)
        self.official = official
        self.window = window
        self.overflow = overflow
        self.requests: list[Request] = []
        self.refusals: list[str] = []
        self.closing = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The address for Anthropic's SDK."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """The address for OpenAI's SDK."""
        return f"{self.url}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests."""
        return [request.body for request in self.requests]

    def answer(self, request: Request) -> Scripted:
        """Check a request and return what is answered to it."""
        wire = _PATHS.get(request.path)
        try:
            if wire == "chat":
                chat_wire.check(request.body, official=self.official)
            elif wire == "responses":
                responses_wire.check(request.body)
            elif wire == "messages":
                messages_wire.check(request.body, official=self.official)
            else:
                return Failure(404, {"error": {"message": f"no such path: {request.path}"}})
        except (RefusedError, KeyError, TypeError, AttributeError, UnicodeEncodeError) as error:
            told = f"{error}" if isinstance(error, RefusedError) else traceback.format_exc()
            self.refusals.append(told)
            kind = {"type": "invalid_request_error", "message": str(error)}
            return Failure(400, {"type": "error", "error": kind})
        size = tokens_in(request.body)
        if self.window is not None and size > self.window:
            assert self.overflow is not None
            return self.overflow(size, self.window)
        self.requests.append(request)
        item = self.script.popleft() if len(self.script) > 1 else self.script[0]
        return item(request) if callable(item) else item


class _Http(ThreadingHTTPServer):
    """The HTTP server beneath."""

    daemon_threads = True

    def __init__(self, wire: WireServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wire = wire


class _Handler(BaseHTTPRequestHandler):
    """Serves one connection."""

    server: _Http
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        headers["x-port"] = str(self.client_address[1])  # tells one connection from another
        request = Request(self.path.partition("?")[0], headers, body)
        answered = self.server.wire.answer(request)
        if isinstance(answered, Failure):
            self._fail(answered)
        else:
            self._stream(answered, request)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _fail(self, failure: Failure) -> None:
        text = failure.body if isinstance(failure.body, str) else json.dumps(failure.body)
        payload = text.encode()
        self.send_response(failure.status)
        for name, value in failure.headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def _stream(self, answer: Answer, request: Request) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        wire = self.server.wire
        told = _events(answer, request, len(wire.requests))
        try:
            for text in _with_faults(told, answer, wire.closing):
                payload = text.encode()
                self.wfile.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except (_CutError, BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # we leave, or the client has


class _CutError(Exception):
    """The connection is to break here."""


def _with_faults(events: Iterable[str], answer: Answer, closing: threading.Event) -> Iterator[str]:
    """Yield the events of an answer, with what is to go wrong with its stream."""
    for index, event in enumerate(events):
        if answer.stall is not None and answer.stall[0] == index:
            closing.wait(answer.stall[1])
        if index == answer.cut:
            raise _CutError
        if index == answer.end:
            return
        if index == answer.garbage:
            yield "event: message_delta\ndata: {this is no JSON\n\n"
        elif answer.report is not None and answer.report[0] == index:
            yield f"event: error\ndata: {json.dumps(answer.report[1])}\n\n"
        else:
            yield event


def _events(answer: Answer, request: Request, number: int) -> Iterator[str]:
    """Write an answer as server-sent events."""
    wire = _PATHS[request.path]
    told: Iterable[dict[str, Any] | str]
    if wire == "chat":
        told = chat_wire.events(answer, request.body, number)
    elif wire == "responses":
        told = responses_wire.events(answer, request.body, number)
    else:
        told = messages_wire.events(answer, request.body, number)
    for event in told:
        data = event if isinstance(event, str) else json.dumps(event)
        kind = event.get("type") if isinstance(event, dict) else None
        yield f"event: {kind}\ndata: {data}\n\n" if kind else f"data: {data}\n\n"
