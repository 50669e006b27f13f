"""Agent files as people may have them: the case files, damaged in every way we could think of."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

Chance = random.Random
Mutation = Callable[[bytes, Chance], bytes]


def damaged(shapes: Sequence[bytes], count: int) -> Iterator[bytes]:
    """`count` files, the same ones at every call; the first are the shapes themselves."""
    chance = random.Random(7)  # noqa: S311 - the same files every time
    for number in range(count):
        data = shapes[number % len(shapes)]
        for _ in range(chance.choice([1, 1, 1, 2, 4]) if number >= len(shapes) else 0):
            data = chance.choice(MUTATIONS)(data, chance)
        yield data


def _truncated(data: bytes, chance: Chance) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _with_flipped_bytes(data: bytes, chance: Chance) -> bytes:
    changed = bytearray(data)
    for _ in range(min(len(changed), 3)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _with_shuffled_lines(data: bytes, chance: Chance) -> bytes:
    lines = data.split(b"\n")
    inner = lines[1:8]
    chance.shuffle(inner)
    return b"\n".join([*lines[:1], *inner, *lines[8:]])


def _with_line_twice(data: bytes, chance: Chance) -> bytes:
    lines = data.split(b"\n")
    lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    return b"\n".join(lines)


def _without_a_line(data: bytes, chance: Chance) -> bytes:
    lines = data.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


def _with_indented_line(data: bytes, chance: Chance) -> bytes:
    lines = data.split(b"\n")
    lines[chance.randrange(len(lines))] = chance.choice([b" ", b"\t", b"  - "]) + b"x: y"
    return b"\n".join(lines)


def _with_other_value(data: bytes, chance: Chance) -> bytes:
    """A key of the front matter gets a value that YAML reads in its own way."""
    values = [b"*", b"[]", b"~", b"{a: b}", b"a: b", b"'", b"|", b"&a [*a]", b"!!x 1", b"1e999"]
    lines = data.split(b"\n")
    keys = [at for at, line in enumerate(lines) if b": " in line]
    for at in keys and [chance.choice(keys)]:
        lines[at] = lines[at].partition(b":")[0] + b": " + chance.choice(values)
    return b"\n".join(lines)


def _with_line_ends(ends: bytes) -> Mutation:
    return lambda data, chance: data.replace(b"\n", ends)


def _with_inserted(part: bytes) -> Mutation:
    def inserted(data: bytes, chance: Chance) -> bytes:
        at = chance.randrange(len(data) + 1)
        return data[:at] + part + data[at:]

    return inserted


def _with_head(head: bytes) -> Mutation:
    return lambda data, chance: head + data


MUTATIONS: Sequence[Mutation] = (
    _truncated,
    _with_flipped_bytes,
    _with_shuffled_lines,
    _with_line_twice,
    _without_a_line,
    _with_indented_line,
    _with_other_value,
    _with_line_ends(b"\r\n"),
    _with_line_ends(b"\r"),
    _with_head(b"\xef\xbb\xbf"),
    _with_head(b"\xff\xfe"),
    _with_head(b"\n \n"),
    _with_head(b"<!-- x -->"),
    _with_inserted(b"\x00"),
    _with_inserted("é".encode("latin-1")),
    _with_inserted(b"'"),
    _with_inserted("\u2028".encode()),
    _with_inserted(b"\n---\n"),
    lambda data, chance: data * 2,
)
