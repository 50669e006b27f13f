"""What waits for what among the tasks of another tool, where some are parts of others. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from runner.board.graph import reached
from runner.board.importing import Entry, Ref, ref_of


class Waiting:
    """The whole waits for its parts, and they wait for what it waits for, unless that makes a ring.

    `entries` has each entry by its id.
    """

    def __init__(self, entries: Mapping[Ref, Entry]) -> None:
        self._entries = entries
        self._whole: dict[Ref, Ref] = {}
        self._parts: dict[Ref, list[Ref]] = {}
        self._dependants: dict[Ref, list[Ref]] = {}
        for ref, entry in entries.items():
            for blocker in refs_of(entry.waits_for):
                self._dependants.setdefault(blocker, []).append(ref)
        for ref, entry in entries.items():
            whole = ref_of(entry.parent)
            if whole is None or whole not in entries or whole == ref:
                continue
            if ref not in self._after(whole):
                self._whole[ref] = whole
                self._parts.setdefault(whole, []).append(ref)
                self._dependants.setdefault(ref, []).append(whole)

    def blockers(self, entry: Entry) -> dict[Ref, int | str]:
        """What has to be done before the entry, each with its written form."""
        found = refs_of(entry.waits_for)
        ref = ref_of(entry.id)
        if ref is not None:
            found |= {part: self._entries[part].id or part for part in self._parts.get(ref, ())}
            found |= self._inherited(ref)
        return found

    def _inherited(self, ref: Ref) -> dict[Ref, int | str]:
        """What the wholes around a part wait for, their own parts left out."""
        found: dict[Ref, int | str] = {}
        for whole in self._wholes(ref):
            wanted = refs_of(self._entries[whole].waits_for)
            after = self._after(ref) if wanted else frozenset[Ref]()
            found |= {
                blocker: written
                for blocker, written in wanted.items()
                if blocker not in after and whole not in self._wholes(blocker)
            }
        return found

    def halted(self, ref: Ref) -> str | None:
        """Why a part should not be begun: what it is a part of is not to be worked on."""
        for whole in self._wholes(ref):
            entry = self._entries[whole]
            if entry.status != "pending":
                return f"it is a part of {entry.id}, which is {entry.status}"
            if entry.held is not None:
                return f"it is a part of {entry.id}, which is held"
        return None

    def _wholes(self, ref: Ref) -> Iterator[Ref]:
        """What it is a part of, from the inside out; there is no ring among them."""
        whole = self._whole.get(ref)
        while whole is not None:
            yield whole
            whole = self._whole.get(whole)

    def _after(self, ref: Ref) -> Collection[Ref]:
        return reached([ref], self._dependants)


def refs_of(ids: Iterable[int | str]) -> dict[Ref, int | str]:
    return {ref: written for written in ids if (ref := ref_of(written)) is not None}
