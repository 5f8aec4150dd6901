from __future__ import annotations

import ast
import copy
import pickle
import subprocess
import sys

import pytest

from inturn.core.moment import Deadline
from tests.arch.sources import modules, parse, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple


class Point(NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str = "here"

    @property
    def total(self) -> int:
        return self.x + self.y

    def moved(self, by: int) -> Point:
        return self._replace(x=self.x + by)

    @classmethod
    def origin(cls) -> Point:
        return cls(0, 0)


class Empty(NamedTuple):
    """Nothing."""


def test_a_record_is_a_tuple_of_its_fields_in_their_order() -> None:
    assert Point._fields == ("x", "y", "label")
    assert tuple(Point(1, 3)) == (1, 3, "here")
    assert isinstance(Point(1), tuple)
    assert Empty() == ()


def test_defaults_belong_to_the_last_fields_and_the_others_must_be_given() -> None:
    assert Point(1) == Point(x=1, y=2, label="here")
    with pytest.raises(TypeError, match="x"):
        Point()  # type: ignore[call-arg]


def test_a_record_cannot_be_changed_and_takes_no_other_fields() -> None:
    point = Point(1)
    with pytest.raises(AttributeError):
        point.x = 5  # type: ignore[misc]
    with pytest.raises((ValueError, TypeError), match="z"):
        point._replace(z=5)  # type: ignore[call-arg]


def test_methods_properties_and_the_docstring_are_kept() -> None:
    assert Point(1).total == 3
    assert Point(1).moved(4) == Point(5)
    assert Point.origin() == Point(0, 0)
    assert Point.__doc__ == "A point."
    assert (Point.__name__, Point.__module__) == ("Point", __name__)
    assert repr(Point(1)) == "Point(x=1, y=2, label='here')"


def test_a_record_can_be_hashed_copied_and_pickled() -> None:
    point = Point(1)
    assert {point: "there"}[Point(1)] == "there"
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point
    assert pickle.loads(pickle.dumps(Deadline(1, "boot", 2))) == Deadline(1, "boot", 2)


def test_no_record_of_the_package_has_a_default_before_a_field_without_one() -> None:
    # `typing.NamedTuple` refuses that when it is run; the stand-in leaves it to the type checker and to us.
    guilty = [
        f"{shown(path, node)}: {node.name}"
        for _, path in modules()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases)
        if _defaults(node) != sorted(_defaults(node))
    ]
    assert not guilty, guilty


def _defaults(record: ast.ClassDef) -> list[bool]:
    return [statement.value is not None for statement in record.body if isinstance(statement, ast.AnnAssign)]


def test_declaring_a_record_does_not_load_typing() -> None:
    program = "import sys; import inturn.core.job; sys.exit('typing' in sys.modules)"
    assert subprocess.run([sys.executable, "-I", "-S", "-c", _with_path(program)]).returncode == 0


def _with_path(program: str) -> str:
    import inturn

    root = inturn.__path__[0].rsplit("/", 1)[0]
    return f"import sys; sys.path.insert(0, {root!r}); {program}"
