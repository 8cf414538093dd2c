"""Compiles the Rust crate: the engine for `impl`, and its faulty twin for `fuzz`."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CRATE = Path("impl/native")
LIBRARY = {"darwin": "libslotwise_native.dylib", "win32": "slotwise_native.dll"}.get(sys.platform, "libslotwise_native.so")
SUFFIX = ".pyd" if sys.platform == "win32" else ".abi3.so"
# The features of each, and where it is built: cargo names a library without its features, so in one folder one build would undo another's work.
MODULES = {Path("impl/slotwise/impl/_native"): ("python", "target/engine"), Path("fuzz/slotwise/fuzz/_faulty"): ("python,faults", "target/faulty")}
# The stable interface needs no interpreter to build against; looking for one would build everything anew whenever PATH changes, as it does with each pip.
ANY_PYTHON = {} if sys.platform == "win32" else {"PYO3_NO_PYTHON": "1"}
NO_RUST = "slotwise needs a Rust toolchain (cargo, 1.85 or newer) to build its engine: install one from rustup or your system's packages, then try again"


class NativeBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if shutil.which("cargo") is None:
            raise SystemExit(NO_RUST)
        with ThreadPoolExecutor() as pool:          # each takes one processor most of the time
            build_data["artifacts"] += pool.map(self.compile, MODULES)
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def compile(self, module: Path) -> str:
        features, folder = MODULES[module]
        command = ["cargo", "build", "--release", "--locked", "--target-dir", folder, "--features", features]
        subprocess.run(command, cwd=Path(self.root, CRATE), env=os.environ | ANY_PYTHON, check=True)
        built = module.with_name(module.name + SUFFIX)
        target = Path(self.root, built)
        fresh = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.copy2(Path(self.root, CRATE, folder, "release", LIBRARY), fresh)
        fresh.replace(target)                       # at once, and never into a library that a running process has mapped
        return built.as_posix()
