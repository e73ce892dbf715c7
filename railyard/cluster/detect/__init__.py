"""What a node, its scheduler and its software say of themselves, as a system's file to review."""
