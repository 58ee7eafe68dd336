"""Python runs this when it starts with this folder on PYTHONPATH: kernels and child processes get the guard too."""

import guard

guard.install()
