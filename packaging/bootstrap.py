"""From a fresh checkout to a running program, or to its tests, with Python alone.

    python3 packaging/bootstrap.py run [ARGUMENT…]    the program; without arguments, a sample
    python3 packaging/bootstrap.py test [ARGUMENT…]   the check that every change must pass

Makes .venv in the checkout, fills it from the hashed requirement files and compiles the kernels.
What is already done is skipped. Uses uv where it is found, else venv and pip.
"""

from __future__ import annotations

import ctypes.util
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

LEAST_PYTHON = (3, 11)
CHECKOUT = Path(__file__).resolve().parents[1]
VENV = CHECKOUT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "promptpath-installed"
SAMPLE = CHECKOUT / "sample_topologies" / "metro-inference.promptpath"
REQUIREMENTS = {
    "run": CHECKOUT / "packaging" / "requirements.txt",
    "test": CHECKOUT / "packaging" / "requirements-dev.txt",
}
# The first five are what Qt loads even without a window; the rest are the X11 platform's.
DEBIAN_PACKAGES = (
    "libegl1",
    "libgl1",
    "libdbus-1-3",
    "libfontconfig1",
    "libxkbcommon-x11-0",
    "libxcb-cursor0",
    "libxcb-icccm4",
    "libxcb-image0",
    "libxcb-keysyms1",
    "libxcb-randr0",
    "libxcb-render-util0",
    "libxcb-shape0",
    "libxcb-xkb1",
    "poppler-utils",
)


class CannotGoOn(Exception):
    """One line for the user: what failed and what to do."""


def main(words: list[str]) -> int:
    """Sets up and runs; the exit status of what was run, or 2 where the set-up failed."""
    if not words or words[0] not in REQUIREMENTS:
        print("Say `bootstrap.py run [ARGUMENT…]` or `bootstrap.py test`.", file=sys.stderr)
        return 2
    purpose, arguments = words[0], words[1:]
    try:
        if not _is_installed(purpose):
            _install_system_libraries()
            _install(purpose)
        command = _command(purpose, arguments)
    except CannotGoOn as error:
        print(f"bootstrap: {error}", file=sys.stderr)
        return 2
    return _run_to_the_end(command)


def _command(purpose: str, arguments: list[str]) -> list[str]:
    if purpose == "test":
        return [str(PYTHON), str(CHECKOUT / "packaging" / "check.py"), *arguments]
    if not arguments and not SAMPLE.is_file():
        raise CannotGoOn(f"{SAMPLE} is missing; restore it from the repository.")
    return [str(BIN / "promptpath"), *(arguments or [str(SAMPLE)])]


