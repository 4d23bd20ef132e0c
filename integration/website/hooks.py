"""Hooks that mkdocs calls: pages that are made, and links that lead out of docs/."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from integration.website.links import for_site
from integration.website.reference import MODULES, TOP, index, module_page
from integration.website.scripts import notebook, page

_MADE = ("tutorials", "reference")
_WORKER = "iframe-worker.js"


def on_config(config: Any) -> Any:
    """Name the made pages in the navigation."""
    for section in config["nav"]:
        ((name, entries),) = section.items()
        if name == "Tutorials":
            entries += [f"tutorials/{path.stem}.md" for path in _tutorials()]
        if name == "Reference":
            entries += [f"reference/{module}.md" for module in MODULES]
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the tutorials, as pages and as notebooks, the reference, and what searches pages that no server sends."""
    made = {"reference/index.md": index()}
    made[f"assets/javascripts/{_WORKER}"] = (Path(__file__).parent / _WORKER).read_text()
    made |= {f"reference/{module}.md": module_page(module) for module in MODULES}
    for path in _tutorials():
        script = path.read_text()
        made[f"tutorials/{path.stem}.md"] = page(script, path)
        made[f"tutorials/{path.stem}.ipynb"] = notebook(script)
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Links to what the site has."""
    del files
    docs = Path(config["docs_dir"])
    source = page.file.src_uri
    # made pages link to each other alone
    return (
        markdown
        if source.startswith(tuple(f"{m}/" for m in _MADE))
        else for_site(markdown, docs / source, docs)
    )


def _tutorials() -> list[Path]:
    return sorted((TOP / "tutorials").glob("[0-9]*.py"))
