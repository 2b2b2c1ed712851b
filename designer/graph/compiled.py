"""How a kernel is compiled: once a machine, cached beside the source, free of the interpreter lock.

A cached kernel is rebuilt when its own file changes, not when a kernel that it calls in another
file does. So kernels call only kernels of the same file.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(function: Kernel) -> Kernel:
    """The function compiled to machine code, with its type kept for the checker.

    The cache lies beside the source, else in the user's folder of caches.
    """
    try:
        return cast(Kernel, njit(cache=True, nogil=True)(function))
    except RuntimeError:
        # Neither place can be written: every start compiles anew, but the program starts.
        return cast(Kernel, njit(nogil=True)(function))
