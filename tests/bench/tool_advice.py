"""How well advice finds the best tool in made-up histories: `python tests/bench/tool_advice.py [SEEDS]`.

Each history has three kinds of task, three tools for each with two or three ways of calling them, hidden
chances of success, errors of their own, and calls of all other kinds between. Then the best way of one task
breaks, and whoever asks follows the advice: counted is how many results it takes to advise another.
"""

from __future__ import annotations

import random
import statistics
import sys
from typing import NamedTuple

from memtool.tools import tool_calls, tool_record, toolmemory

TASKS = {
    "fetch": ("fetch the page of {}", "download the article about {}", "get the web page {}"),
    "table": ("read the table in {}", "extract the rows of the sheet {}", "parse the spreadsheet {}"),
    "予約": ("{}の予約を取る", "{}の席を予約する", "{}の予約を入れる"),
}
TOOLS = {
    "fetch": ("browse", "curl", "reader"),
    "table": ("sheets", "pandas", "csvkit"),
    "予約": ("窓口", "web-form", "phone"),
}
MODES = ("fast", "safe", "raw")
ERRORS = (
    "timeout after {} s",
    "HTTP 5{:02d} from host-{}.example",
    "file /tmp/{}/x not found",
    "接続できません: {}",
)
THINGS = ("apples", "badgers", "川端", "大会", "minutes", "invoices", "松", "boats")
DAY = 86_400.0


class World(NamedTuple):
    """The hidden chances: by kind of task, tool and mode."""

    chances: dict[tuple[str, str, str], float]

    def best(self, kind: str) -> tuple[str, str]:
        found = {way[1:]: chance for way, chance in self.chances.items() if way[0] == kind}
        return max(found, key=lambda way: found[way])

    def chance(self, kind: str, way: tuple[str, str]) -> float:
        return self.chances[kind, *way]


def world(random_: random.Random) -> World:
    """Draw chances in which one way of each task is clearly best."""
    chances = {}
    for kind, tools in TOOLS.items():
        ways = [(kind, tool, mode) for tool in tools for mode in MODES]
        for way in ways:
            chances[way] = random_.uniform(0.05, 0.5)
        chances[random_.choice(ways)] = random_.uniform(0.85, 0.98)
    return World(chances)


class History:
    """Calls that were logged, as sums."""

    def __init__(self, world: World, random_: random.Random) -> None:
        self.world, self.random, self.sums, self.now = world, random_, {}, 1_780_000_000.0

    def call(self, kind: str, tool: str, mode: str) -> bool:
        ok = self.random.random() < self.world.chance(kind, (tool, mode))
        number = self.random.randrange(10, 99)
        error = "" if ok else self.random.choice(ERRORS).format(number, number)
        params = {"target": f"/data/{number}/{self.random.choice(THINGS)}.bin", "mode": mode, "n": number}
        entry = {
            "t": tool,
            "w": self.now,
            "ok": ok,
            "p": tool_calls.keep(params, str),
            "k": "" if ok else tool_calls.error_kind(error),
            "task": self.task(kind),
            "ms": self.random.uniform(50, 3000),
        }
        self.now += self.random.uniform(60, DAY)
        tool_record.absorb(self.sums, entry)
        return ok

    def task(self, kind: str) -> str:
        return self.random.choice(TASKS[kind]).format(self.random.choice(THINGS))

    def advice(self, kind: str) -> tuple[str, str]:
        found = toolmemory.advise(list(tool_record.ways(self.sums)), self.task(kind))
        return (found[0].tool, str(found[0].params.get("mode"))) if found else ("", "")


def play(seed: int, trials: int = 12) -> tuple[int, int, int]:
    """Play one history: kinds of task advised rightly, kinds asked, results until a broken way is left."""
    random_ = random.Random(seed)
    history = History(world(random_), random_)
    calls = [way for way in history.world.chances for _ in range(trials)]
    random_.shuffle(calls)
    for way in calls:
        history.call(*way)
    right = sum(history.advice(kind) == history.world.best(kind) for kind in TASKS)
    kind = random_.choice(list(TASKS))
    broken = history.world.best(kind)
    history.world.chances[kind, *broken] = 0.03
    results = 0
    while history.advice(kind) == broken and results < 50:
        history.call(kind, *broken)
        results += 1
    return right, len(TASKS), results


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for trials in (6, 12, 30):
        played = [play(seed, trials) for seed in range(seeds)]
        right = sum(one[0] for one in played) / sum(one[1] for one in played)
        left = sorted(one[2] for one in played)
        ninety = left[int(len(left) * 0.9)]
        told = f"left after {statistics.median(left)} results, nine in ten after {ninety}"
        print(f"{trials} calls a way: right {right:.1%}; {told}")


if __name__ == "__main__":
    main()
