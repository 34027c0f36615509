"""Arguments of a tool -> the same, complete and within their limits: JSON schemas and what checks them.

The schema that an agent is shown is the one its arguments are held against. Knows only the few words of
JSON schema that are used here, and says what is wrong so that an agent can put it right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memtool.errors import UsageError

Schema = dict[str, Any]

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "null": (type(None),),
}


def text(words: str, most: int, *, least: int = 0, **more: Any) -> Schema:
    return {"type": "string", "description": words, "maxLength": most, "minLength": least, **more}


def choice(words: str, *values: str, **more: Any) -> Schema:
    return {"type": "string", "description": words, "enum": list(values), **more}


def number(words: str, least: int, most: int, default: int | None = None) -> Schema:
    known = {} if default is None else {"default": default}
    return {"type": "integer", "description": words, "minimum": least, "maximum": most, **known}


def flag(words: str, default: bool = False) -> Schema:
    return {"type": "boolean", "description": words, "default": default}


def texts(words: str, most: int, *, least: int = 0, each: int = 500) -> Schema:
    items = {"type": "string", "minLength": 1, "maxLength": each}
    return {"type": "array", "description": words, "items": items, "minItems": least, "maxItems": most}


def arguments(required: str = "", **fields: Schema) -> Schema:
    """Give the schema of what a tool takes; *required* names the fields that must be there."""
    return {
        "type": "object",
        "properties": fields,
        "required": required.split(),
        "additionalProperties": False,
    }


def results(required: str, **fields: Schema) -> Schema:
    """Give the schema of what a tool gives: the fields, or an error an agent can act on."""
    error = {
        "type": "object",
        "properties": {key: {"type": "string"} for key in ("code", "what", "why", "fix", "digest", "kept")},
        "required": ["code", "what"],
    }
    return {
        "type": "object",
        "properties": {**fields, "error": error},
        "anyOf": [{"required": required.split()}, {"required": ["error"]}],
    }


def checked(schema: Schema, given: Mapping[str, Any], tool: str) -> dict[str, Any]:
    """Give *given* with the defaults of what is missing. Raises UsageError.

    >>> checked(arguments("q", q=text("", 9), n=number("", 1, 5, 3)), {"q": "key"}, "search")
    {'q': 'key', 'n': 3}
    """
    fields = schema["properties"]
    for name in [*given, *schema["required"]]:
        if name not in fields:
            raise _wrong(tool, f"it has no argument `{name}`", f"its arguments are {', '.join(fields)}")
        if name not in given:
            raise _wrong(tool, f"`{name}` is missing", fields[name].get("description", ""))
    taken = {name: given[name] for name in fields if given.get(name) is not None or name in given}
    for name, value in taken.items():
        if problem := _problem(fields[name], value):
            raise _wrong(tool, f"`{name}` {problem}", fields[name].get("description", ""))
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    return {name: taken.get(name, defaults.get(name)) for name in fields if name in {**taken, **defaults}}


def _wrong(tool: str, why: str, hint: str) -> UsageError:
    return UsageError(f"`{tool}` cannot be called like that", why=why, fix=hint and f"{hint}; call it again")


def _problem(schema: Schema, value: Any) -> str:
    if "anyOf" in schema:
        found = [_problem(one, value) for one in schema["anyOf"]]
        return "" if "" in found else found[0]
    kind = schema["type"]
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return f"is not of type {kind}"
    if "enum" in schema:
        return "" if value in schema["enum"] else f"is none of {', '.join(schema['enum'])}"
    if kind == "integer":
        inside = schema["minimum"] <= value <= schema["maximum"]
        return "" if inside else f"is not between {schema['minimum']} and {schema['maximum']}"
    if isinstance(value, list):
        return _array_problem(schema, value)
    return _length_problem(schema, value) if isinstance(value, str) else ""


def _array_problem(schema: Schema, value: list[Any]) -> str:
    least, most = schema.get("minItems", 0), schema["maxItems"]
    if not least <= len(value) <= most:
        return f"has {len(value)} items, not {least} to {most}"
    return next(
        (f"has an item that {found}" for one in value if (found := _problem(schema["items"], one))), ""
    )


def _length_problem(schema: Schema, value: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        return "holds half a character"
    if "\0" in value:
        return "holds a NUL character"
    if len(value) > schema["maxLength"]:
        return f"has {len(value)} characters, at most {schema['maxLength']} are taken"
    return "is empty" if len(value.strip()) < schema.get("minLength", 0) else ""
