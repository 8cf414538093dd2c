"""Published packages as targets. Each imports its package only when it is set up; `pip install slotwise[upstream]` brings them."""
