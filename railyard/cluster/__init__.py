"""What nodes and fabrics show about themselves: detect, doctor, fabric, gate, rolling, soak."""
