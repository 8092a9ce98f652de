"""`python -m topologies.probes < plan.json > result.json`; progress and errors go to standard error, a line each.

Exit status 0: the probes were run and judged (whatever the verdicts are); 1: they could not be run; 130: interrupted.
"""

import json
import sys

from topologies.probes.namespaces import ProbeError
from topologies.probes.plan import PlanError, parse
from topologies.probes.runner import Runner


def main() -> int:
    try:
        plan = parse(json.load(sys.stdin))
        result = Runner(plan, lambda text: print(text, file=sys.stderr, flush=True)).run()
    except json.JSONDecodeError as error:
        print(f"the plan on standard input is not JSON: {error}", file=sys.stderr)
        return 1
    except (PlanError, ProbeError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    json.dump(result, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
