"""Lines of a body -> its blocks: headings, paragraphs, lists, fences, tables and the rest, in order.

markdown-it-py decides what is what; notes whose shape is beyond doubt, which most are, are spared
it. Knows nothing of what a block is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from memtool.chunks.plain_blocks import Block, Structure, scan

_KINDS = {
    "paragraph_open": "paragraph", "heading_open": "heading", "fence": "fence", "code_block": "code",
    "bullet_list_open": "list", "ordered_list_open": "list", "blockquote_open": "quote",
    "table_open": "table", "html_block": "html", "hr": "rule",
}  # fmt: skip


def read_blocks(lines: Sequence[str], first: int = 0) -> Structure:
    """Part *lines*, from *first* on, into blocks; every line that is not blank is in one of them."""
    blocks, reached = scan(lines, first)
    if reached == len(lines):
        return Structure(blocks, [])
    # A top-level block owes nothing to what stands above it, so the rest can be read by itself.
    rest = ask_markdown(lines, reached)
    return Structure(blocks + rest.blocks, rest.unclosed)


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt  # late: most notes do not need it

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def ask_markdown(lines: Sequence[str], first: int = 0) -> Structure:
    """Part *lines*, from *first* on, into blocks as markdown-it-py sees them."""
    # Blank lines keep the count right. It also ends lines at a lone carriage return; here none does.
    tokens = _parser().parse("\n" * first + "\n".join(lines[first:]).replace("\r", " "))
    blocks: list[Block] = []
    unclosed: list[tuple[int, str]] = []
    for place, token in enumerate(tokens):
        if token.type == "list_item_open" and token.level == 1:
            blocks[-1] = blocks[-1]._replace(seams=(*blocks[-1].seams, token.map[0]))
        elif token.type == "fence" and not _is_closed(lines, token):
            unclosed.append((token.map[0], "fence"))
        elif token.type == "html_block" and token.content.startswith("<!--") and "-->" not in token.content:
            unclosed.append((token.map[0], "comment"))
        if token.level == 0 and token.map and token.type in _KINDS:
            blocks.append(_block(lines, tokens, place))
    return Structure(_join_comments(_with_definitions(lines, first, blocks), lines), unclosed)


def _block(lines: Sequence[str], tokens: Sequence[Any], place: int) -> Block:
    token = tokens[place]
    kind, (start, end) = _KINDS[token.type], token.map
    while end > start + 1 and not lines[end - 1].strip(" \t"):
        end -= 1
    if kind == "heading":
        text = " ".join(line.strip() for line in tokens[place + 1].content.split("\n"))
        return Block(kind, start, end, int(token.tag[1]), text.strip())
    return Block(kind, start, end, seams=tuple(range(start + 2, end)) if kind == "table" else ())


def _is_closed(lines: Sequence[str], token: Any) -> bool:
    start, end = token.map
    last = lines[min(end, len(lines)) - 1].lstrip("> \t").rstrip(" \t")
    return end > start + 1 and len(last) >= len(token.markup) and not last.strip(token.markup[0])


def _with_definitions(lines: Sequence[str], first: int, blocks: Sequence[Block]) -> list[Block]:
    """Fill in the lines that give markdown-it no block: definitions of links."""
    every: list[Block] = []
    number = first
    for block in [*blocks, Block("", len(lines), len(lines))]:
        while number < block.start:
            end = number + 1
            if lines[number].strip(" \t"):
                while end < block.start and lines[end].strip(" \t"):
                    end += 1
                every.append(Block("definition", number, end))
            number = end
        every.append(block)
        number = block.end
    return every[:-1]


def _join_comments(blocks: list[Block], lines: Sequence[str]) -> list[Block]:
    """Make one block of all that stands between two %% or two $$: what looks like a heading there is none."""
    joined: list[Block] = []
    place = 0
    while place < len(blocks):
        last = _closing_block(blocks, place, lines)
        block = blocks[place]
        joined.append(block if last == place else Block("comment", block.start, blocks[last].end))
        place = last + 1
    return joined


def _closing_block(blocks: Sequence[Block], place: int, lines: Sequence[str]) -> int:
    first = blocks[place]
    mark = lines[first.start][:2]
    if first.kind != "paragraph" or mark not in ("%%", "$$") or not _is_odd(first, mark, lines):
        return place
    for later in range(place + 1, len(blocks)):
        if blocks[later].kind != "fence" and _is_odd(blocks[later], mark, lines):
            return later
    return place


def _is_odd(block: Block, mark: str, lines: Sequence[str]) -> bool:
    return sum(line.count(mark) for line in lines[block.start : block.end]) % 2 == 1
