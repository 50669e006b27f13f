"""Which providers can be used here, and what is said of those that cannot."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runner.core.settings import ProviderSettings, Settings
from runner.errors import ModelOverloaded, ModelRejected, ModelUnavailable
from runner.testing import FakeClock
from runner.work.models import Models
from runner.work.models.clients import Place, ollama_url
from runner.work.models.connection import Connection
from runner.work.models.opening import Providers
from tests.work.models.canned import GO, asking, opened, serving
from tests.work.models.test_anthropic import HELLO, OPUS
from tests.work.models.test_responses import HELLO as RESPONSE


def opening(name: str, environ: Mapping[str, str], **own: str) -> None:
    """Open it with these settings of its provider. Raises: ModelUnavailable."""
    provider, _, model = name.partition("/")
    settings = Settings(providers={provider: ProviderSettings(**own)})
    Providers(settings, environ).open(provider, model)


@pytest.mark.parametrize(
    ("name", "environ", "own"),
    [
        ("anthropic/x", {"ANTHROPIC_API_KEY": "k"}, {}),
        ("anthropic/x", {"ANTHROPIC_AUTH_TOKEN": "t"}, {}),
        ("anthropic/x", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}, {}),
        ("anthropic/x", {}, {"base_url": "http://127.0.0.1:1"}),
        ("anthropic/x", {"ANTHROPIC_FOUNDRY_API_KEY": "k"}, {"client": "azure", "base_url": "h"}),
        ("openai/x", {"OPENAI_API_KEY": "k"}, {}),
        ("openai/x", {"OPENAI_BASE_URL": "http://127.0.0.1:1"}, {}),
        ("openai/x", {"OPENAI_MINE": "k"}, {"api_key_env": "OPENAI_MINE"}),
        (
            "openai/x",
            {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "http://h"},
            {"client": "azure", "api_version": "2026-10-01"},
        ),
    ],
)
def test_a_provider_with_its_key_or_a_server_can_be_used(
    name: str, environ: dict[str, str], own: dict[str, str]
) -> None:
    opening(name, environ, **own)


@pytest.mark.parametrize(
    ("name", "environ", "own", "why"),
    [
        ("anthropic/x", {}, {}, "no key: set ANTHROPIC_API_KEY"),
        ("anthropic/x", {"ANTHROPIC_API_KEY": " "}, {}, "no key: set ANTHROPIC_API_KEY"),
        (
            "anthropic/x",
            {"ANTHROPIC_AUTH_TOKEN": "t"},
            {"api_key_env": "OPENAI_MINE"},
            "set OPENAI_MINE",
        ),
        ("openai/x", {"SEEN": "k"}, {"api_key_env": "SEEN"}, "a variable that tools can see"),
        ("anthropic/", {"ANTHROPIC_API_KEY": "k"}, {}, "no model is named after anthropic/"),
        ("anthropic/x", {}, {"client": "azure"}, "set ANTHROPIC_FOUNDRY_API_KEY"),
        (
            "anthropic/x",
            {"ANTHROPIC_FOUNDRY_API_KEY": "k"},
            {"client": "azure"},
            "set ANTHROPIC_FOUNDRY_RESOURCE",
        ),
        ("openai/x", {}, {}, "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own"),
        (
            "openai/x",
            {},
            {"base_url": "http://h", "api_key_env": "OPENAI_MINE"},
            "no key: set OPENAI_MINE",
        ),
        ("openai/x", {}, {"client": "azure"}, "no key for Azure: set AZURE_OPENAI_API_KEY"),
        (
            "openai/x",
            {"AZURE_OPENAI_API_KEY": "k"},
            {"client": "azure"},
            "no address for Azure: set AZURE_OPENAI_ENDPOINT",
        ),
        (
            "openai/x",
            {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "http://h"},
            {"client": "azure"},
            "no API version for Azure: set OPENAI_API_VERSION",
        ),
    ],
)
def test_what_is_missing_is_said_with_the_variable_that_mends_it(
    name: str, environ: dict[str, str], own: dict[str, str], why: str
) -> None:
    with pytest.raises(ModelUnavailable, match=why):
        opening(name, environ, **own)


WITHOUT_SDKS = """
import sys
from pathlib import Path


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in ("anthropic", "openai"):
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Hidden())
from runner.core.settings import Settings
from runner.errors import ModelUnavailable
from runner.work.models import Models

