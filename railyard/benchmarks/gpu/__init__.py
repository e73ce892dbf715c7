"""The physics of collectives between GPUs: what each NIC and GPU must carry, and what bandwidth is possible."""
