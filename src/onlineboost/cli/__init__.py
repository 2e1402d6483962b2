"""The command line: `main` has the group of commands, each of which is in the file of its name.

`compare` is beside `run`, `potential` beside `bounds`, `predict` and `show` are in `saved_model`. A command's file is
loaded when the command is called or its help is asked for, and loads what it works with, such as `stream` and `measure`
for `run` and `compare`, when it runs: so `onlineboost --help` is there at once. `common` is what they share. Nothing
imports this package.
"""
