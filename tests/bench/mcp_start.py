"""How long an MCP client waits: from starting the server to the answered `initialize`, and to answers.

python tests/bench/mcp_start.py VAULT [RUNS]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def ask(server: subprocess.Popen[str], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert server.stdin and server.stdout
    server.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
    )
    server.stdin.flush()
    answer: dict[str, Any] = json.loads(server.stdout.readline())
    assert "result" in answer and not answer["result"].get("isError"), answer
    return answer


def once(vault: str) -> dict[str, float]:
    start = time.perf_counter()
    command = [sys.executable, "-m", "memtool", "mcp", "--vault", vault]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        times = {"initialize": start}
        ask(server, 1, "initialize", HELLO)
        times["initialize"] = time.perf_counter() - start
        assert server.stdin
        server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        for number in (2, 3, 4):
            before = time.perf_counter()
            ask(
                server,
                number,
                "tools/call",
                {"name": "search", "arguments": {"question": "where is the key"}},
            )
            times[f"search {number - 1}"] = time.perf_counter() - before
        before = time.perf_counter()
        server.stdin.close()
        server.wait()
        times["end"] = time.perf_counter() - before
    return times


def bare(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def main() -> None:
    vault, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    ran = [once(vault) for _ in range(runs)]
    for name in ran[0]:
        print(f"{name:<24} {statistics.median(one[name] for one in ran):.3f} s")
    for code in ("pass", "import mcp.server.lowlevel"):
        print(f"{code:<24} {statistics.median(bare(code) for _ in range(runs)):.3f} s")


if __name__ == "__main__":
    main()
