"""What a scheduler's snapshots mean: numbers over a window, verdicts, lints, and where snapshots come from. Draws no screens."""
