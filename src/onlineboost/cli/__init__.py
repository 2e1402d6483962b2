"""The command line: `main` has the group of commands, and what they share.

In the order of the work: `sources` has SOURCE, what is learned from, and `datasets`; `run` has `run`, `compare` and
`tune`, whose work and tables are in `measure`; `saved_model` has `predict` and `show`; `bounds` has `potential` too.
A command's file is loaded when the command is called or its help is asked for, and loads what it works with when it
runs: so `onlineboost --help` is there at once. Nothing imports this package, but `onlineboost_paper`.
"""
