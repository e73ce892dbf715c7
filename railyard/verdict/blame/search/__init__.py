"""All pairs of nodes: measured in rounds of disjoint pairs, searched for a slow node, pair or side of the switch."""
