"""The pictures of the documentation, made from the real thing: `python -m tests.pictures`."""
