"""The keys of team.yaml about models: `providers`, and `catalog` with windows and prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from runner.core import readers
from runner.core.readers import Reader, Unfit

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Usd for a million tokens. Without a price of their own, cached tokens cost what others do."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    @property
    def for_cached(self) -> float:
        return self.input if self.cached is None else self.cached

    @property
    def for_cache_write(self) -> float:
        return self.input if self.cache_write is None else self.cache_write


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """What the settings say of one model, `provider/name`; None is not said. Sizes in tokens."""

    window: int | None = None
    max_output: int | None = None
    usd_per_million: Price | None = None
    efforts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """How one provider is reached; None is its usual way.

    `api_key_env` names the variable that holds the key. `client` is the cloud that serves the
    models (`azure`, `bedrock`, `vertex`), `region` and `project` belong to it. `api` (`chat`,
    `responses`) and `api_version` are for OpenAI's models.
    """

    base_url: str | None = None
    api_key_env: str | None = None
    client: str | None = None
    api: str | None = None
    api_version: str | None = None
    region: str | None = None
    project: str | None = None


def read_providers(value: Any) -> Mapping[str, ProviderSettings]:
    """`providers` of team.yaml. Raises: Unfit."""
    return {
        name: ProviderSettings(**_read(fields, _PROVIDERS[name], f".{name}"))
        for name, fields in _checked(value, _PROVIDERS, "")
    }


def read_catalog(value: Any) -> Mapping[str, CatalogEntry]:
    """`catalog` of team.yaml. Raises: Unfit."""
    entries = {}
    for key, fields in readers.mapping(value).items():
        name, at = str(key), f".{key}"
        if not all(name.partition("/")):
            raise Unfit("a model as provider/name", at=at, found=key)
        entries[name] = CatalogEntry(**_read(fields, _ENTRY, at))
    return entries


def is_address(text: str) -> bool:
    """Whether it is the address of a server: a scheme, a host, a port that can be."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port or an IPv6 host
        return False


def _read(fields: Any, known: Mapping[str, Reader], at: str) -> dict[str, Any]:
    read = {}
    for key, value in _checked(fields, known, at):
        try:
            read[key] = known[key](value)
        except Unfit as unfit:
            raise Unfit(unfit.expected, at=f"{at}.{key}{unfit.at}", found=unfit.of(value)) from None
    return read


def _checked(fields: Any, known: Mapping[str, Any], at: str) -> list[tuple[str, Any]]:
    """The set keys, which are all known; null is not set."""
    if not isinstance(fields, dict):
        raise Unfit("a mapping", at=at, found=fields)
    for key in fields:
        if key not in known:
            raise Unfit(f"one of {', '.join(known)}", at=f"{at}.{key}", found="an unknown key")
    return [(key, value) for key, value in fields.items() if value is not None]


def _price(value: Any) -> Price:
    read = _read(value, {key: readers.number() for key in _PRICES}, "")
    for key in ("input", "output"):
        if key not in read:
            raise Unfit("a number: without it no price is known", at=f".{key}", found="nothing")
    return Price(**read)


def _efforts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and all(one in EFFORTS for one in value):
        return tuple(sorted(set(value), key=EFFORTS.index))
    raise Unfit(f"a list of {', '.join(EFFORTS)}")


def _url(value: Any) -> str:
    text = readers.one_line(value)
    if is_address(text):
        return text
    raise Unfit("an address that begins with http:// or https://, as http://127.0.0.1:8080/v1")


_PRICES = ("input", "output", "cached", "cache_write")
_ENTRY: Mapping[str, Reader] = {
    "window": readers.count(least=1),
    "max_output": readers.count(least=1),
    "usd_per_million": _price,
    "efforts": _efforts,
}
_PROVIDERS: Mapping[str, Mapping[str, Reader]] = {
    "anthropic": {
        "base_url": _url,
        "api_key_env": readers.one_line,
        "client": readers.one_of("bedrock", "vertex", "azure"),
        "region": readers.one_line,
        "project": readers.one_line,
    },
    "openai": {
        "base_url": _url,
        "api_key_env": readers.one_line,
        "api": readers.one_of("chat", "responses"),
        "client": readers.one_of("azure"),
        "api_version": readers.one_line,
    },
    "ollama": {"base_url": _url, "api_key_env": readers.one_line},
}
