"""The command line: `main` has the group of commands, each of which has a file of its own, by its name.

A command's file is loaded when the command is called or its help is asked for, and loads what it works with, such as
`measure` for `run` and `compare`, when it runs: so `onlineboost --help` is there at once. Nothing imports this package.
"""
