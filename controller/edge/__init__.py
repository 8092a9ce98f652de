"""What the controller answers instances in place of machines that do not exist: the gateways and servers of a subnet.

Pure: a question is a frame and the port that sent it, an answer is a frame for that port or nothing. `services` is the
table of contents.
"""
