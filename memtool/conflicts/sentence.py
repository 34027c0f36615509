"""A sentence -> what it speaks of, and what it says of it: its two halves.

By its copula, by who does what ("Mio owns the vault"), by the last preposition, by は. English and
Japanese; ("", "") where no such form is seen. Pure.
"""

from __future__ import annotations

import re
from functools import cache

_ROLE = (
    r"(?:owns|leads|maintains|manages|runs|handles|chairs|heads|coaches|supervises|coordinates|directs"
    r"|approves|reviews|hosts|teaches|drives"
    r"|(?:is|was)\s+(?:now\s+)?(?:responsible\s+for|in\s+charge\s+of|the\s+\w+(?:\s+\w+)?\s+(?:of|for)"
    r"|accountable\s+for|on\s+call\s+for)|takes\s+care\s+of|looks\s+after|is\s+looking\s+after)"
)
_NAME = (
    r"(?:[A-ZÀ-Þ][\w.'’À-ɏ-]*"
    r"(?:\s+(?:[A-ZÀ-Þ][\w.'’À-ɏ-]*|van|de|da|von|bin|al))*(?:\s+and\s+[A-ZÀ-Þ][\w-]*)?)"
)


@cache
def _doer() -> re.Pattern[str]:
    return re.compile(
        rf"^(?P<who>(?!The\b|This\b|It\b|That\b|Our\b|A\b|An\b|Each\b|Every\b){_NAME})\s+(?P<does>{_ROLE})\s+(?P<what>.+)$"
    )


@cache
def _does() -> re.Pattern[str]:
    return re.compile(
        rf"^(?P<who>(?!The\b|This\b|It\b|That\b|Our\b|A\b|An\b|Each\b|Every\b|In\b|On\b|We\b|You\b|All\b|No\b){_NAME})\s+(?P<does>[a-z]+(?:ed|s|id|ilt|t|ew|ote))\s+(?P<what>(?:the|our|its|all|every)\s.+)$"
    )


@cache
def _done_by() -> re.Pattern[str]:
    return re.compile(
        rf"^(?P<what>.+?\b(?:is|are|was|were|gets|be)\s+(?:\w+\s+)?\w+(?:ed|en|wn|un|ld|ept|ent|ght|id|ilt|de)\b.*?)\s+(?:by|on|in|at|with|from|to|via)\s+(?:the\s+)?(?P<who>{_NAME})\b(?P<more>.*)$"
    )


@cache
def _on() -> re.Pattern[str]:
    return re.compile(
        rf"^(?P<what>.+?\b[a-z]+s?\b)\s+(?P<how>on|in|at|to|with|from|via|using|through|against|into)\s+(?:the\s+)?(?P<who>{_NAME}|[a-z]+(?:-[a-z0-9]+)+)[.\s]*$"
    )


@cache
def _is() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:is|are|was|were|equals|becomes|remains|stays|must be|has to be|can be|gets|get|has|have"
        r"|must|can|cannot|may|needs|takes|costs|does|do|don't|doesn't|isn't|aren't|can't)\b"
    )


_WA = re.compile(
    r"(?<=[^\W\d_A-Za-z])(?:とは|には|では|へは|は)(?![、,]?\s*$)、?|(?<=[A-Za-z0-9)」])\s?(?:には|では"
    r"|は)、?"
)
_GA = re.compile(
    r"(?P<who>[一-龯々ァ-ヺーA-Za-z]+(?:さん|氏|様|部|課|チーム)?)が(?P<what>[^、。]+?)(?:を"
    r"|の)(?P<does>担当|管理|主導|統括|運営|指揮|監督|兼任|所有|レビュー|承認)"
)


def parted(text: str) -> tuple[str, str]:
    """Part a sentence: what it speaks of, and what it says of it.

    >>> parted("Mio owns the vault."), parted("The vault is owned by Mio.")
    (('owns the vault.', 'Mio'), ('The vault is owned  .', 'Mio'))
    >>> parted("経理の担当は田中です")
    ('経理の担当', '田中です')
    """
    if found := _doer().match(text):
        return f"{found['does']} {found['what']}", found["who"]
    if found := _does().match(text):
        return f"{found['does']} {found['what']}", found["who"]
    if found := _done_by().match(text):
        return f"{found['what']} {found['more']}" if found["more"].strip(
            " ."
        ) else f"{found['what']}  .", found["who"]
    if found := _GA.match(text):
        return f"{found['what']}の{found['does']}", found["who"]
    if found := next(reversed(list(_WA.finditer(text))), None):
        return (text[: found.start()], text[found.end() :]) if found.start() else ("", "")
    if found := _on().match(text):
        return f"{found['what']}", found["who"]
    if found := _is().search(text):
        return (text[: found.start()], text[found.end() :]) if found.start() else ("", "")
    return "", ""
