"""Requests of the protocol -> calls at the desk: tools, resources, who a client is, and standard input.

Calls are done one after the other in a thread of their own; meanwhile the protocol goes on.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import sys
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any, TypeVar, cast

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from memtool import __version__
from memtool.errors import MemtoolError, PathError, PolicyError, UsageError
from memtool.identity import Signature, signature
from memtool.mcp_server import resources, shape, told
from memtool.mcp_server.desk import Desk
from memtool.mcp_server.lines import Lines
from memtool.mcp_server.tools import DATA, TOOLS, Tool, call

T = TypeVar("T")
Context = Any  # the context of a request; its class says less than it promises

NO_RESOURCE = -32002

INSTRUCTIONS = (
    "memtool is the user's memory: Markdown notes in git. Start a task with `context` or `search`; read lines"
    " before you rely on them, and name their anchors (path:start-end) when you use them. When you learn"
    " something that outlasts the session, `remember` it, or `edit` the note that already says it. " + DATA
)


class Reception:
    """Knows the clients of one server, and brings their requests to the desk."""

    def __init__(self, desk: Desk, *, writer: str = "", session: str = "") -> None:
        self.desk, self.writer, self.session = desk, writer, session
        self.pending = 0
        self._salt = secrets.token_hex(8)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="memtool")

    def close(self) -> None:
        """Wait for what is under way: a change that was begun is finished."""
        self._worker.submit(self.desk.close)
        self._worker.shutdown()

    def server(self) -> Server[Any]:
        """Give the protocol's server, with everything on offer."""
        return Server(
            "memtool",
            version=__version__,
            title="memtool: the user's memory",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    def who(self, context: Context) -> Signature:
        """Tell in whose name a request is made: as the server was told to, else as the client is called."""
        params = context.session.client_params
        writer = self.writer or writer_of(params.client_info.name if params else "")
        return signature(writer, self.session or self._session_of(context))

    def _session_of(self, context: Context) -> str:
        headers = getattr(context.request, "headers", None)
        key = headers.get("mcp-session-id", "") if headers is not None else ""
        return "mcp-" + sha256(f"{self._salt} {key}".encode()).hexdigest()[:12]

    async def _apart(self, work: Callable[[], T]) -> T:
        self.pending += 1
        try:
            return await asyncio.wrap_future(self._worker.submit(work))
        finally:
            self.pending -= 1

    # -- tools -------------------------------------------------------------------------------

    async def _list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(tool) for tool in TOOLS.values()])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(
                types.INVALID_PARAMS, f"there is no tool of this name; there are {', '.join(TOOLS)}"
            )
        done = await self._apart(lambda: self._done(tool, self.who(context), params.arguments or {}))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=done.text)],
            structured_content=done.value,
            is_error=done.failed,
        )

    def _done(self, tool: Tool, who: Signature, given: dict[str, Any]) -> told.Told:
        def work(memory: Any) -> told.Told:
            return call(tool, memory, shape.checked(tool.takes, given, tool.name), self.desk.remarks())

        return self.desk.serve(who, work)

    # -- resources ---------------------------------------------------------------------------

    async def _list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        cursor = (params.cursor or "") if params else ""
        page = await self._resource(
            lambda: self.desk.work(self.who(context), lambda memory: resources.page(memory, cursor))
        )
        listed = [
            types.Resource(
                uri=one.uri,
                name=one.path,
                title=one.title,
                description=one.words or None,
                mime_type="text/markdown",
            )
            for one in page.entries
        ]
        return types.ListResourcesResult(resources=listed, next_cursor=page.cursor or None)

    async def _list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        words = f"A note, by its percent-encoded path. {DATA}"
        note = types.ResourceTemplate(
            uri_template=resources.TEMPLATE,
            name="note",
            title="A note",
            description=words,
            mime_type="text/markdown",
        )
        return types.ListResourceTemplatesResult(resource_templates=[note])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        found = await self._resource(
            lambda: self.desk.work(self.who(context), lambda memory: resources.text(memory, uri))
        )
        text = types.TextResourceContents(
            uri=uri, mime_type="text/markdown", text=found.text, _meta={"memtool/digest": found.digest}
        )
        return types.ReadResourceResult(contents=[text])

    async def _resource(self, work: Callable[[], T]) -> T:
        """Do *work*; what goes wrong is an error of the protocol, for nothing else can be answered here."""

        def told_of() -> T:
            try:
                return work()
            except MemtoolError as error:
                raise _refused(error) from None
            except Exception as error:
                raise _refused(self.desk.bug(error)) from None

        return await self._apart(told_of)


def _refused(error: MemtoolError) -> MCPError:
    said = told.clean(told.error(error).value["error"])
    code = NO_RESOURCE if isinstance(error, PathError | PolicyError) else types.INTERNAL_ERROR
    code = types.INVALID_PARAMS if isinstance(error, UsageError) else code
    return MCPError(code, said["what"], said)


def _tool(tool: Tool) -> types.Tool:
    reads, destroys, repeats = tool.hints
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.words,
        input_schema=tool.takes,
        output_schema=tool.gives,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=reads,
            destructive_hint=destroys,
            idempotent_hint=repeats,
            open_world_hint=False,
        ),
    )


def writer_of(client: str) -> str:
    """Give the writer that a client is, by the name it gives itself.

    >>> writer_of("Claude Code"), writer_of("../etc"), writer_of("")
    ('agent/Claude-Code', 'agent/etc', 'agent/mcp')
    """
    name = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFKC", client))[:60].strip("-.")
    return f"agent/{name or 'mcp'}"


# -- standard input and output -----------------------------------------------------------------


def serve_stdio(reception: Reception) -> None:
    """Serve whoever started this process, until standard input ends or a signal comes."""
    try:
        anyio.run(_stdio, reception)
    finally:
        reception.close()


async def _stdio(reception: Reception) -> None:
    server, lines = reception.server(), Lines(reception)
    async with stdio_server(stdin=cast("Any", lines)) as (read, write):
        await server.run(read, write, server.create_initialization_options())


def be_quiet() -> None:
    """Keep the protocol's own log to what goes wrong, and away from standard output."""
    import logging

    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="memtool mcp: %(message)s")
