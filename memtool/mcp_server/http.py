"""HTTP requests -> the protocol: only for who names this server as it is called, and shows the token.

A page that a browser has open can send requests to this machine, and a name of its own can be made to
lead here. So the guard stands before everything else: a foreign ``Host`` or ``Origin`` is refused
before anything is read, and so is who does not know the token.
"""

from __future__ import annotations

import ipaddress
import re
import signal
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from hmac import compare_digest
from typing import Any, NamedTuple

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from memtool.errors import UsageError
from memtool.mcp_server.protocol import Reception

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Plan(NamedTuple):
    """Where to listen, under which names, and the token; "" asks for none."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    names: tuple[str, ...] = ()  # further names under which clients may call


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("127.0.0.1.example")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check(plan: Plan) -> None:
    """Refuse to be open to the network without a token. Raises UsageError."""
    if plan.token or is_loopback(plan.host):
        return
    raise UsageError(
        f"listening on {plan.host} without a token is refused",
        why="everybody who reaches this machine could read and write the notes",
        fix="set MEMTOOL_MCP_TOKEN to a secret of your own, or leave --host out to stay on this machine",
    )


class Guard:
    """Lets a request through to *app* that names us and shows the token; answers all others itself."""

    def __init__(self, app: Any, token: str, hosts: Collection[str]) -> None:
        self.app, self.token, self.hosts = app, token, hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self.refusal(scope.get("headers", []))
            await (_refuse(send, *refusal) if refusal else self.app(scope, receive, send))

    def refusal(self, headers: Sequence[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Give the status and words of a refusal; None where nothing speaks against a request."""
        said = {
            name: [value.decode("latin-1") for key, value in headers if key.lower() == name]
            for name in _LOOKED_AT
        }
        hosts, origins, tokens = said[b"host"], said[b"origin"], said[b"authorization"]
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 403, "this server is not called that: use a loopback name and its own port"
        if len(origins) > 1 or any(origin.lower() not in self._origins() for origin in origins):
            return 403, "requests from other pages are refused"
        if self.token and not any(
            compare_digest(f"Bearer {self.token}".encode(), one.encode("latin-1")) for one in tokens
        ):
            return 401, "show the token: Authorization: Bearer ...; `memtool mcp --print-token` prints it"
        return None

    def _origins(self) -> set[str]:
        return {f"http://{host}" for host in self.hosts}


_LOOKED_AT = (b"host", b"origin", b"authorization")


async def _refuse(send: Callable[[Mapping[str, Any]], Any], status: int, words: str) -> None:
    body = words.encode() + b"\n"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def hosts(plan: Plan, port: int) -> set[str]:
    """Name everything that a ``Host`` header may say.

    >>> sorted(hosts(Plan(), 80))[:3]
    ['127.0.0.1', '127.0.0.1:80', '[::1]']
    """
    names = [*LOOPBACK, *plan.names]
    if plan.host not in ("", "0.0.0.0", "::", "localhost"):
        names.append(f"[{plan.host}]" if ":" in plan.host else plan.host)
    named = {f"{name.lower()}:{port}" for name in names}
    return named | ({name.lower() for name in names} if port == 80 else set())


def listen(plan: Plan) -> list[socket.socket]:
    """Open the sockets; the loopback is opened under both of its addresses. Raises UsageError."""
    if not re.fullmatch(r"[A-Za-z0-9.:-]{1,253}", plan.host):
        raise UsageError(f"{plan.host!r} is no address to listen on", fix="leave --host out")
    first = _socket(plan.host, plan.port)
    opened = [first]
    if plan.host in ("127.0.0.1", "localhost"):
        other = "::1" if first.family == socket.AF_INET else "127.0.0.1"
        with suppress(UsageError):  # one of the two is enough; the other may not exist here, or be taken
            opened.append(_socket(other, first.getsockname()[1]))
    return opened


def _socket(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family, kind, protocol)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(place)
        except OSError:
            opened.close()
            raise
        return opened
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}, port {port}",
            why=error.strerror or str(error),
            fix="take another port: --http PORT",
        ) from error


def serve(reception: Reception, plan: Plan, say: Callable[[str], None]) -> None:
    """Serve until a signal comes."""
    sockets = listen(plan)
    server = make(reception, plan, sockets[0].getsockname()[1])
    place = sockets[0].getsockname()
    named = f"[{place[0]}]" if ":" in place[0] else place[0]
    say(f"listening on http://{named}:{place[1]}{PATH}" + ("" if plan.token else ", without a token"))
    try:
        # It ends on either signal by itself, and raises it again afterwards: that must not cut us short.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        server.run(sockets=sockets)
    finally:
        reception.close()
        for one in sockets:
            one.close()


def make(reception: Reception, plan: Plan, port: int) -> uvicorn.Server:
    """Put the guard before the protocol. Raises UsageError."""
    check(plan)
    # The guard has looked at the names already, and more closely.
    lax = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = reception.server().streamable_http_app(
        streamable_http_path=PATH, transport_security=lax, json_response=True, max_sessions=100
    )
    guard = Guard(app, plan.token, hosts(plan, port))
    settings = uvicorn.Config(
        guard,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        lifespan="on",
    )
    return uvicorn.Server(settings)
