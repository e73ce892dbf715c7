"""All that knows ReFrame: settings, launchers, schedulers, the bases of checks, and `reframe -r`."""
