"""The native engine: the specification's rules, kept by data structures instead of sums."""
from slotwise.impl._native import Admission, Batcher

__all__ = ["Admission", "Batcher"]
