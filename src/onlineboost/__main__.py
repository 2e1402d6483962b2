"""`python -m onlineboost`: the command line, where `onlineboost` is not on the PATH."""

from onlineboost.cli.main import main

main(prog_name="python -m onlineboost")
