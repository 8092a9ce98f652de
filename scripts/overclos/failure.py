"""What a verb can say went wrong, in one line for the user."""


class Failure(Exception):
    """The verb could not do its work; the text says why and what to do."""


class LabChoice(Failure):
    """It is not clear which lab is meant."""


class NotReady(Failure):
    """The network was not ready in time; the text names what is missing and why."""


class ProbeFailure(Failure):
    """The probes could not be run; this says nothing about the network."""
