"""A stand-in for a language model: a local server of OpenAI's chat protocol."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Reply:
    """The response to one request.

    `body` is sent as it is; without one, a completion with `content` is.  A reply that
    drips sends a byte now and then, and never the last one.
    """

    content: str | None = ""
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    hangs: bool = False
    drips: bool = False
    message: dict[str, object] = field(default_factory=dict)
    finish_reason: str = "stop"


class ChatServer:
    """Serves ``/v1/chat/completions``.

    `reply` makes a `Reply` of a request (a dict) and the number of requests with these
    messages so far.
    """

    def __init__(self, reply: Callable[[dict, int], Reply]) -> None:
        self.requests: list[dict] = []
        self.keys: set[str | None] = set()
        self.num_open = self.max_open = 0
        self._counts: dict[str, int] = {}
        self._mutex = threading.Lock()
        self._is_closing = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Headers and body in one packet: two take 40 ms more.
            wbufsize = 1 << 16

            def do_POST(self):
                server._serve(self, reply)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, handler, reply):
        length = int(handler.headers["Content-Length"])
        request = json.loads(handler.rfile.read(length))
        assert handler.path == "/v1/chat/completions"
        key = json.dumps(request["messages"])
        with self._mutex:
            self.requests.append(request)
            self.keys.add(handler.headers["Authorization"])
            count = self._counts[key] = self._counts.get(key, 0) + 1
            self.num_open += 1
            self.max_open = max(self.max_open, self.num_open)
        answer = reply(request, count - 1)
        if answer.hangs:
            self._is_closing.wait()
        self._is_closing.wait(answer.seconds)
        with self._mutex:
            self.num_open -= 1
        body = answer.body
        if body is None:
            message = {"role": "assistant", "content": answer.content, **answer.message}
            choice = {"index": 0, "finish_reason": answer.finish_reason}
            choice["message"] = message
            completion = {"id": "1", "object": "chat.completion", "created": 0}
            completion |= {"model": request["model"], "choices": [choice]}
            body = json.dumps(completion).encode()
        try:
            handler.send_response(answer.status)
            headers = {"Content-Type": "application/json", **answer.headers}
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(body) + answer.drips))
            handler.end_headers()
            while answer.drips and not self._is_closing.wait(0.02):
                handler.wfile.write(b" ")
                handler.wfile.flush()
            handler.wfile.write(body)
        except OSError:
            handler.close_connection = True  # the client has gone
