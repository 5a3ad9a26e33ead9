"""A language model behind an HTTP endpoint that speaks OpenAI's chat protocol.

The protocol is that of ``POST /chat/completions`` (OpenAI, API reference, "Create chat
completion").  vLLM, SGLang, llama.cpp, Ollama and others serve it, too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from roll_vec.errors import InvalidOptionError, MissingExtraError, RollVecError
from roll_vec.options import check_int, check_number

API_KEY = "OPENAI_API_KEY"
"""The environment variable of the key."""
# The client of openai demands a key; servers of one's own ignore it.
_NO_KEY = "none"
# Wrong key, no permission, no such path or model: every other request fails likewise.
_REFUSALS = (401, 403, 404)
_REDIRECTS = (301, 302, 303, 307, 308)

_MAX_TEMPERATURE = 100
# Characters of the reason of a failure: some servers answer with a page of HTML.
_MAX_REASON = 300
_MIN_SECONDS, _MAX_SECONDS = 0.001, 1e6
# The longest time that the client waits before it repeats a request.
_MAX_WAIT = 60

Messages: TypeAlias = Sequence[dict[str, str]]


class ChatError(RollVecError, RuntimeError):
    """Raised when a request has failed for good.

    Parameters
    ----------
    message : str
    is_refusal : bool
        Whether every other request to the endpoint would fail likewise: the key, the
        address or the name of the model is wrong, or it redirects to another address.
    """

    def __init__(self, message: str, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), self.is_refusal))


@dataclass(frozen=True)
class ChatEndpoint:
    """The address of a model, and how to ask it.

    The key is that of the environment variable ``OPENAI_API_KEY``, if there is one.  It
    is no part of this object, and no message or file has it.

    Parameters
    ----------
    url : str
        Such as ``http://localhost:8000/v1``.
    model : str
        The name that the endpoint has for the model.
    temperature : float
        0 to 100.
    max_tokens : int or None
        The longest answer; None: the endpoint decides.
    timeout : float
        Seconds to wait for a connection, and for the next bytes of an answer, 0.001 to
        a million.  A request ends after at most ``2 * timeout * (retries + 1) + 60 *
        retries`` seconds, also where the bytes never end.
    retries : int
        How often a request is repeated after a timeout, a lost connection, or one of
        the statuses 408, 409, 429 and 500 or above.  The waiting time doubles each
        time, from half a second to eight seconds, unless the endpoint says how long.

    Raises
    ------
    InvalidOptionError
    """

    url: str
    model: str
    temperature: float = 0.0
    max_tokens: int | None = None
    timeout: float = 120.0
    retries: int = 5

    def __post_init__(self) -> None:
        _check_url(self.url)
        if not (isinstance(self.model, str) and self.model):
            accepted = "the name of a model"
            raise InvalidOptionError.expected("model", accepted, self.model)
        check_number("temperature", self.temperature, 0, _MAX_TEMPERATURE)
        if self.max_tokens is not None:
            check_int("max_tokens", self.max_tokens, 1)
        check_number("timeout", self.timeout, _MIN_SECONDS, _MAX_SECONDS)
        check_int("retries", self.retries, 0)

    def to_json(self) -> dict[str, Any]:
        """Return everything that answers depend on."""
        return {
            "name": self.url,
            "model": self.model,
            "temperature": float(self.temperature),
            "max_tokens": self.max_tokens,
        }


def _check_url(url: Any) -> None:
    """Raise an error for an address that cannot be used.

    A user's name, a password or a query can be a secret: files of results would have
    it.
    """
    accepted = f"http(s)://HOST[:PORT]/PATH, with the key in {API_KEY} if there is one"
    if not isinstance(url, str):
        raise InvalidOptionError.expected("url", accepted, url)
    try:
        parts = urlsplit(url)
        is_address = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        raise InvalidOptionError.expected("url", accepted, url) from None
    if "@" in parts.netloc or parts.query or parts.fragment:
        message = (
            f"url: expected {accepted}; a user name, a password, ? and # are refused, "
            "because they can be secrets"
        )
        raise InvalidOptionError(message)
    if not is_address:
        raise InvalidOptionError.expected("url", accepted, url)


class ChatClient:
    """An open connection to an endpoint; `open` makes it, within an event loop."""

    def __init__(self, endpoint: ChatEndpoint, client: Any, key: str | None) -> None:
        self._client, self._key, self._url = client, key, endpoint.url
        retries = endpoint.retries
        self._seconds = 2 * endpoint.timeout * (retries + 1) + _MAX_WAIT * retries
        self._keywords: dict[str, Any] = {
            "model": endpoint.model,
            "temperature": endpoint.temperature,
        }
        if endpoint.max_tokens is not None:
            self._keywords["max_tokens"] = endpoint.max_tokens

    @classmethod
    @asynccontextmanager
    async def open(cls, endpoint: ChatEndpoint) -> AsyncIterator[ChatClient]:
        """Connect to an endpoint, and disconnect in the end.

        Raises
        ------
        MissingExtraError
            Without the package openai.
        InvalidOptionError
            If the key cannot be one.
        """
        openai = import_openai()
        key = read_key()
        async with openai.AsyncOpenAI(
            base_url=endpoint.url,
            api_key=key or _NO_KEY,
            timeout=endpoint.timeout,
            max_retries=endpoint.retries,
            # It would send the observations on, to any host.
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        ) as client:
            yield cls(endpoint, client, key)

    async def answer(self, messages: Messages) -> str:
        """Return the model's answer; a refusal, or none, is the empty text.

        Half of a surrogate pair, which UTF-8 lacks, is a question mark: in the request
        and in the answer.

        Raises
        ------
        ChatError
            If all attempts failed, or the response cannot be read.
        """
        try:
            request = self._client.chat.completions.create(
                messages=[_to_unicode(message) for message in messages],
                **self._keywords,
            )
            # The client's own limit begins anew with each byte of a response.
            response = await asyncio.wait_for(request, self._seconds)
            content = response.choices[0].message.content
        except asyncio.TimeoutError as error:
            message = f"no complete response within {self._seconds:g} seconds"
            raise ChatError(message) from error
        except Exception as error:
            # The library raises errors of its own, and those of a broken response.
            status = getattr(error, "status_code", None)
            if status in _REDIRECTS:
                target = error.response.headers.get("Location")  # type: ignore[attr-defined]
                message = f"{self._url} redirects to {target}, which is not followed"
                raise ChatError(message, is_refusal=True) from error
            raise ChatError(self._describe(error), status in _REFUSALS) from error
        if content is not None and not isinstance(content, str):
            message = f"the answer is no text, its type is {type(content).__name__}"
            raise ChatError(message)
        return _replace_halves(content or "")

    def _describe(self, error: Exception) -> str:
        """Return one line about an error, without the key."""
        reasons = [str(error)]
        if error.__cause__ is not None:
            # Of a lost connection the library says nothing else.
            reasons = [str(error).rstrip("."), str(error.__cause__)]
        text = " ".join(": ".join(filter(None, reasons)).split())
        if self._key is not None:
            text = text.replace(self._key, "***")
        kind = type(error).__name__
        if getattr(error, "status_code", None) is None and "API" not in kind:
            kind = f"the response is no chat completion ({kind})"
        if len(text) > _MAX_REASON:
            text = f"{text[:_MAX_REASON]}..."
        return f"{kind}: {text}" if text else kind


def _to_unicode(message: dict[str, str]) -> dict[str, str]:
    return {name: _replace_halves(text) for name, text in message.items()}


def _replace_halves(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def read_key() -> str | None:
    """Return the key in the environment variable; None: there is none.

    Raises
    ------
    InvalidOptionError
        If it has characters that no header of HTTP can have.
    """
    # The line end of a file that a key was read from is none of it.
    key = os.environ.get(API_KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        message = f"{API_KEY}: expected printable ASCII characters, got others"
        raise InvalidOptionError(message)
    return key or None


def import_openai() -> Any:
    """Return the package openai.

    Raises
    ------
    MissingExtraError
    """
    try:
        import openai
    except ImportError as error:
        feature = "a policy behind an HTTP endpoint"
        raise MissingExtraError(feature, extra="chat", package="openai") from error
    return openai
