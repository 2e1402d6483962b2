"""The live service: predicts, learns what it was told once and for good, and shows what it is doing (docs/live.md).

In the order of the data: `http` reads requests (`messages` has their types), `service` answers them, `log` brings
events to disk, a `follower` learns them from there, and `monitor` counts what came of it. All is private; the command
line starts it, and may import it. It may import everything below `cli`.
"""
