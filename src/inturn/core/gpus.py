"""What `nvidia-smi` reports, and the pool that follows from it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

# What `read_cards` expects, in this order.
QUERY = ("--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader")
LIST = ("-L",)

_MIB = 2**20


class Card(NamedTuple):
    """A graphics card. `memory` is in bytes, None if it was not told.

    `parts` are its MIG instances, by their UUIDs with their profiles: while it has some, it is used by them
    alone. Its number is nvidia-smi's, by the place on the bus.
    """

    number: int
    uuid: str
    name: str
    memory: int | None
    parts: tuple[tuple[str, str], ...] = ()


def read_cards(table: str, listing: str) -> list[Card]:
    """The cards in the answers to QUERY and to LIST. Raises ValueError for a line that is no card."""
    parts = _parts(listing)
    return [_card(line, parts) for line in table.splitlines() if line.strip()]


def _card(line: str, parts: Mapping[str, list[tuple[str, str]]]) -> Card:
    # A name may have a comma in it, the other fields have none.
    fields = [field.strip() for field in line.split(",")]
    if len(fields) < len(Card._fields) - 1:
        raise ValueError(line)
    index, uuid, *name, memory = fields
    if not (index.isascii() and index.isdigit() and name and _is_uuid(uuid)):
        raise ValueError(line)
    return Card(int(index), uuid, ", ".join(name), _bytes(memory), tuple(parts.get(uuid, ())))


def _is_uuid(word: str) -> bool:
    return word.startswith(("GPU-", "MIG-")) and word.isascii() and word.replace("-", "").isalnum()


def _bytes(memory: str) -> int | None:
    """`40960 MiB` in bytes; cards that share the memory of the machine say `[N/A]`."""
    number, _, unit = memory.partition(" ")
    if unit == "MiB" and number.isascii() and number.isdigit():
        return int(number) * _MIB
    return None


def _parts(listing: str) -> dict[str, list[tuple[str, str]]]:
    """The MIG instances of each card. They stand below it: `  MIG 1g.5gb  Device  0: (UUID: MIG-…)`."""
    found: dict[str, list[tuple[str, str]]] = {}
    card = ""
    for line in listing.splitlines():
        uuid = line.rpartition("(UUID: ")[2].rstrip(") ")
        if line.startswith("GPU ") and _is_uuid(uuid):
            card = uuid
        elif line.startswith((" ", "\t")) and line.split()[:1] == ["MIG"] and _is_uuid(uuid):
            found.setdefault(card, []).append((uuid, line.split()[1]))
    return found


def devices(cards: Sequence[Card]) -> list[str]:
    """The devices of a pool of all these cards, as CUDA_VISIBLE_DEVICES takes them.

    Numbers, where all cards are alike. Otherwise UUIDs: CUDA counts the fastest card first, nvidia-smi does
    not, and an instance of a card has no number of its own.
    """
    return [device for device, _ in _described(cards)]


def yaml(name: str, cards: Sequence[Card]) -> str:
    """A whole configuration file that declares the pool, each device with a remark on what it is."""
    lines = ["schema_version: 1", "concurrency:", "  pools:", f"    {_quoted(name)}:", "      devices:"]
    lines += (f"        - {device}  # {remark}" for device, remark in _described(cards))
    return "\n".join(lines)


def _described(cards: Iterable[Card]) -> Iterator[tuple[str, str]]:
    cards = list(cards)
    alike = len({card.name for card in cards}) <= 1 and not any(card.parts for card in cards)
    for card in cards:
        memory = "" if card.memory is None else f", {card.memory // _MIB} MiB"
        told = _harmless(f"{card.number}: {card.name}{memory}")
        if card.parts:
            for uuid, profile in card.parts:
                yield uuid, f"{told}, MIG {_harmless(profile)}"
        else:
            yield str(card.number) if alike else card.uuid, told


def _harmless(text: str) -> str:
    """In a comment of YAML anything may stand that is printable."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _quoted(name: str) -> str:
    """A pool's name as a key: one like `1` or `no` would be taken for a number or a boolean."""
    return name if name.isalpha() and name.lower() not in _WORDS else f'"{name}"'


_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
