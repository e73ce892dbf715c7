"""Two QEMU guests with Soft-RoCE devices (rdma_rxe): real verbs on a machine without any card.

``spec`` says what a pair of guests is. ``kernel`` finds a kernel with rdma_rxe. ``texts`` make what
is started (pure). ``agent`` carries commands into a guest. ``bed`` brings everything up and down.
"""
