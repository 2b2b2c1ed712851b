"""The program as it is installed: what goes in, what is pinned, how it starts."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from designer.__main__ import opens_files
from designer.model import resources


@pytest.fixture
def project(checkout: Path) -> dict[str, Any]:
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def bootstrap(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The bootstrap with a folder of its own instead of the checkout's .venv."""
    spec = importlib.util.spec_from_file_location(
        "bootstrap", checkout / "packaging" / "bootstrap.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    venv = tmp_path / ".venv"
    for name, path in (
        ("VENV", venv),
        ("BIN", venv / "bin"),
        ("PYTHON", venv / "bin" / "python"),
        ("STAMP", venv / "stamp"),
    ):
        monkeypatch.setattr(module, name, path)
    return module


def pins(file: Path) -> list[str]:
    """The entries of a requirement file, hashes included."""
    text = file.read_text(encoding="utf-8")
    return re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]


# What is imported by another name than that by which it is installed.
IMPORTED_AS = {
    "pydantic": ("pydantic", "pydantic_core"),
    "pyside6-essentials": ("PySide6", "shiboken6"),
}


def test_every_library_that_is_imported_is_declared(
    checkout: Path, project: dict[str, Any]
) -> None:
    names = [
        canonicalize_name(Requirement(each).name) for each in project["project"]["dependencies"]
    ]
    declared = {known for name in names for known in IMPORTED_AS.get(name, (name,))}
    for file in sorted((checkout / "designer").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            imported = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                imported = [node.module or ""]
            rooms = {name.partition(".")[0] for name in imported}
            strange = rooms - declared - sys.stdlib_module_names - {"designer"}
            assert not strange, f"{file} imports {strange}, which pyproject.toml does not name"


@pytest.mark.parametrize(
    ("name", "extras"),
    [("requirements.txt", ["build"]), ("requirements-dev.txt", ["build", "dev"])],
)
def test_everything_needed_is_pinned_with_hashes(
    checkout: Path, project: dict[str, Any], name: str, extras: list[str]
) -> None:
    entries = pins(checkout / "packaging" / name)
    assert all("--hash=sha256:" in entry for entry in entries)
    pinned = [Requirement(entry.partition("\\")[0]) for entry in entries]
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in extras:
        wanted += project["project"]["optional-dependencies"][extra]
    for each in (Requirement(line) for line in wanted):
        versions = [
            next(iter(pin.specifier)).version
            for pin in pinned
            if canonicalize_name(pin.name) == canonicalize_name(each.name)
        ]
        assert versions, each.name
        assert any(each.specifier.contains(version) for version in versions), each.name


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_the_pins_name_no_host_and_no_place(checkout: Path, name: str) -> None:
    text = (checkout / "packaging" / name).read_text(encoding="utf-8")
    assert not re.search(r"://|--index-url|--find-links|@ |(^|\s)/\w", text)


def test_packaging_does_not_hide_the_library_of_that_name(checkout: Path) -> None:
    assert not (checkout / "packaging" / "__init__.py").exists()


def test_ci_can_run(checkout: Path) -> None:
    assert os.access(checkout / ".ci" / "run", os.X_OK)


def test_the_wheel_holds_the_program_its_assets_and_samples(
    checkout: Path, tmp_path: Path, project: dict[str, Any]
) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=checkout,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(name for name in names if name.endswith("entry_points.txt"))
        scripts = archive.read(metadata).decode()
    assert "promptpath = designer.__main__:main" in scripts
    for folder, inside in (("assets", "_assets"), ("sample_topologies", "_samples")):
        files = [path for path in (checkout / folder).rglob("*") if path.is_file()]
        expected = {f"designer/{inside}/{path.relative_to(checkout / folder)}" for path in files}
        assert expected
        assert expected <= names
    assert {name.split("/")[0] for name in names} == {
        "designer",
        f"promptpath-{project['project']['version']}.dist-info",
    }
    licences = {Path(name).name for name in names if "/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE"}


def test_an_installed_package_finds_what_it_brought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages" / "designer"
    (package / "_assets").mkdir(parents=True)
    monkeypatch.setattr(resources, "files", lambda name: package)
    assert resources.assets() == package / "_assets"
    with pytest.raises(FileNotFoundError, match="install again"):
        resources.samples()


def test_a_checkout_finds_its_own_folders(checkout: Path) -> None:
    assert resources.assets() == checkout / "assets"
    assert resources.samples() == checkout / "sample_topologies"


@pytest.mark.parametrize(
    ("words", "opens"),
    [
        ([], True),
        (["metro.promptpath"], True),
        (["./metro"], True),
        (["/designs/metro"], True),
        (["analyse", "metro.promptpath"], False),
        (["report"], False),
        (["--version"], False),
        (["--config=/a.b"], False),
    ],
)
def test_a_first_word_is_a_file_or_a_command(words: list[str], opens: bool) -> None:
    assert opens_files(words) is opens


def test_importing_the_program_loads_no_qt_and_no_command(checkout: Path) -> None:
    """Every worker process imports it again."""
    script = (
        "import sys, designer.__main__;"
        "print([n for n in ('PySide6', 'typer', 'numpy', 'pydantic') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=checkout, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


def test_a_half_made_environment_is_made_again(bootstrap: ModuleType) -> None:
    bootstrap.BIN.mkdir(parents=True)
    bootstrap.STAMP.write_text(bootstrap._digest("test"))
    assert bootstrap._python_version() is None
    assert not bootstrap._is_installed("run")
    bootstrap.PYTHON.write_text("#!/bin/sh\nexit 1\n")
    bootstrap.PYTHON.chmod(0o755)
    assert bootstrap._python_version() is None


def test_an_installation_is_skipped_only_where_its_pins_are_the_same(
    bootstrap: ModuleType,
) -> None:
    bootstrap.BIN.mkdir(parents=True)
    bootstrap.PYTHON.symlink_to(sys.executable)
    assert not bootstrap._is_installed("run")
    bootstrap.STAMP.write_text(bootstrap._digest("run"))
    assert bootstrap._is_installed("run")
    assert not bootstrap._is_installed("test")
    bootstrap.STAMP.write_text(bootstrap._digest("test"))
    assert bootstrap._is_installed("run")
    assert bootstrap._is_installed("test")
    bootstrap.STAMP.write_text("of other pins")
    assert not bootstrap._is_installed("test")


def test_the_bootstrap_says_in_one_line_what_is_wrong(
    bootstrap: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bootstrap.main([]) == 2
    assert bootstrap.main(["fly"]) == 2
    monkeypatch.setattr(bootstrap, "_install_system_libraries", lambda: None)
    monkeypatch.setattr(bootstrap, "_succeeds", lambda command, **options: False)
    assert bootstrap.main(["run"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if line.startswith("Say ")]) == 2
    assert "python3-venv" in lines[-1]
    assert not bootstrap.STAMP.exists()


def test_where_uv_reaches_nothing_pip_is_tried(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap.BIN.mkdir(parents=True)
    bootstrap.PYTHON.symlink_to(sys.executable)
    commands: list[list[str]] = []

    def succeeds(command: list[str], **options: object) -> bool:
        commands.append(command)
        return command[0] != "uv"

    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: name)
    monkeypatch.setattr(bootstrap, "_succeeds", succeeds)
    bootstrap._install("run")
    assert commands[0][:3] == ["uv", "pip", "install"]
    assert any(command[1:4] == ["-m", "pip", "install"] for command in commands)
    assert bootstrap._is_installed("run")
