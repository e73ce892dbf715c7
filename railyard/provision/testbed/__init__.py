"""The virtual cluster: network namespaces as nodes, shaped veth pairs as rails."""
