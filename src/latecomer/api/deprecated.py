"""Names of the previous release; they work for one release, with a warning that has the new one."""

import warnings


def renamed(old: str, new: str) -> None:
    """Warn that a name has changed; the warning points at the line that used it."""
    warnings.warn(
        f"{old} is now {new}; the old name works until release 0.3.",
        DeprecationWarning,
        stacklevel=3,
    )
