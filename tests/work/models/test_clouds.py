"""Anthropic's models on Bedrock and Vertex, by the SDK's own clients.

The packages that log in to the clouds are large; packages of their names stand in for them here, in
child processes, and find no credentials.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

STAND_INS: Mapping[str, str] = {
    "boto3.py": """
class Session:
    def __init__(self, **_):
        self.region_name = "r"
    def get_credentials(self):
        return None
""",
    "botocore/__init__.py": "",
    "botocore/auth.py": "SigV4Auth = None",
    "botocore/awsrequest.py": "AWSRequest = dict",
    "google/__init__.py": "",
    "google/auth/__init__.py": """
from google.auth.exceptions import GoogleAuthError
def default(**_):
    raise GoogleAuthError("no default credentials")
""",
    "google/auth/exceptions.py": "class GoogleAuthError(Exception): pass",
}
ASK = """
import os, sys
from pathlib import Path
import anyio
from runner.core.settings import ProviderSettings, Settings
from runner.errors import ModelError
from runner.work.messages import ModelRequest, UserTurn
from runner.work.models import Models

async def main(client):
    settings = Settings(providers={"anthropic": ProviderSettings(client=client)})
    models = Models(settings, base_dir=Path())
    try:
        model = models.choose(["anthropic/x"]).model
        await model.reply(ModelRequest(system="", turns=(UserTurn(text="go"),)))
    except ModelError as error:
        print(getattr(error, "status", None), error)
    finally:
        await models.aclose()

anyio.run(main, sys.argv[1])
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name, code in STAND_INS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(code, encoding="utf-8")
    return tmp_path


def said(packages: Path, client: str, **environ: str) -> str:
    """What comes of a request by this client."""
    hidden = ("AWS_", "ANTHROPIC_", "CLOUD_", "GOOGLE_")
    own = {name: text for name, text in os.environ.items() if not name.startswith(hidden)}
    asked = subprocess.run(
        [sys.executable, "-c", ASK, client],
        capture_output=True,
        text=True,
        check=True,
        env={**own, "PYTHONPATH": str(packages), **environ},
    )
    return asked.stdout.strip()


VERTEX = {"CLOUD_ML_REGION": "eu", "ANTHROPIC_VERTEX_PROJECT_ID": "p"}


@pytest.mark.parametrize(
    ("client", "environ", "answer"),
    [
        ("bedrock", {"AWS_REGION": "r"}, "the AWS credentials cannot be used: Could not resolve"),
        ("vertex", VERTEX, "the Google credentials cannot be used: no default credentials"),
    ],
)
def test_a_cloud_without_credentials_is_like_a_bad_key(
    packages: Path, client: str, environ: dict[str, str], answer: str
) -> None:
    assert said(packages, client, **environ).startswith(f"401 anthropic/x: {answer}")


@pytest.mark.parametrize(
    ("environ", "missing"),
    [
        ({}, "no region: set CLOUD_ML_REGION, or `region` under `providers: anthropic:`"),
        ({"CLOUD_ML_REGION": "eu"}, "no project: set ANTHROPIC_VERTEX_PROJECT_ID"),
    ],
)
def test_vertex_needs_a_region_and_a_project(
    packages: Path, environ: dict[str, str], missing: str
) -> None:
    assert missing in said(packages, "vertex", **environ)
