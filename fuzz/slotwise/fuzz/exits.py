"""How a command ends. Each failure has its own code, so that a script can tell what to do next."""
from __future__ import annotations

CLEAN = 0
DIVERGENCE = 1          # target and reference differ
INVARIANT = 2           # a law is broken, or an audit fails
NONDETERMINISM = 3      # the same commands, other observations
FLOOR = 4               # a rule decided too seldom: the search looked too little
MUTATION_FLOOR = 5
TRACE_REJECTED = 6      # the target cannot run that trace
USAGE = 64
INTERNAL = 70
