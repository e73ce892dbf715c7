"""The physics of collectives between GPUs: what each NIC and GPU must carry, and which bandwidth is possible."""
