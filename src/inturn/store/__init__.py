"""The only SQL: one SQLite file coordinates every process."""

import _collections_abc
import sys

# apsw asks for `collections.abc`, another name of a module that is always there, and would bring the whole of
# `collections` with it: 0.4 MB of each waiting supervisor and a millisecond of each command. It is given the
# one for the other while it is loaded; whoever asks later gets the real ones.
if "collections" not in sys.modules:
    sys.modules["collections"] = sys.modules["collections.abc"] = _collections_abc
    try:
        import apsw  # noqa: F401
    except (AttributeError, ImportError):
        pass  # It wants more than that. It is loaded again, with everything, where it is needed.
    finally:
        del sys.modules["collections"], sys.modules["collections.abc"]
