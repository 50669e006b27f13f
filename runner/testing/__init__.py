"""Public helpers for testing teams without a model or a clock."""
