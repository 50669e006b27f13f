"""The APIs that `FakeServer` speaks, one per file: what each refuses and how each answers."""
