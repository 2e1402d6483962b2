"""Model files, the part that knows models: estimators to JSON and arrays, and back.

`fields` says what a field of a state may hold, and writes and reads it; `states` lists every class that a model is made
of, a line each; `forests`, `panels` and `checks` look whether what was read could have been learned; `files` puts it
together, `frozen` copies a model quickly for a thread that saves it. The format of the bytes is in `storage`. Users
import `load` from `onlineboost` itself. May be imported by `estimators` and all above.
"""
