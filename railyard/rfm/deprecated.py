"""ReFrame's deprecated variables, of which a user is told only where a check sets one."""

from typing import TypeVar

import reframe as rfm
from reframe.core.fields import DeprecatedField

Check = TypeVar("Check", bound=type[rfm.RegressionTest])


def told_only_when_set(check: Check) -> Check:
    """Return the class, with no warning on *reading* a deprecated variable, nor in the classes made from it.

    ReFrame 4.10 reads each variable of each test that it makes, and for a deprecated one (`variables`, of 3.x) walks
    the stack twice for a warning that it then suppresses: over a third of what a listing of 100 tests costs. A check
    that sets the variable is still told.
    """
    for variable in check._rfm_var_space.values():
        if variable.is_deprecated():
            variable._p_field._op &= DeprecatedField.OP_SET
    return check
