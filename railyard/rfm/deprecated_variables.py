"""ReFrame's deprecated variables: the user is warned only if a check sets one."""

from typing import Any, TypeVar

import reframe as rfm
from reframe.core.fields import DeprecatedField

Check = TypeVar("Check", bound=type[rfm.RegressionTest])


class ToldWhenSet(DeprecatedField):
    """A deprecated variable that warns if a check sets it, but not if ReFrame itself makes a test."""

    def __init__(self, field: DeprecatedField) -> None:
        super().__init__(field._target_field, field._message, field.op & DeprecatedField.OP_SET, field.from_version)

    def __set__(self, obj: object, value: Any) -> Any:
        """Set the variable of a test. Without a test (None), return the value as the variable would have it."""
        return self._target_field.__set__(None, value) if obj is None else super().__set__(obj, value)


def told_only_when_set(check: Check) -> Check:
    """Return the class, without a warning if ReFrame itself uses a deprecated variable. Derived classes inherit this.

    ReFrame 4.10 reads and converts each variable of each test that it makes. For a deprecated one (`variables`, of 3.x)
    it walks the stack three times, for a warning that it then suppresses. This takes a fifth of the time of a listing
    of all checks. A check that sets the variable still gets the warning.
    """
    for variable in check._rfm_var_space.values():
        if variable.is_deprecated():
            variable._p_field = ToldWhenSet(variable._p_field)
    return check
