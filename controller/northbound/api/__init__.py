"""The REST API: the only way in which tenants and operators change the network."""