environ = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
for name in sys.argv[1:]:
    try:
        Models(Settings(), base_dir=Path(), environ=environ).choose([name])
    except ModelUnavailable as error:
        print(error)
"""


def test_a_missing_package_is_said_with_the_command_that_mends_it() -> None:
    names = ["anthropic/x", "openai/x", "ollama/x"]
    command = [sys.executable, "-c", WITHOUT_SDKS, *names]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    for name, package, line in zip(names, ["anthropic", "openai", "openai"], said, strict=True):
        assert f"{name}: the package {package} is not installed" in line
        assert f"pip install 'boardrunner[{package}]'" in line


@pytest.mark.parametrize(
    ("client", "package"),
    [("bedrock", r"boto3 is not .*boardrunner\[bedrock\]"), ("vertex", r"google-auth is not")],
)
def test_a_cloud_needs_its_own_package(client: str, package: str) -> None:
    with pytest.raises(ModelUnavailable, match=package):
        opening("anthropic/x", {}, client=client)


def test_threads_that_choose_at_once_get_one_model(tmp_path: Path) -> None:
    models = Models(Settings(), base_dir=tmp_path, environ={"OPENAI_API_KEY": "k"})
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: models.choose(["openai/x"]).model, range(50)))

    assert len(set(map(id, found))) == 1


def test_ollama_can_be_used_while_a_server_answers() -> None:
    clock = FakeClock()
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        providers = Providers(Settings(), {"OLLAMA_HOST": host}, clock)
        model = providers.open("ollama", "x")
        assert providers.open("ollama", "x") is model

    with pytest.raises(ModelUnavailable, match=rf"no server answers at http://{host}/v1: start it"):
        providers.open("ollama", "x")


async def test_a_server_that_does_not_answer_is_tried_again_after_a_while() -> None:
    clock = FakeClock()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    providers = Providers(Settings(), {"OLLAMA_HOST": f"http://127.0.0.1:{port}"}, clock)
    with pytest.raises(ModelUnavailable):
        providers.open("ollama", "x")

    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(ModelUnavailable):
            providers.open("ollama", "x")
        await clock.advance(11)
        providers.open("ollama", "x")


NO_SCHEME = "127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    ("name", "variable", "found", "mend"),
    [
        ("openai/x", "OPENAI_BASE_URL", NO_SCHEME, f"set it as http://{NO_SCHEME}"),
        ("openai/x", "OPENAI_BASE_URL", "user:pass@box/v1", "set it as http://box/v1"),
        ("openai/x", "OPENAI_BASE_URL", "http://", "set it as http://127.0.0.1:8080/v1"),
        ("openai/x", "OPENAI_BASE_URL", "http://h:port", "set it as http://127.0.0.1:8080/v1"),
        ("anthropic/x", "ANTHROPIC_BASE_URL", NO_SCHEME, f"set it as http://{NO_SCHEME}"),
        ("ollama/x", "OLLAMA_HOST", "tcp://box:1", "set it as http://"),
        ("ollama/x", "OLLAMA_HOST", "box:port", "set it as http://"),
    ],
)
def test_what_is_no_address_of_a_server_is_refused_when_the_model_is_opened(
    name: str, variable: str, found: str, mend: str
) -> None:
    with pytest.raises(ModelUnavailable, match=mend) as caught:
        opening(name, {variable: found, "OPENAI_API_KEY": "k"})

    assert str(caught.value).startswith(f"{variable} is '")
    assert "pass" not in str(caught.value)


def test_an_address_of_azure_needs_its_scheme_too() -> None:
    environ = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "h.azure.com"}
    with pytest.raises(ModelUnavailable, match=r"AZURE_OPENAI_ENDPOINT is 'h\.azure\.com'"):
        opening("openai/x", environ, client="azure", api_version="2026-10-01")


async def test_a_server_that_cannot_be_reached_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    models = Models(
        Settings(), base_dir=Path(), environ={"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    )
    with pytest.raises(ModelOverloaded, match=f"openai/x at http://127.0.0.1:{port}: "):
        await models.choose(["openai/x"]).model.reply(asking(GO))
    await models.aclose()


ASKED_OF_AN_OLD_MODEL = """
import sys, warnings
from pathlib import Path

