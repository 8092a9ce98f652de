"""The lab's agent: makes of the emulator what the store says about instances, and starts again what dies.

It is one more daemon of the lab, `python -m scripts.overclos.agent LAB`. It holds nothing that is not in the store, the
journal or the kernel: killed at any moment, the next one goes on with what it finds.
"""
