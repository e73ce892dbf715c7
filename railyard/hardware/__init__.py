"""Facts about links, slots and drivers with counters, and the limits that they set."""
