"""Errors of the emulator: each says what is wrong, where, and what to do about it."""


class EmulatorError(Exception):
    """`subject` names the object (a node, a device, a path); `hint` says what the user can do."""

    def __init__(self, subject: str, message: str, hint: str = "") -> None:
        self.subject = subject
        self.message = message
        self.hint = hint
        super().__init__(f"{subject}: {message}" + (f" ({hint})" if hint else ""))


class PlanError(EmulatorError):
    """The lab cannot be built as described; nothing was touched."""


class ChangeRefused(PlanError):
    """A running lab cannot become what the plan asks for; nothing was touched. `reasons` are all there are."""

    def __init__(self, subject: str, reasons: list[str]) -> None:
        self.reasons = reasons
        more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
        super().__init__(subject, "; ".join(reasons[:3]) + more, "run `overclos down` and `overclos up` for that")


class LabChanged(EmulatorError):
    """Another process has changed the lab since the plan for it was made; nothing was touched."""


class LabExists(EmulatorError):
    """A lab of that name is already up."""


class LabMissing(EmulatorError):
    """No lab of that name is up."""


class LabBusy(EmulatorError):
    """Another process is changing the lab right now."""


class NetlinkError(EmulatorError):
    """The kernel refused a change to devices, addresses, routes or qdiscs."""


class OvsdbError(EmulatorError):
    """An Open vSwitch database refused a transaction or did not answer."""


class SwitchError(EmulatorError):
    """An Open vSwitch did not start, or is not what was asked for."""


class SwitchDead(SwitchError):
    """An Open vSwitch does not run, or ended while it was asked for something. It can be mended."""
