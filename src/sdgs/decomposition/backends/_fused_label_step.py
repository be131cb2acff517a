"""The label step on a CUDA device in three kernels, compiled by Triton.

A step of the array API has some 25 kernels, most of which take longer to start than to run. Here each row of R is read
twice and written once, which is the least, and nothing of the size of N is stored. In the notation of
``_block_updates``, for a label with the last subspace A = C^T:

1. ``_gram_kernel``: each program takes some rows and computes N = R + U C, Y1 = N A and its part of Y2 = N^T Y1.
2. ``_sum_kernel``: each program takes some columns, sums the parts of Y2 in float64, and computes its part of the Gram
   matrix from which the basis follows.
3. ``_project_kernel``: each program takes the rows of the first kernel, and sets U = N Q and R = N - U Q^T.

The basis is a Cholesky QR, Q = Y L^-T with L L^T = Y^T Y, in float64. So that it exists for rows that do not support
all directions, Y = Y2 + s A with s at the rounding error of Y2. This is the subspace iteration with N^T N + s I, which
has the same fixed points and descends as well; a direction that the rows do not support stays as it is.
"""

from types import ModuleType
from typing import Any

from array_api_compat import is_torch_array

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

MAX_RANK = 8  # loops over the components are unrolled
_TILE_ENTRIES = 1 << 14  # of N that a program holds: 64 registers of each of 256 threads
_MAX_COLUMNS = 1 << 10  # of a tile
_WARPS = 8
_PROGRAMS = 512  # about four per multiprocessor, if there are as many tiles of rows
_SLICES = 32  # of the columns, in the second kernel: one per lane of a warp, which sums them
_SHIFT = 2e-6  # s / ||Y2||_F: 16 times the rounding of float32


def is_available_for(X: Any) -> bool:
    """Whether the label steps of ``X`` can be compiled: float32 on a CUDA device, with Triton installed."""
    if triton is None or not is_torch_array(X):
        return False
    import torch

    return X.is_cuda and X.dtype == torch.float32


