"""A plugin of pytest that writes how each step of each test ended, a line of JSON for each.

The runner reads these lines even when pytest is killed: a test that began and did not end is one that failed.
"""

import json
import os

FILE = open(os.environ["CLIENT_TESTS_RESULTS"], "a", buffering=1, encoding="utf-8")


def write(**line):
    FILE.write(json.dumps(line) + "\n")


def pytest_runtest_logstart(nodeid, location):
    write(name=nodeid, step="begin", ended="passed", details="")


def pytest_runtest_logreport(report):
    details = report.longreprtext[-4000:] if report.failed else ""
    write(name=report.nodeid, step=report.when, ended=report.outcome, details=details)
