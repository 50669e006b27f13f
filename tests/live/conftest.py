"""Tests against a real, small model on this machine; `.ci/live` starts it and runs them."""

from __future__ import annotations

import os

ADDRESS = os.environ.get("RUNNER_LIVE_URL", "")
collect_ignore = [] if ADDRESS else ["test_live.py"]
