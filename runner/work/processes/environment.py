"""What a tool's command may see of our environment."""

from __future__ import annotations

from collections.abc import Mapping

HIDDEN_PREFIXES = (
    "ANTHROPIC_",
    "AZURE_OPENAI_",
    "OPENAI_",
    # git sets these for hooks; inherited, they would point every command at another repository
    "GIT_",
)

HIDDEN_NAMES = frozenset(
    """
    AI21_API_KEY AWS_BEARER_TOKEN_BEDROCK CEREBRAS_API_KEY CLAUDE_CODE_OAUTH_TOKEN CO_API_KEY
    COHERE_API_KEY DASHSCOPE_API_KEY DEEPINFRA_API_KEY DEEPSEEK_API_KEY FIREWORKS_API_KEY
    GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_GENERATIVE_AI_API_KEY GROQ_API_KEY HF_TOKEN
    HUGGINGFACEHUB_API_TOKEN HUGGING_FACE_HUB_TOKEN LITELLM_API_KEY LITELLM_MASTER_KEY
    MISTRAL_API_KEY MOONSHOT_API_KEY NVIDIA_API_KEY OLLAMA_API_KEY OPENROUTER_API_KEY
    PERPLEXITY_API_KEY REPLICATE_API_TOKEN SAMBANOVA_API_KEY TOGETHER_API_KEY VERTEX_API_KEY
    VOYAGE_API_KEY WATSONX_API_KEY XAI_API_KEY ZAI_API_KEY ZHIPUAI_API_KEY

    BITBUCKET_TOKEN CI_JOB_TOKEN FORGEJO_TOKEN GH_ENTERPRISE_TOKEN GH_TOKEN GITEA_TOKEN
    GITHUB_ENTERPRISE_TOKEN GITHUB_TOKEN GITLAB_TOKEN GLAB_TOKEN
    """.split()
)
"""Keys of model providers, then tokens of forges. Everything else, PATH, HOME, locale and proxy
settings among it, is passed on."""


def tool_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy of `environ` without provider keys, forge tokens and `GIT_*`."""
    return {name: value for name, value in environ.items() if not _hidden(name.upper())}


def _hidden(name: str) -> bool:
    return name in HIDDEN_NAMES or name.startswith(HIDDEN_PREFIXES)
