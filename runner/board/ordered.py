"""A collection that is kept in order while it changes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

# tuples of what compares; a bound that says so would need every element of them to say it too
_T = TypeVar("_T", bound=tuple[Any, ...])
_FEW = 16


class Ordered(Generic[_T]):
    """Different items in ascending order. Many new ones cost one sort, when they are next needed.

    For one thread at a time.
    """

    def __init__(self) -> None:
        self._items: list[_T] = []
        self._new: list[_T] = []

    def add(self, item: _T) -> None:
        self._new.append(item)

    def remove(self, item: _T) -> None:
        """Take out an item that is there."""
        items = self._settled()
        del items[bisect_left(items, item)]

    def __iter__(self) -> Iterator[_T]:
        """Walks on from the last item, whatever happens to the collection meanwhile.

        No copy is made: whoever asks for the first of thousands pays for one.
        """
        items, at = self._settled(), 0
        while at < len(items):
            item = items[at]
            yield item
            items, at = self._settled(), at + 1
            if at > len(items) or items[at - 1] is not item:
                at = bisect_right(items, item)

    def _settled(self) -> list[_T]:
        if len(self._new) <= _FEW:
            for item in self._new:
                insort(self._items, item)
        else:
            self._items += self._new
            self._items.sort()
        self._new.clear()
        return self._items