import anyio

from runner.core.settings import Settings
from runner.work.models import Models
from tests.work.models.canned import GO, asking


async def main() -> None:
    models = Models(Settings(), base_dir=Path(), environ={"ANTHROPIC_BASE_URL": sys.argv[1]})
    import anthropic

    warnings.simplefilter("error")
    print((await models.choose(["anthropic/claude-sonnet-4-5"]).model.reply(asking(GO))).text)
    try:
        warnings.warn("another", DeprecationWarning)
    except DeprecationWarning:
        print("others are errors still")
    await models.aclose()


anyio.run(main)
"""


def test_a_model_that_its_vendor_will_retire_answers_where_warnings_are_errors() -> None:
    with serving(HELLO) as canned:
        command = [sys.executable, "-c", ASKED_OF_AN_OLD_MODEL, canned.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.stdout.splitlines(), done.stderr) == (["hello", "others are errors still"], "")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("box", "http://box:11434/v1"),
        ("0.0.0.0:5000", "http://127.0.0.1:5000/v1"),
        ("https://box/ollama/", "https://box/ollama/v1"),
        ("http://box:1/v1", "http://box:1/v1"),
    ],
)
def test_the_address_of_ollama_is_read_in_all_its_forms(host: str, url: str) -> None:
    place = Place(settings=ProviderSettings(), environ={"OLLAMA_HOST": host})

    assert ollama_url(place) == url


def test_no_sdk_is_loaded_before_a_request(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from runner.core.settings import Settings; "
        "from runner.work.models import Models; "
        "models = Models(Settings(), base_dir=Path(), environ={'OPENAI_API_KEY': 'k'}); "
        "assert models.choose(['openai/x']).model.name == 'openai/x'; "
        "sys.exit(bool({'openai', 'anthropic', 'httpx2', 'pydantic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


async def test_openai_itself_is_asked_over_responses_and_other_servers_over_chat() -> None:
    with serving(RESPONSE) as canned:
        own = {"openai": ProviderSettings(api="responses")}
        async with opened(canned, "openai/x", providers=own) as model:
            await model.reply(asking(GO))

    assert canned.paths == ["/v1/responses"]


async def test_azure_is_asked_for_the_deployment_with_its_version() -> None:
    from tests.work.models.test_chat import HELLO as CHAT

    own = {"openai": ProviderSettings(client="azure", api_version="2026-10-01")}
    with serving(CHAT) as canned:
        environ = {"AZURE_OPENAI_ENDPOINT": canned.url, "AZURE_OPENAI_API_KEY": "azure-key"}
        async with opened(canned, "openai/mine", environ, providers=own) as model:
            await model.reply(asking(GO, max_output_tokens=9))

    assert canned.paths == ["/openai/deployments/mine/chat/completions?api-version=2026-10-01"]
    assert canned.headers[0]["api-key"] == "azure-key"
    assert canned.bodies[0]["max_completion_tokens"] == 9


async def test_anthropics_models_on_azure_are_asked_over_their_own_client() -> None:
    with serving(HELLO) as canned:
        own = {"anthropic": ProviderSettings(client="azure", base_url=canned.url)}
        async with opened(canned, OPUS, {"ANTHROPIC_FOUNDRY_API_KEY": "key"}, providers=own) as one:
            assert (await one.reply(asking(GO))).text == "hello"

    assert canned.paths == ["/v1/messages"]


async def test_a_cloud_that_does_not_let_us_in_is_like_a_bad_key() -> None:
    from runner.work.models.anthropic import Messages
    from runner.work.models.catalog import Known
    from runner.work.models.provided import ProvidedModel

    class NoLogin:
        @property
        def messages(self) -> None:
            raise RuntimeError("could not resolve credentials")

    connection = Connection(NoLogin, key="the AWS credentials", login_errors=(RuntimeError,))
    model = ProvidedModel("anthropic/x", connection, Messages(), Known())

    with pytest.raises(ModelRejected, match="the AWS credentials cannot be used") as caught:
        await model.reply(asking(GO))
    assert caught.value.is_about_account