def _run_to_the_end(command: list[str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        return subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(
            f"bootstrap: {command[0]} does not start ({error}); delete {VENV} and try again.",
            file=sys.stderr,
        )
        return 2


def _digest(purpose: str) -> str:
    """What an installation depends on: the pins, the project file, the place, the Python."""
    digest = hashlib.sha256(str(CHECKOUT).encode())
    for path in (REQUIREMENTS[purpose], CHECKOUT / "pyproject.toml"):
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise CannotGoOn(f"{path} cannot be read ({error.strerror}); restore it.") from None
    return digest.hexdigest()


def _is_installed(purpose: str) -> bool:
    """Whether the stamp says so; what is enough for the tests is enough for running."""
    if _python_version() is None or not STAMP.is_file():
        return False
    done = STAMP.read_text(encoding="ascii").split()
    return _digest(purpose) in done or _digest("test") in done


def _install(purpose: str) -> None:
    digest = _digest(purpose)
    STAMP.unlink(missing_ok=True)
    uv = shutil.which("uv")
    if not (uv and _install_with_uv(uv, REQUIREMENTS[purpose])):
        _install_with_pip(REQUIREMENTS[purpose])
    _say("compiling the kernels")
    if not _succeeds([str(PYTHON), "-m", "designer.engine.warm"], cwd=CHECKOUT):
        # They compile on demand too; what is wrong with them is for the check to say.
        _say("the kernels do not compile (see above); going on, the first analysis will be slow")
    STAMP.write_text(f"{digest}\n", encoding="ascii")


def _install_with_uv(uv: str, requirements: Path) -> bool:
    """Whether uv could do it; where it reaches no package index, pip may still know one."""
    if _python_version() is None:
        _say("making .venv with uv")
        wanted = sys.executable if sys.version_info >= LEAST_PYTHON else ">=3.11"
        if not _succeeds([uv, "venv", "--quiet", "--clear", "--python", wanted, str(VENV)]):
            return False
    _say(f"installing {requirements.name} with uv")
    install = [uv, "pip", "install", "--quiet", "--python", str(PYTHON)]
    return _succeeds([*install, "--require-hashes", "-r", str(requirements)]) and _succeeds(
        [*install, "--no-deps", "--no-build-isolation", "--editable", str(CHECKOUT)]
    )


def _install_with_pip(requirements: Path) -> None:
    if _python_version() is None:
        if sys.version_info < LEAST_PYTHON:
            raise CannotGoOn(
                f"this is Python {sys.version.split()[0]}; install Python 3.11 or newer, or uv."
            )
        _say("making .venv")
        if not _succeeds([sys.executable, "-m", "venv", "--clear", str(VENV)]):
            raise CannotGoOn(
                "Python's venv does not work here; install uv, or on Debian and Ubuntu the "
                "package python3-venv."
            )
    pip = [str(PYTHON), "-m", "pip"]
    if not _succeeds([*pip, "--version"], quiet=True):
        _succeeds([str(PYTHON), "-m", "ensurepip", "--default-pip"], quiet=True)
    install = [*pip, "install", "-qq", "--disable-pip-version-check"]
    _say(f"installing {requirements.name} with pip")
    if not _succeeds([*install, "--require-hashes", "-r", str(requirements)]):
        raise CannotGoOn(
            "the libraries could not be installed; check the network and the lines above."
        )
    if not _succeeds([*install, "--no-deps", "--no-build-isolation", "--editable", str(CHECKOUT)]):
        raise CannotGoOn("the project itself could not be installed; the lines above say why.")


def _python_version() -> tuple[int, ...] | None:
    """The version of .venv's Python, or None where there is none that works and is new enough."""
    script = "import sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [str(PYTHON), "-c", script], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    version = tuple(int(part) for part in answer.stdout.split())
    return version if version >= LEAST_PYTHON else None


def _install_system_libraries() -> None:
    """Debian's and Ubuntu's packages as root; elsewhere a line that says what is missing."""
    if not sys.platform.startswith("linux"):
        return
    if not shutil.which("apt-get"):
        names = ("EGL", "GL", "dbus-1", "fontconfig", "xkbcommon-x11", "xcb-cursor")
        missing = [f"lib{name}" for name in names if ctypes.util.find_library(name) is None]
        missing += [] if shutil.which("pdftoppm") else ["poppler's tools"]
        if missing:
            _say(f"please install {', '.join(missing)} with this system's package manager")
        return
    missing = [name for name in DEBIAN_PACKAGES if not _has_debian_package(name)]
    if not missing:
        return
    install = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *missing]
    if os.geteuid() == 0:
        _say(f"installing {' '.join(missing)}")
        if _succeeds(["apt-get", "update", "--quiet"], quiet=True) and _succeeds(
            install, quiet=True
        ):
            return
    _say(f"the window and the tests need: sudo {' '.join(['apt-get', 'install', *missing])}")


def _has_debian_package(name: str) -> bool:
    answer = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Status}", name],
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout.endswith(" installed")


def _succeeds(command: list[str], *, quiet: bool = False, cwd: Path | None = None) -> bool:
    """Runs a step; its output goes to standard error, since standard output is the program's."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["DEBIAN_FRONTEND"] = "noninteractive"
    output = subprocess.DEVNULL if quiet else sys.stderr
    try:
        done = subprocess.run(
            command, stdout=output, stderr=output, env=environment, cwd=cwd, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


def _say(line: str) -> None:
    print(f"bootstrap: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
