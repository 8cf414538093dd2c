"""Where snapshots come from. A source is an async iterator of `Snapshot`; whatever is wrong with one ends in a `SourceError` of one line."""
