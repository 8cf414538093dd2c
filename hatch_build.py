"""Compiles the Rust crate: the engine for `impl`, and its faulty twin for `fuzz`."""
from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CRATE = Path("impl/native")
LIBRARY = {"darwin": "libslotwise_native.dylib", "win32": "slotwise_native.dll"}.get(sys.platform, "libslotwise_native.so")
SUFFIX = ".pyd" if sys.platform == "win32" else ".abi3.so"
MODULES = {Path("impl/slotwise/impl/_native"): "python", Path("fuzz/slotwise/fuzz/_faulty"): "python,faults"}
NO_RUST = "slotwise needs a Rust toolchain (cargo, 1.85 or newer) to build its engine: install one from rustup or your system's packages, then try again"


class NativeBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if shutil.which("cargo") is None:
            raise SystemExit(NO_RUST)
        for module, features in MODULES.items():
            command = ["cargo", "build", "--release", "--locked", "--features", features]
            subprocess.run(command, cwd=Path(self.root, CRATE), check=True)
            built = module.with_name(module.name + SUFFIX)
            target = Path(self.root, built)
            target.unlink(missing_ok=True)          # never write into a library that a running process has mapped
            shutil.copy2(Path(self.root, CRATE, "target/release", LIBRARY), target)
            build_data["artifacts"].append(built.as_posix())
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
