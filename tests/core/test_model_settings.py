"""The keys `providers` and `catalog` of team.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.layout import Layout
from runner.core.model_settings import CatalogEntry, Price, ProviderSettings
from runner.core.settings import Settings, load_settings
from runner.errors import ConfigError


def settings_of(tmp_path: Path, text: str) -> Settings:
    (tmp_path / "team.yaml").write_text(text, encoding="utf-8")
    return load_settings(Layout(root=tmp_path, workspace=tmp_path), {}, {})


def test_providers_are_read_with_what_is_said_of_them(tmp_path: Path) -> None:
    text = """
    providers:
      openai: {base_url: "http://127.0.0.1:8080/v1", api: chat, api_key_env: MINE}
      anthropic: {client: vertex, region: eu, project: p}
      ollama:
        base_url: null
    """
    assert settings_of(tmp_path, text).providers == {
        "openai": ProviderSettings(
            base_url="http://127.0.0.1:8080/v1", api="chat", api_key_env="MINE"
        ),
        "anthropic": ProviderSettings(client="vertex", region="eu", project="p"),
        "ollama": ProviderSettings(),
    }


def test_the_catalog_is_read_with_prices(tmp_path: Path) -> None:
    text = """
    catalog:
      openai/mine: {window: 8000, usd_per_million: {input: 1, output: 2.5, cached: 0.1}}
      ollama/a/b: {max_output: 100, efforts: [high, low]}
    """
    assert settings_of(tmp_path, text).catalog == {
        "openai/mine": CatalogEntry(
            window=8000, usd_per_million=Price(input=1, output=2.5, cached=0.1)
        ),
        "ollama/a/b": CatalogEntry(max_output=100, efforts=("low", "high")),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("providers: 3", "providers: found 3, expected a mapping"),
        ("providers: {google: {}}", "providers.google: found 'an unknown key', expected one of an"),
        ("providers: {openai: x}", "providers.openai: found 'x', expected a mapping"),
        ("providers: {openai: {key: x}}", "providers.openai.key: found 'an unknown key'"),
        ("providers: {openai: {api: soap}}", "providers.openai.api: found 'soap', expected one of"),
        (
            "providers: {openai: {base_url: localhost}}",
            "providers.openai.base_url: found 'localhost', expected an address that begins with",
        ),
        (
            "providers: {ollama: {base_url: 'http://box:port'}}",
            "providers.ollama.base_url: found 'http://box:port', expected an address that",
        ),
        (
            "providers: {anthropic: {client: aws}}",
            "found 'aws', expected one of bedrock, vertex, azure",
        ),
        ("catalog: {mine: {}}", "catalog.mine: found 'mine', expected a model as provider/name"),
        ("catalog: {openai/m: {size: 1}}", "catalog.openai/m.size: found 'an unknown key'"),
        ("catalog: {openai/m: {window: 0}}", "catalog.openai/m.window: found 0, expected a whole"),
        (
            "catalog: {openai/m: {usd_per_million: {input: 1}}}",
            "catalog.openai/m.usd_per_million.output: found 'nothing', expected a number",
        ),
        (
            "catalog: {openai/m: {usd_per_million: {input: -1, output: 1}}}",
            "catalog.openai/m.usd_per_million.input: found -1",
        ),
        ("catalog: {openai/m: {efforts: [much]}}", "catalog.openai/m.efforts: found"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of(tmp_path, text)

    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "team.yaml"))
