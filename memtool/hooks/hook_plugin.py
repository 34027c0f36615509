"""The program and the vault -> the text of the plugin that lets opencode call our hooks.

opencode has no hook commands: it loads JavaScript. What this plugin does is call `memtool hook opencode
EVENT` with the event as JSON, without a shell, and put what it says in front of the model. It uses
`chat.message` (parts may be added to the message), `tool.execute.after`,
`experimental.session.compacting` and the event `session.idle`. No failure of ours reaches opencode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

MARK = "// Written by `memtool hooks install opencode`; `memtool hooks uninstall opencode` removes it."

_TEXT = """\
import { spawn } from "node:child_process"

const PROGRAM = @PROGRAM@
const VAULT = @VAULT@
const RESIDENT = @RESIDENT@

// Gives what memtool says of an event, or "" when it says nothing, fails, or takes too long.
function call(event, told, limit) {
  return new Promise((resolve) => {
    const said = []
    const flags = event === "start" && RESIDENT ? ["--resident"] : []
    const words = [...PROGRAM.slice(1), "hook", "opencode", event, "--vault", VAULT, ...flags]
    const child = spawn(PROGRAM[0], words, { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => { child.kill(); resolve("") }, limit)
    const done = (text) => { clearTimeout(timer); resolve(text) }
    child.on("error", () => done(""))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => said.push(data))
    child.on("close", () => {
      try { done(JSON.parse(Buffer.concat(said).toString("utf8")).context || "") } catch { done("") }
    })
    child.stdin.end(JSON.stringify(told))
  })
}

export const MemtoolPlugin = async ({ client, directory }) => {
  const begun = new Set()

  async function messages(id) {
    try {
      const answer = await client.session.messages({ path: { id } })
      return answer?.data ?? answer ?? []
    } catch {
      return []
    }
  }

  async function keep(event, id) {
    if (id) await call(event, { session_id: id, cwd: directory, messages: await messages(id) }, 30000)
  }

  return {
    "chat.message": async (input, output) => {
      try {
        const id = input.sessionID
        const told = { session_id: id, cwd: directory }
        const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
        const said = []
        if (!begun.has(id)) {
          begun.add(id)
          said.push(await call("start", { ...told, source: "startup" }, 12000))
        }
        const prompt = texts.map((part) => part.text).join("\\n")
        said.push(await call("prompt", { ...told, prompt }, 4000))
        const text = said.filter(Boolean).join("\\n\\n")
        if (text) {
          const part = { sessionID: id, messageID: output.message.id, type: "text", text, synthetic: true }
          output.parts.push({ id: `prt_memtool${Date.now()}`, ...part })
        }
      } catch {}
    },
    "tool.execute.after": async (input, output) => {
      try {
        const code = output.metadata?.exit
        const response = { output: String(output.output ?? ""), exit: typeof code === "number" ? code : 0 }
        const told = { session_id: input.sessionID, cwd: directory, tool_name: input.tool }
        call("tool", { ...told, tool_input: input.args ?? {}, tool_response: response }, 4000)
      } catch {}
    },
    "experimental.session.compacting": async (input) => {
      try { await keep("compact", input.sessionID) } catch {}
    },
    event: async ({ event }) => {
      try {
        if (event.type === "session.idle") await keep("stop", event.properties.sessionID)
      } catch {}
    },
  }
}
"""


def render(program: Sequence[str], vault: str, resident: bool) -> str:
    """Write the plugin; every word of ours is a JSON text in it, so no path can be code.

    >>> "const VAULT = \\"/a\\\\\\"; b\\"" in render(["/bin/memtool"], '/a"; b', False)
    True
    """
    text = _TEXT.replace("@RESIDENT@", "true" if resident else "false", 1)
    text = text.replace("@PROGRAM@", _script(list(program)), 1)
    head, _, tail = text.partition("@VAULT@")
    return f"{MARK}\n{head}{_script(vault)}{tail}"


def _script(value: object) -> str:
    return json.dumps(value)


def programs(text: str) -> list[str]:
    """Give the program that a plugin calls."""
    found = re.search(r"^const PROGRAM = (\[.*\])$", text, re.MULTILINE)
    told = json.loads(found[1]) if found else []
    return [word for word in told[:1] if isinstance(word, str)]
