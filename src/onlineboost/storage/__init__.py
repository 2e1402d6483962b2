"""Model files, the part that knows nothing of models: bytes on disk, what is wrong with them, and plain values in JSON.

`container` is the format (storage/FORMAT.md): a short preamble, a JSON header, arrays; it replaces a file as a whole
or not at all. `values` writes labels and settings of many types as JSON. Public are the errors, which are here. Imports
nothing of the package but `_compile`; all but that may import it.
"""

from __future__ import annotations

__all__ = [
    "CannotSave",
    "DamagedModelFile",
    "ForeignModelFile",
    "ModelFileError",
    "NewerModelFile",
    "NotAModelFile",
    "TooLargeHeader",
    "TruncatedModelFile",
]


class ModelFileError(ValueError):
    """Something is wrong with a model file, or with what is to be saved in one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onlineboost import load
    >>> path = pathlib.Path(tempfile.mkdtemp(), "notes.txt")
    >>> _ = path.write_text("no model")
    >>> try:
    ...     load(path)
    ... except ModelFileError as error:
    ...     print(type(error).__name__)
    NotAModelFile
    """


class NotAModelFile(ModelFileError):
    """It is something else."""


class TruncatedModelFile(ModelFileError):
    """Its end is missing."""


class DamagedModelFile(ModelFileError):
    """Its bytes are not those that were written, or it was never a good one."""


class NewerModelFile(ModelFileError):
    """It was written by a later version of the package."""


class TooLargeHeader(ModelFileError):
    """Its header is larger than any that is read."""


class ForeignModelFile(ModelFileError):
    """It holds a pickle, or something else that is read only if you ask for it."""


class CannotSave(ModelFileError):
    """A model holds something that a model file cannot."""
