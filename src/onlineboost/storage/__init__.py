"""Model files, the part that knows nothing of models: bytes on disk, what is wrong with them, and plain values in JSON.

`container` is the format (docs/model-format.md): a short preamble, a JSON header, arrays. `values` writes labels and
settings of many types as JSON, `atomic` replaces a file as a whole or not at all, `errors` are the words for what is
wrong. Public are the errors. Imports nothing of the package; all but `_compile` may import it.
"""

from onlineboost.storage.errors import (
    CannotSave,
    DamagedModelFile,
    ForeignModelFile,
    ModelFileError,
    NewerModelFile,
    NotAModelFile,
    TooLargeHeader,
    TruncatedModelFile,
)

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
