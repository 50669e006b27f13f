"""What a command of a tool sees of our environment."""

from __future__ import annotations

from runner.work.processes.environment import tool_environment


def test_provider_keys_and_forge_tokens_are_hidden() -> None:
    keys = (
        "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN OPENAI_API_KEY AZURE_OPENAI_API_KEY GEMINI_API_KEY "
        "GOOGLE_API_KEY AWS_BEARER_TOKEN_BEDROCK OLLAMA_API_KEY OPENROUTER_API_KEY HF_TOKEN "
        "MISTRAL_API_KEY GROQ_API_KEY DEEPSEEK_API_KEY XAI_API_KEY GITHUB_TOKEN GH_TOKEN "
        "GITLAB_TOKEN"
    ).split()

    assert tool_environment(dict.fromkeys(keys, "sk-test-123")) == {}


def test_git_variables_of_a_hook_are_hidden() -> None:
    assert tool_environment({"GIT_DIR": "/x/.git", "GIT_INDEX_FILE": "/x/.git/index"}) == {}


def test_everything_else_is_passed_on() -> None:
    environ = {
        "PATH": "/bin",
        "HOME": "/home/a",
        "LC_ALL": "C.UTF-8",
        "https_proxy": "http://proxy",
        "DATABASE_URL": "sqlite://",
        "MY_API_KEY": "of the project itself",
    }

    assert tool_environment(environ) == environ
