"""Notes whose links say what their words do not: a project links to notes that never repeat its name.

Every project has a meeting, a budget and a place; the notes of all projects use the same words.
"""

from __future__ import annotations

import json
from pathlib import Path

EN = ("Atlas", "Borealis", "Cinder", "Dovetail", "Ember", "Foxglove", "Gantry", "Harbour")
JA = ("曙計画", "飛燕計画", "若葉計画", "白樺計画", "朝凪計画", "深山計画", "初霜計画", "常盤計画")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Monday")
曜日 = "月火水木金土日月"


def plant(folder: Path) -> Path:
    """Write the vault and its questions; gives the file of the questions."""
    cases = []
    for at, name in enumerate(EN):
        note(
            folder,
            f"projects/{name}.md",
            f"# {name}\n\n- meets [[sync {at}]]\n- cost [[money {at}]]\nbase:: [[site {at}]]\n",
        )
        note(
            folder,
            f"meetings/sync {at}.md",
            f"# Weekly sync\n\nThe team meets every {DAYS[at]} at {at + 8} in room {at * 3 + 1}.\n",
        )
        note(
            folder,
            f"money/money {at}.md",
            f"# Budget\n\nThe budget of the project is {at * 7 + 20} thousand for this year.\n",
        )
        note(
            folder,
            f"sites/site {at}.md",
            f"# Site\n\nThe workshop stands at number {at * 5 + 2}, Quay Street.\n",
        )
        cases += [
            (f"When does the {name} team meet?", f"meetings/sync {at}.md"),
            (f"What is the budget of {name}?", f"money/money {at}.md"),
            (f"Where is the workshop of {name}?", f"sites/site {at}.md"),
        ]
    for at, name in enumerate(JA):
        note(folder, f"計画/{name}.md", f"# {name}\n\n- 会議 [[定例{at}]]\n- 費用 [[予算{at}]]\n")
        note(
            folder,
            f"会議/定例{at}.md",
            f"# 定例会議\n\n定例会議は毎週{曜日[at]}曜日の{at + 9}時から、第{at + 1}会議室で開く。\n",
        )
        note(folder, f"費用/予算{at}.md", f"# 予算\n\n今年の予算は{at * 30 + 100}万円と決まった。\n")
        cases += [
            (f"{name}の定例会議は何曜日?", f"会議/定例{at}.md"),
            (f"{name}の今年の予算はいくら?", f"費用/予算{at}.md"),
        ]
    lines = [
        json.dumps(
            {
                "id": str(n),
                "query": question,
                "vault": folder.name,
                "gold": [{"path": path, "start_line": 3, "end_line": 3}],
            },
            ensure_ascii=False,
        )
        for n, (question, path) in enumerate(cases)
    ]
    file = folder.parent / "queries.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def note(folder: Path, path: str, text: str) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
