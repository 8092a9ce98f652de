"""Who may do what. Pure; default deny."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    OPERATOR = "operator"
    TENANT_ADMIN = "tenant-admin"
    TENANT_READER = "tenant-reader"


NOBODY: frozenset[Role] = frozenset()
OPERATOR = frozenset({Role.OPERATOR})
WRITERS = frozenset({Role.OPERATOR, Role.TENANT_ADMIN})
EVERYONE = frozenset(Role)  # with a token


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request. `token` is the token's id; `tenant` is None for an operator only."""

    token: str
    name: str
    role: Role
    tenant: str | None = None

    @property
    def actor(self) -> str:
        """How the audit log names the caller."""
        return f"{self.name} ({self.token})"

    def owns(self, tenant: str) -> bool:
        """Whether the tenant's objects exist for this caller."""
        return self.role is Role.OPERATOR or self.tenant == tenant


class Decision(StrEnum):
    """Another tenant's things do not exist for a tenant, so HIDDEN is told as 404 and never as 403."""

    ALLOWED = "allowed"
    HIDDEN = "hidden"
    FORBIDDEN = "forbidden"


def decide(caller: Caller, allowed: frozenset[Role], tenant: str | None) -> Decision:
    """May the caller use a route that is for the roles `allowed`, on something of `tenant` (None: of nobody)?"""
    if tenant is not None and not caller.owns(tenant):
        return Decision.HIDDEN
    return Decision.ALLOWED if caller.role in allowed else Decision.FORBIDDEN
