"""`python -m scripts.overclos.agent LAB`: the agent itself. `overclos agent LAB` starts it as a daemon of the lab."""

import argparse
import logging
import sys

from controller.northbound.store import StoreError
from scripts.overclos.agent.loop import Agent
from topologies.emulator.errors import EmulatorError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.overclos.agent", description=__doc__)
    parser.add_argument("lab", help="name of a lab that is up")
    lab = parser.parse_args().lab
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        Agent(lab).run()
    except (EmulatorError, StoreError) as error:
        logging.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
