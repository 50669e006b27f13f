"""How each client of the SDKs is made, and what must be there for it.

Nothing of an SDK is imported before the client is opened. Whether one can be used is judged by
what is installed and set, and what is missing is said with the command or variable that mends it.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.core.model_settings import is_address
from runner.core.settings import ProviderSettings
from runner.errors import ModelUnavailable
from runner.work.models.connection import Connection
from runner.work.processes.environment import tool_environment

NO_KEY = "none"
"""Sent where a server of one's own wants no key: the SDKs insist on one."""
OLLAMA_SERVER = "http://127.0.0.1:11434"
_SILENCE_S = 600.0  # a model may think long before its first word
_CONNECT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The settings of one provider with the environment they are completed from."""

    settings: ProviderSettings
    environ: Mapping[str, str]

    def variable(self, *names: str) -> str | None:
        """The value of the first of these variables that is set and not blank."""
        values = (self.environ.get(name, "").strip() for name in names)
        return next((value for value in values if value), None)

    def base_url(self, variable: str) -> str | None:
        """The address of the server, if one is set. Raises: ModelUnavailable, if it is none."""
        return self.settings.base_url or self._address(variable)

    def _address(self, variable: str) -> str | None:
        found = self.variable(variable)
        if found is not None and not is_address(found):
            raise ModelUnavailable(_no_address(variable, found))
        return found

    def key(self, usual: str, base_url: str | None) -> tuple[str | None, str]:
        """The key with the name of its variable; `NO_KEY` for a server of one's own.

        Raises: ModelUnavailable, for a variable that the commands of tools would see.
        """
        name = self.settings.api_key_env or usual
        if tool_environment({name: ""}):
            raise ModelUnavailable(
                f"`api_key_env: {name}` names a variable that tools can see; use one that begins "
                "with OPENAI_ or ANTHROPIC_, or the usual one of a provider, GROQ_API_KEY say"
            )
        key = self.variable(name)
        if key is None and base_url is not None and self.settings.api_key_env is None:
            key = NO_KEY
        return key, name


def anthropic_connection(place: Place) -> Connection:
    """The Messages API, at Anthropic or in a cloud. Raises: ModelUnavailable."""
    _need("anthropic", "anthropic")
    match place.settings.client:
        case "bedrock":
            return _bedrock(place)
        case "vertex":
            return _vertex(place)
        case "azure":
            return _foundry(place)
    base_url = place.base_url("ANTHROPIC_BASE_URL")
    key, name = place.key("ANTHROPIC_API_KEY", base_url)
    token = None
    if key in (None, NO_KEY) and place.settings.api_key_env is None:
        token = place.variable("ANTHROPIC_AUTH_TOKEN")
    if token is not None:
        key, name = None, "ANTHROPIC_AUTH_TOKEN"
    elif key is None:
        raise ModelUnavailable(f"no key: set {name}")

    def open_client() -> Any:
        anthropic = _load_anthropic()
        # the SDK sends a key as a bearer; many servers beside Anthropic's look for this header
        headers = {"X-Api-Key": key} if key is not None and base_url is not None else None
        return anthropic.AsyncAnthropic(
            api_key=key,
            auth_token=token,
            base_url=base_url,
            default_headers=headers,
            **_common(),
        )

    return Connection(open_client, key=name)


def _bedrock(place: Place) -> Connection:
    _need("boto3", "bedrock")
    token, _ = place.key("AWS_BEARER_TOKEN_BEDROCK", None)
    region = place.settings.region or place.variable("AWS_REGION", "AWS_DEFAULT_REGION")

    def open_client() -> Any:
        anthropic = _load_anthropic()
        return anthropic.AsyncAnthropicBedrock(
            api_key=token, aws_region=region, base_url=place.settings.base_url, **_common()
        )

    # the SDK looks up credentials for each request, and says so when there are none
    return Connection(open_client, key="the AWS credentials", login_errors=(RuntimeError,))


def _vertex(place: Place) -> Connection:
    _need("google.auth", "vertex")
    region = place.settings.region or place.variable("CLOUD_ML_REGION")
    project = place.settings.project or place.variable("ANTHROPIC_VERTEX_PROJECT_ID")
    for what, value, name in (
        ("region", region, "CLOUD_ML_REGION"),
        ("project", project, "ANTHROPIC_VERTEX_PROJECT_ID"),
    ):
        if value is None:
            raise ModelUnavailable(
                f"no {what}: set {name}, or `{what}` under `providers: anthropic:` in team.yaml"
            )

    def open_client() -> Any:
        anthropic = _load_anthropic()
        login = importlib.import_module("google.auth.exceptions")
        connection.login_errors = (login.GoogleAuthError, RuntimeError)
        return anthropic.AsyncAnthropicVertex(
            region=region or "",
            project_id=project or "",
            base_url=place.settings.base_url,
            **_common(),
        )

    connection = Connection(open_client, key="the Google credentials")
    return connection


def _foundry(place: Place) -> Connection:
    base_url = place.base_url("ANTHROPIC_FOUNDRY_BASE_URL")
    resource = None if base_url else place.variable("ANTHROPIC_FOUNDRY_RESOURCE")
    key, name = place.key("ANTHROPIC_FOUNDRY_API_KEY", None)
    if key is None:
        raise ModelUnavailable(f"no key: set {name}")
    address = base_url or f"https://{resource}.services.ai.azure.com/anthropic/"
    if base_url is None and resource is None:
        raise ModelUnavailable(
            "no address: set ANTHROPIC_FOUNDRY_RESOURCE, or `base_url` under "
            "`providers: anthropic:` in team.yaml"
        )

    def open_client() -> Any:
        anthropic = _load_anthropic()
        return anthropic.AsyncAnthropicFoundry(api_key=key, base_url=address, **_common())

    return Connection(open_client, key=name)


def openai_connection(place: Place) -> Connection:
    """OpenAI, a compatible server, or Azure. Raises: ModelUnavailable."""
    _need("openai", "openai")
    if place.settings.client == "azure":
        return _azure(place)
    base_url = place.base_url("OPENAI_BASE_URL")
    key, name = place.key("OPENAI_API_KEY", base_url)
    if key is None:
        raise ModelUnavailable(f"no key: set {name}, or OPENAI_BASE_URL for a server of your own")
    return _compatible(base_url, key, name)


def ollama_connection(place: Place) -> Connection:
    """A server of Ollama. Raises: ModelUnavailable."""
    _need("openai", "openai")
    key, name = place.key("OLLAMA_API_KEY", None)
    return _compatible(ollama_url(place), key or NO_KEY, name)


def ollama_url(place: Place) -> str:
    """The address that ends with `/v1`. `OLLAMA_HOST` may be `host`, `host:port` or an address.

    Raises: ModelUnavailable.
    """
    set_host = place.settings.base_url or place.variable("OLLAMA_HOST")
    host = set_host or OLLAMA_SERVER
    if "://" not in host:
        host = f"http://{host}" if ":" in host else f"http://{host}:11434"
    if not is_address(host):
        raise ModelUnavailable(_no_address("OLLAMA_HOST", set_host or ""))
    host = host.replace("//0.0.0.0", "//127.0.0.1").rstrip("/")  # what a server listens on
    return host if host.endswith("/v1") else f"{host}/v1"


def _compatible(base_url: str | None, key: str, name: str) -> Connection:
    def open_client() -> Any:
        import openai

        return openai.AsyncOpenAI(api_key=key, base_url=base_url, **_common())

    return Connection(open_client, key=name)


def _azure(place: Place) -> Connection:
    endpoint = place.base_url("AZURE_OPENAI_ENDPOINT")
    version = place.settings.api_version or place.variable("OPENAI_API_VERSION")
    key, name = place.key("AZURE_OPENAI_API_KEY", None)
    for what, value, mend in (
        ("key", key, f"set {name}"),
        ("address", endpoint, "set AZURE_OPENAI_ENDPOINT"),
        ("API version", version, "set OPENAI_API_VERSION"),
    ):
        if value is None:
            raise ModelUnavailable(f"no {what} for Azure: {mend}")

    def open_client() -> Any:
        import openai

        return openai.AsyncAzureOpenAI(
            api_key=key, azure_endpoint=endpoint or "", api_version=version, **_common()
        )

    return Connection(open_client, key=name)


def _no_address(variable: str, found: str) -> str:
    """What is said of a value that is no address; a user and password in it are left out."""
    bare = found.rpartition("@")[2]
    without_scheme = f"http://{bare}"
    usable = "://" not in bare and is_address(without_scheme)
    mend = without_scheme if usable else "http://127.0.0.1:8080/v1"
    return f"{variable} is {bare!r}, no address of a server: set it as {mend}"


def _load_anthropic() -> Any:
    """The SDK, told to keep quiet of models that will be retired one day.

    Whoever chose such a model may use it; where warnings are errors, the attempt would end.
    """
    import anthropic

    warnings.filterwarnings(
        "ignore", message=r"The model '.*' is deprecated", category=DeprecationWarning
    )
    return anthropic


def _common() -> dict[str, Any]:
    """Our own gate retries, for all teammates together; so the SDK must not."""
    import httpx2

    return {"max_retries": 0, "timeout": httpx2.Timeout(_SILENCE_S, connect=_CONNECT_S)}


def _need(module: str, extra: str) -> None:
    """Raises: ModelUnavailable, when the package of this module is not installed."""
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # of the package around it
        found = None
    if found is None:
        raise ModelUnavailable(
            f"the package {module.replace('.', '-')} is not installed: "
            f"pip install 'boardrunner[{extra}]'"
        )