def update_labels(R: Any, rows: Any, U: Any, C: Any) -> None:
    """One step from the last subspaces for labels that share no row, in place: R (n + 1, p), U (b, m, r), C (b, r, p).

    Row n of R is zero; it pads ``rows`` (b, m).
    """
    import torch

    (b, m, r), p = U.shape, C.shape[2]
    tile_columns = min(triton.next_power_of_2(p), _MAX_COLUMNS)
    tile_rows = min(_TILE_ENTRIES // tile_columns, triton.next_power_of_2(m))
    n_tiles = triton.cdiv(m, tile_rows)
    tiles_per_program = triton.cdiv(n_tiles * b, max(_PROGRAMS, b))
    n_programs = triton.cdiv(n_tiles, tiles_per_program)
    slice_columns = triton.next_power_of_2(triton.cdiv(p, _SLICES))
    n_slices = triton.cdiv(p, slice_columns)
    parts = torch.empty((b, n_programs, r, p), dtype=torch.float32, device=R.device)
    Y2 = torch.empty((b, r, p), dtype=torch.float64, device=R.device)
    A = torch.empty_like(C)
    grams = torch.empty((b, r * (r + 1), n_slices), dtype=torch.float64, device=R.device)

    tile = {"RANK": r, "TILE_ROWS": tile_rows, "TILE_COLUMNS": tile_columns, "num_warps": _WARPS}
    _gram_kernel[(n_programs, b)](R, rows, U, C, parts, m, p, tiles_per_program, **tile)
    _sum_kernel[(n_slices, b)](parts, C, Y2, A, grams, n_programs, p, RANK=r, TILE_PARTS=8, TILE_COLUMNS=slice_columns)
    _project_kernel[(n_programs, b)](
        R, rows, U, C, Y2, A, grams, m, p, tiles_per_program, n_slices, _SHIFT, **tile, SLICES=_SLICES
    )


if triton is not None:

    @triton.jit
    def _label_rows(R, C, U, samples, columns, in_label, label, p, RANK: tl.constexpr):
        """N = R + U C of a tile: some rows (by sample) of a label, some columns. ``U`` is a tuple of columns."""
        inside = in_label[:, None] & (columns < p)[None, :]
        N = tl.load(R + samples[:, None] * p + columns[None, :], mask=inside, other=0.0)
        for j in tl.static_range(RANK):
            c = tl.load(C + (label * RANK + j) * p + columns, mask=columns < p, other=0.0)
            N += U[j][:, None] * c[None, :]
        return N

    @triton.jit
    def _coefficients(U, label, row, in_label, m, RANK: tl.constexpr):
        """The columns of U of some rows of a label."""
        columns = ()
        for j in tl.static_range(RANK):
            columns = columns + (tl.load(U + (label * m + row) * RANK + j, mask=in_label, other=0.0),)  # noqa: RUF005
        return columns

    @triton.jit(do_not_specialize=["m", "p", "tiles_per_program"])
    def _gram_kernel(
        R, rows, U, C, parts, m, p, tiles_per_program,
        RANK: tl.constexpr, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr,
    ):
        label = tl.program_id(1).to(tl.int64)
        part = parts + (label * tl.num_programs(0) + tl.program_id(0)) * RANK * p
        for tile in range(tiles_per_program):
            row = (tl.program_id(0) * tiles_per_program + tile) * TILE_ROWS + tl.arange(0, TILE_ROWS)
            in_label = row < m
            samples = tl.load(rows + label * m + row, mask=in_label, other=0)
            u = _coefficients(U, label, row, in_label, m, RANK)
            Y1 = (tl.zeros((TILE_ROWS,), tl.float32),) * RANK
            for start in range(0, p, TILE_COLUMNS):
                columns = start + tl.arange(0, TILE_COLUMNS)
                N = _label_rows(R, C, u, samples, columns, in_label, label, p, RANK)
                sums = ()
                for j in tl.static_range(RANK):
                    c = tl.load(C + (label * RANK + j) * p + columns, mask=columns < p, other=0.0)
                    sums = sums + (Y1[j] + tl.sum(N * c[None, :], axis=1),)  # noqa: RUF005
                Y1 = sums
            for start in range(0, p, TILE_COLUMNS):
                columns = start + tl.arange(0, TILE_COLUMNS)
                N = _label_rows(R, C, u, samples, columns, in_label, label, p, RANK)
                for j in tl.static_range(RANK):
                    change = tl.sum(N * Y1[j][:, None], axis=0)
                    if tile > 0:
                        change += tl.load(part + j * p + columns, mask=columns < p, other=0.0)
                    tl.store(part + j * p + columns, change, mask=columns < p)

    @triton.jit(do_not_specialize=["n_parts", "p"])
    def _sum_kernel(
        parts, C, Y2, A, grams, n_parts, p,
        RANK: tl.constexpr, TILE_PARTS: tl.constexpr, TILE_COLUMNS: tl.constexpr,
    ):
        label = tl.program_id(1).to(tl.int64)
        columns = tl.program_id(0) * TILE_COLUMNS + tl.arange(0, TILE_COLUMNS)
        inside = columns < p
        y, a = (), ()
        for j in tl.static_range(RANK):
            sums = tl.zeros((TILE_PARTS, TILE_COLUMNS), tl.float64)
            for start in range(0, n_parts, TILE_PARTS):
                part = start + tl.arange(0, TILE_PARTS)
                offsets = ((label * n_parts + part) * RANK + j)[:, None] * p + columns[None, :]
                mask = (part < n_parts)[:, None] & inside[None, :]
                sums += tl.load(parts + offsets, mask=mask, other=0.0).to(tl.float64)
            y_j = tl.sum(sums, axis=0)
            c = tl.load(C + (label * RANK + j) * p + columns, mask=inside, other=0.0)
            tl.store(Y2 + (label * RANK + j) * p + columns, y_j, mask=inside)
            tl.store(A + (label * RANK + j) * p + columns, c, mask=inside)
            y = y + (y_j,)  # noqa: RUF005
            a = a + (c.to(tl.float64),)  # noqa: RUF005
        gram = grams + label * RANK * (RANK + 1) * tl.num_programs(0) + tl.program_id(0)
        for j in tl.static_range(RANK):
            for i in tl.static_range(j + 1):
                entry = j * (j + 1) + 2 * i
                tl.store(gram + entry * tl.num_programs(0), tl.sum(y[j] * y[i]))
                tl.store(gram + (entry + 1) * tl.num_programs(0), tl.sum(y[j] * a[i] + a[j] * y[i]))

    @triton.jit
    def _cholesky(grams, label, n_slices, shift, RANK: tl.constexpr, SLICES: tl.constexpr):
        """s and L, by rows, with L L^T = Y^T Y for Y = Y2 + s A; A^T A = I."""
        slices = tl.arange(0, SLICES)
        gram = grams + label * RANK * (RANK + 1) * n_slices + slices
        trace = 0.0
        for j in tl.static_range(RANK):
            trace += tl.sum(tl.load(gram + (j * (j + 3)) * n_slices, mask=slices < n_slices, other=0.0))
        s = tl.where(trace > 0, shift * tl.sqrt(trace), 1.0)
        L = ()
        for j in tl.static_range(RANK):
            for i in tl.static_range(j + 1):
                entry = j * (j + 1) + 2 * i
                squares = tl.load(gram + entry * n_slices, mask=slices < n_slices, other=0.0)
                products = tl.load(gram + (entry + 1) * n_slices, mask=slices < n_slices, other=0.0)
                left = tl.sum(squares + s * products)
                for k in tl.static_range(i):
                    left -= L[j * (j + 1) // 2 + k] * L[i * (i + 1) // 2 + k]
                if i == j:
                    L = L + (tl.sqrt(left + s * s),)  # noqa: RUF005
                else:
                    L = L + (left / L[i * (i + 3) // 2],)  # noqa: RUF005
        return s, L

    @triton.jit
    def _basis(Y2, A, s, L, label, columns, p, RANK: tl.constexpr):
        """Some rows of Q = Y L^-T, as a tuple of columns."""
        inside = columns < p
        Q = ()
        for j in tl.static_range(RANK):
            q = tl.load(Y2 + (label * RANK + j) * p + columns, mask=inside, other=0.0)
            q += s * tl.load(A + (label * RANK + j) * p + columns, mask=inside, other=0.0)
            for i in tl.static_range(j):
                q -= L[j * (j + 1) // 2 + i] * Q[i]
            Q = Q + (q / L[j * (j + 3) // 2],)  # noqa: RUF005
        return Q

    @triton.jit(do_not_specialize=["m", "p", "tiles_per_program", "n_slices"])
    def _project_kernel(
        R, rows, U, C, Y2, A, grams, m, p, tiles_per_program, n_slices, shift,
        RANK: tl.constexpr, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr, SLICES: tl.constexpr,
    ):
        label = tl.program_id(1).to(tl.int64)
        s, L = _cholesky(grams, label, n_slices, shift, RANK, SLICES)
        for tile in range(tiles_per_program):
            row = (tl.program_id(0) * tiles_per_program + tile) * TILE_ROWS + tl.arange(0, TILE_ROWS)
            in_label = row < m
            samples = tl.load(rows + label * m + row, mask=in_label, other=0)
            u = _coefficients(U, label, row, in_label, m, RANK)
            new_u = (tl.zeros((TILE_ROWS,), tl.float32),) * RANK
            for start in range(0, p, TILE_COLUMNS):
                columns = start + tl.arange(0, TILE_COLUMNS)
                N = _label_rows(R, A, u, samples, columns, in_label, label, p, RANK)
                Q = _basis(Y2, A, s, L, label, columns, p, RANK)
                sums = ()
                for j in tl.static_range(RANK):
                    sums = sums + (new_u[j] + tl.sum(N * Q[j].to(tl.float32)[None, :], axis=1),)  # noqa: RUF005
                new_u = sums
            for start in range(0, p, TILE_COLUMNS):
                columns = start + tl.arange(0, TILE_COLUMNS)
                inside = columns < p
                N = _label_rows(R, A, u, samples, columns, in_label, label, p, RANK)
                Q = _basis(Y2, A, s, L, label, columns, p, RANK)
                for j in tl.static_range(RANK):
                    q = Q[j].to(tl.float32)
                    N -= new_u[j][:, None] * q[None, :]
                    if (tile == 0) & (tl.program_id(0) == 0):
                        tl.store(C + (label * RANK + j) * p + columns, q, mask=inside)
                tl.debug_barrier()  # warps may hold copies of small tiles: all have read before one writes
                tl.store(R + samples[:, None] * p + columns[None, :], N, mask=in_label[:, None] & inside[None, :])
            for j in tl.static_range(RANK):
                tl.store(U + (label * m + row) * RANK + j, new_u[j], mask=in_label)
