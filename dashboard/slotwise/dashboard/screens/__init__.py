"""What a person sees of `slotwise.dashboard.observe`, in a terminal. Needs the extra `screen`; nothing else imports it."""
