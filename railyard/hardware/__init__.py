"""Facts of links, slots and counters' drivers, and the limits that they set."""
