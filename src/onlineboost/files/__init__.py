"""Model files, the part that knows models: estimators to JSON and arrays, and back.

`fields` writes and reads the fields of a state as its schema says, and columns, labels and rows that wait; `states`
lists every class that a model is made of, a line each; `checks` looks whether what was read fits together; `files` puts
it together, and copies a model quickly for a thread that saves it. The format of the bytes is in `storage`. Private:
users import `load` from `onlineboost` itself. Imports `chain` and all below it; all above it may import this.
"""
