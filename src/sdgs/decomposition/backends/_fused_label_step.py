"""The label step on a CUDA device in four kernels, compiled by Triton.

A step of the array API has some 25 kernels, most of which take longer to start than to run. Here each row of R is read
twice and written once, which is the least, and nothing of the size of N is stored. In the notation of
``_block_updates``, for labels that share no row:

1. ``gram_kernel``: each program takes some rows of a label, and computes N = R + U C, Y1 = N A and its part of
   Y2 = N^T Y1.
2. ``sum_kernel`` sums the parts of Y2 in float64.
3. ``orthonormalise_kernel``: one program per label takes Q from Y2, in float64.
4. ``project_kernel``: each program takes the rows of the first kernel, and sets U = N Q and R = N - U Q^T.

Arrays: R (n + 1, p), of which the last row is zero and pads ``rows`` (b, m); U (b, m, r); C and others (b, r, p).
"""

from typing import Any

import triton
from array_api_compat import device

from sdgs._utils._array_api import namespace
from sdgs.decomposition.backends import _label_step_kernels as kernels

_MAX_RANK = 8  # loops over the components are unrolled
_MAX_COLUMNS = 1 << 12  # of N and Q, so that a program can hold whole rows
_TILE_ENTRIES = 1 << 13  # of N that a program holds, at least
_MIN_TILE_ROWS = 8
_PROGRAMS = 512  # about four per multiprocessor, if there are as many tiles of rows
_SUM_TILE = {"TILE_PARTS": 64, "TILE_COLUMNS": 32, "num_warps": 4}


def supports(rank: int, n_features: int) -> bool:
    """Whether there are kernels for components of this rank."""
    return 0 < rank <= _MAX_RANK and n_features <= _MAX_COLUMNS


def update_labels(R: Any, rows: Any, U: Any, C: Any) -> None:
    """A step from the last subspaces, in place."""
    last = C.new_empty(C.shape)
    orthonormalise(gram_times(R, rows, U, C, C), C, last)
    project(R, rows, U, C, last)


def add_start(R: Any, rows: Any, X: Any, weight: Any) -> None:
    """Add these rows of X (n, p), times a ``weight`` (n + 1,) each, to R."""
    (b, m), (n, p) = rows.shape, X.shape
    tile, programs, tiles_per_program = _tiles(b, m, p)
    kernels.start_kernel[(programs, b)](R, rows, X, weight, n, m, p, tiles_per_program, **tile)


def start_labels(R: Any, rows: Any, U: Any, C: Any, A: Any) -> None:
    """The first step, in place, from Gaussian matrices A (b, p, w >= r), with a Rayleigh-Ritz step; U and C are 0."""
    xp, At = namespace(R), A.mT.contiguous()
    r, last = C.shape[1], xp.empty_like(At)
    orthonormalise(gram_times(R, rows, U, C, At), At, last)
    Y2t = gram_times(R, rows, U, C, At)
    _, axes = xp.linalg.eigh(Y2t @ At.to(Y2t.dtype).mT)
    orthonormalise(axes[:, :, -r:].mT @ Y2t, C, last)
    project(R, rows, U, C, xp.zeros_like(C))


def gram_times(R: Any, rows: Any, U: Any, C: Any, At: Any) -> Any:
    """Y2^T = A^T N^T N (b, w, p), in float64, for N = R + U C and A^T (b, w, p)."""
    xp, (b, m, r), (w, p) = namespace(R), U.shape, At.shape[1:]
    tile, programs, tiles_per_program = _tiles(b, m, p)
    parts = xp.empty((b, programs, w, p), dtype=xp.float32, device=device(R))
    Y2t = xp.empty((b, w, p), dtype=xp.float64, device=device(R))
    kernels.gram_kernel[(programs, b)](R, rows, U, C, At, parts, m, p, tiles_per_program, RANK=r, WIDTH=w, **tile)
    kernels.sum_kernel[(triton.cdiv(w * p, _SUM_TILE["TILE_COLUMNS"]), b)](parts, Y2t, programs, w * p, **_SUM_TILE)
    return Y2t


def orthonormalise(Yt: Any, Qt: Any, last: Any) -> None:
    """Write an orthonormal basis (b, w, p) of the rows of ``Yt`` to ``Qt``, and what that contained to ``last``."""
    b, w, p = Yt.shape
    columns = triton.next_power_of_2(p)
    shape = {"ROWS": triton.next_power_of_2(w), "COLUMNS": columns}
    kernels.orthonormalise_kernel[(b,)](Yt, Qt, last, w, p, **shape, num_warps=max(4, columns // 256))


def project(R: Any, rows: Any, U: Any, C: Any, last: Any) -> None:
    """U and R for new C = Q^T, in place; ``last`` is C until now."""
    (b, m, r), p = U.shape, C.shape[2]
    tile, programs, tiles_per_program = _tiles(b, m, p)
    kernels.project_kernel[(programs, b)](R, rows, U, C, last, m, p, tiles_per_program, RANK=r, **tile)


def _tiles(b: int, m: int, p: int) -> tuple[dict[str, int], int, int]:
    """Options of the kernels of tiles of a label's rows, the programs per label, and the tiles of each."""
    columns = triton.next_power_of_2(p)
    rows = max(_TILE_ENTRIES // columns, _MIN_TILE_ROWS)
    n_tiles = triton.cdiv(m, rows)
    tiles_per_program = triton.cdiv(n_tiles * b, max(_PROGRAMS, b))
    options = {"TILE_ROWS": rows, "TILE_COLUMNS": columns, "num_warps": max(4, columns // 256)}
    return options, triton.cdiv(n_tiles, tiles_per_program), tiles_per_program
