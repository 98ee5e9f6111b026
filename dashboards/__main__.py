"""`python -m dashboards` writes the dashboards anew, and removes files of those that are gone."""

from __future__ import annotations

from dashboards.catalogue import FOLDER, built


def main() -> None:
    """Write the dashboards."""
    files = built()
    FOLDER.mkdir(exist_ok=True)
    for gone in set(FOLDER.glob("*.json")) - set(files):
        gone.unlink()
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
    print(f"dashboards: {len(files)} files in {FOLDER}")  # noqa: T201 - a command's result


if __name__ == "__main__":
    main()
