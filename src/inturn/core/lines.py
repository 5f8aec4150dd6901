"""A file of submissions: one JSON object a line, with references between the lines."""

from __future__ import annotations

from inturn.core.array import expand
from inturn.core.duration import quoted
from inturn.core.options import OPTIONS, read
from inturn.core.request import Surroundings, apply_defaults, build
from inturn.core.spec import Spec
from inturn.core.values import encode
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from inturn.core.moment import Now
    from inturn.core.spec import Submission

    # The keys of a line, and what all but those of VARIED say.
    Pattern = tuple[tuple[str, ...], str]

# What a line may have besides the options of a submission.
OWN_KEYS = ("command", "ref", "array", "each")

# In what the lines of a large file differ, while all else that they say is understood once.
VARIED = frozenset(("command", "c", "name", "key", "ref"))
# So many lines are kept as patterns of others; a file in which no two are alike has no use for them.
_MOST_PATTERNS = 1000


def parse_lines(
    text: bytes,
    path: str,
    defaults: Mapping[str, object],
    surroundings: Surroundings,
    now: Now,
    finish: Callable[[Mapping[str, object]], Mapping[str, object]],
) -> list[Submission]:
    """The submissions of a file, arrays expanded; blank lines say nothing.

    `defaults` fill what a line leaves open; `finish` reads the files that options name. Raises InturnError,
    each naming the file and the line: `usage` for what is no object or has unknown keys, and whatever
    `request.build` raises.
    """
    from json import JSONDecoder

    decoder = JSONDecoder(object_pairs_hook=_without_repetition)
    found: list[Submission] = []
    patterns: dict[Pattern, Submission] = {}
    for number, line in enumerate(text.split(b"\n"), start=1):
        if not line.strip():
            continue
        origin = f"{path}:{number}"
        try:
            value = _decode(decoder, line)
            pattern = _pattern(value)
            alike = patterns.get(pattern)
            if alike is not None:
                one = _like(alike, value, origin, now)
                if one is not None:
                    found.append(one)
                    continue
            made = submissions(value, origin, defaults, surroundings, now, finish)
            if len(patterns) < _MOST_PATTERNS and "array" not in value:
                patterns[pattern] = made[0]
            found += made
        except InturnError as error:
            raise InturnError(error.code, f"{origin}: {error.message}", error.hint) from None
    if not found:
        raise InturnError("usage", f"{path}: there is no job in it", "Write one JSON object a line.")
    return found


def _pattern(line: dict[str, Any]) -> Pattern:
    """Equal for lines that differ in VARIED alone; not for 1 and true, which Python takes for the same."""
    others = [value for name, value in line.items() if name not in VARIED]
    return tuple(line), repr(others) if others else ""


def _like(alike: Submission, line: Mapping[str, Any], origin: str, now: Now) -> Submission | None:
    """The submission of a line with the pattern of an earlier one; None if it is not that simple.

    Then something may be wrong with it, and `submissions` says what.
    """
    try:
        argv = _argv(line, now)
        name = read("name", line["name"], now, str) if "name" in line else alike.name
        key = read("key", line["key"], now, str) if "key" in line else alike.key
        ref = _ref(line)
    except (InturnError, TypeError, ValueError):
        return None
    if argv is None:
        return None
    spec = Spec._make((argv, *alike.spec[1:]))
    return alike._replace(spec=spec, name=name, key=key, ref=ref, origin=origin)


def _argv(line: Mapping[str, Any], now: Now) -> tuple[bytes, ...] | None:
    """The arguments of a plain command, or of one for the shell; None for anything else."""
    if "c" in line:
        return None if "command" in line else (b"sh", b"-c", read("c", line["c"], now, str))
    words = line.get("command")
    if not isinstance(words, list):
        return None
    argv = tuple("\0".join(words).encode("utf-8", "surrogateescape").split(b"\0"))
    return argv if len(argv) == len(words) else None


def _decode(decoder: Any, line: bytes) -> dict[str, Any]:
    try:
        value = _scan(decoder, line.decode())
    except (ValueError, RecursionError) as problem:
        raise InturnError("usage", f"not JSON: {problem}", "Write one JSON object a line.") from None
    if not isinstance(value, dict):
        raise InturnError("usage", "not a JSON object", 'Write for example: {"command": ["make", "test"]}')
    return value


def _scan(decoder: Any, text: str) -> Any:
    """What `decode` gives, sooner for an object without anything around it."""
    try:
        value, end = decoder.scan_once(text, 0)
    except StopIteration:
        end = None
    return value if end == len(text) else decoder.decode(text)


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def submissions(
    line: Mapping[str, Any],
    origin: str,
    defaults: Mapping[str, object],
    surroundings: Surroundings,
    now: Now,
    finish: Callable[[Mapping[str, object]], Mapping[str, object]],
) -> list[Submission]:
    """The submissions of one line, several if it is an array; `origin` is how messages call the line.

    Raises InturnError as `parse_lines`, but names no line.
    """
    for name in line:
        if name not in OPTIONS and name not in OWN_KEYS:
            raise InturnError(
                "usage",
                f"{quoted(name)}: there is no such key",
                "Keys are the long options with underscores.",
            )
    values = {name: value for name, value in line.items() if name in OPTIONS}
    values = dict(finish(apply_defaults(values, defaults, surroundings.supervised)))
    argv = _command(line)
    one = build(values, surroundings._replace(argv=argv), now, lambda name: name)
    one = one._replace(origin=origin, ref=_ref(line), index_by_index=_each(line))
    if "array" not in line:
        return [one]
    return expand(one, _array(line["array"]))


def _array(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InturnError("invalid_value", "array: not a text", 'Write for example: "array": "1-4,7%2"')
    return str(value)


def _command(line: Mapping[str, Any]) -> tuple[bytes, ...] | None:
    if "command" not in line:
        return None
    words = line["command"]
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise InturnError(
            "invalid_value", "command: not a list of texts", 'Write for example: "command": ["make", "test"]'
        )
    try:
        return tuple(map(encode, words))
    except InturnError as problem:
        raise InturnError(problem.code, f"command: {problem.message}", problem.hint) from None


def _ref(line: Mapping[str, Any]) -> str | None:
    ref = line.get("ref")
    if ref is not None and (not isinstance(ref, str) or not ref or not ref.isprintable()):
        raise InturnError("invalid_value", "ref: not a printable text", 'Write for example: "ref": "prepare"')
    return ref


def _each(line: Mapping[str, Any]) -> bool:
    each = line.get("each", False)
    if not isinstance(each, bool) or (each and "array" not in line):
        raise InturnError(
            "usage",
            "each: it goes with array, and is true or false",
            "Give the line an array, or leave it out.",
        )
    return each
