"""What nodes and fabrics show of themselves: detect, doctor, fabric, soak."""
