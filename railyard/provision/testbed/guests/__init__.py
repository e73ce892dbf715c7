"""Two QEMU guests with Soft-RoCE devices (rdma_rxe): real verbs on a machine without any card.

``spec`` says what a pair of guests is, ``kernel`` finds one that has rdma_rxe, ``initramfs`` and ``texts`` are what is
started (pure), ``agent`` carries commands in, ``bed`` brings all of it up and down.
"""
