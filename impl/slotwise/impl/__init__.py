"""The native engine: the specification's rules, kept by data structures instead of sums."""
from slotwise.impl._native import Admission, Batcher, Spinner
from slotwise.impl.spin_pool import SpinPool

__all__ = ["Admission", "Batcher", "SpinPool", "Spinner"]
