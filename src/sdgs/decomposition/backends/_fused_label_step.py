"""The label step on a CUDA device in four kernels, compiled by Triton.

A step of the array API has some 25 kernels, most of which take longer to start than to run. Here each row of R is read
twice and written once, which is the least, and nothing of the size of N is stored. In the notation of
``_block_updates``, for labels that share no row:

1. ``_gram_kernel``: each program takes some rows of a label, and computes N = R + U C, Y1 = N A and its part of
   Y2 = N^T Y1.
2. ``_sum_kernel`` sums the parts of Y2 in float64.
3. ``_orthonormalise_kernel``: one program per label takes Q from Y2, in float64.
4. ``_project_kernel``: each program takes the rows of the first kernel, and sets U = N Q and R = N - U Q^T.

Arrays: R (n + 1, p), of which the last row is zero and pads ``rows`` (b, m); U (b, m, r); C and others (b, r, p).
"""

from typing import Any

from array_api_compat import is_torch_array

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

_MAX_RANK = 8  # loops over the components are unrolled
_MAX_COLUMNS = 1 << 12  # of Q, which one program holds
_TILE_ENTRIES = 1 << 13  # of N that a program holds: 64 registers of each of 128 threads
_MAX_TILE_COLUMNS = 1 << 10
_PROGRAMS = 512  # about four per multiprocessor, if there are as many tiles of rows
_SUM_TILE = {"TILE_PARTS": 64, "TILE_COLUMNS": 32, "num_warps": 4}


def is_available_for(X: Any, rank: int) -> bool:
    """Whether label steps of this rank can be compiled: float32 on a CUDA device, with Triton installed."""
    if triton is None or not is_torch_array(X) or not 0 < rank <= _MAX_RANK:
        return False
    import torch

    return X.is_cuda and X.dtype == torch.float32 and X.shape[1] <= _MAX_COLUMNS


def update_labels(R: Any, rows: Any, U: Any, C: Any) -> None:
    """A step from the last subspaces, in place."""
    last = C.new_empty(C.shape)
    orthonormalise(gram_times(R, rows, U, C, C), C, last)
    project(R, rows, U, C, last)


def start_labels(R: Any, rows: Any, U: Any, C: Any, A: Any) -> None:
    """The first step, in place, from Gaussian matrices A (b, p, w), w >= r, with a Rayleigh-Ritz step; U and C are 0."""
    import torch

    At = A.mT.contiguous()
    r, last = C.shape[1], torch.empty_like(At)
    orthonormalise(gram_times(R, rows, U, C, At), At, last)
    Y2t = gram_times(R, rows, U, C, At)
    _, axes = torch.linalg.eigh(Y2t @ At.to(Y2t.dtype).mT)
    orthonormalise(axes[:, :, -r:].mT @ Y2t, C, last)
    project(R, rows, U, C, torch.zeros_like(C))


def gram_times(R: Any, rows: Any, U: Any, C: Any, At: Any) -> Any:
    """Y2^T = A^T N^T N (b, w, p), in float64, for N = R + U C and A^T (b, w, p)."""
    import torch

    (b, m, r), (w, p) = U.shape, At.shape[1:]
    tile, programs, tiles_per_program = _tiles(b, m, p)
    parts = torch.empty((b, programs, w, p), dtype=torch.float32, device=R.device)
    Y2t = torch.empty((b, w, p), dtype=torch.float64, device=R.device)
    _gram_kernel[(programs, b)](R, rows, U, C, At, parts, m, p, tiles_per_program, RANK=r, WIDTH=w, **tile)
    _sum_kernel[(triton.cdiv(w * p, _SUM_TILE["TILE_COLUMNS"]), b)](parts, Y2t, programs, w * p, **_SUM_TILE)
    return Y2t


def orthonormalise(Yt: Any, Qt: Any, last: Any) -> None:
    """Write an orthonormal basis (b, w, p) of the rows of ``Yt`` to ``Qt``, and what that contained to ``last``."""
    b, w, p = Yt.shape
    columns = triton.next_power_of_2(p)
    _orthonormalise_kernel[(b,)](
        Yt, Qt, last, p, WIDTH=w, ROWS=triton.next_power_of_2(w), COLUMNS=columns, num_warps=min(max(columns // 128, 4), 16)
    )


def project(R: Any, rows: Any, U: Any, C: Any, last: Any) -> None:
    """U and R for new C = Q^T, in place; ``last`` is C until now."""
    (b, m, r), p = U.shape, C.shape[2]
    tile, programs, tiles_per_program = _tiles(b, m, p)
    _project_kernel[(programs, b)](R, rows, U, C, last, m, p, tiles_per_program, RANK=r, **tile)


def _tiles(b: int, m: int, p: int) -> tuple[dict[str, int], int, int]:
    """The tiles of a label's rows, the programs per label, and the tiles of each."""
    columns = min(triton.next_power_of_2(p), _MAX_TILE_COLUMNS)
    rows = _TILE_ENTRIES // columns
    n_tiles = triton.cdiv(m, rows)
    tiles_per_program = triton.cdiv(n_tiles * b, max(_PROGRAMS, b))
    return {"TILE_ROWS": rows, "TILE_COLUMNS": columns}, triton.cdiv(n_tiles, tiles_per_program), tiles_per_program


if triton is not None:
    # Triton needs annotations of its own. In its functions a tuple grows by the sum of tuples alone.
    # ruff: noqa: ANN001, ANN202, RUF005

    @triton.jit
    def _row_tile(m, tile, tiles_per_program, TILE_ROWS: tl.constexpr):
        """Numbers of a label's rows, and which of them exist."""
        row = (tl.program_id(0) * tiles_per_program + tile) * TILE_ROWS + tl.arange(0, TILE_ROWS)
        return row, row < m

    @triton.jit
    def _load_coefficients(U, label, m, row, in_label, RANK: tl.constexpr):
        """The columns of U for some rows."""
        columns = ()
        for j in tl.static_range(RANK):
            columns = columns + (tl.load(U + (label * m + row) * RANK + j, mask=in_label, other=0.0),)
        return columns

    @triton.jit
    def _load_component(C, label, j, p, columns, RANK: tl.constexpr):
        """Some columns of row j of a label's C."""
        return tl.load(C + (label * RANK + j) * p + columns, mask=columns < p, other=0.0)

    @triton.jit
    def _label_rows(R, C, u, samples, in_label, label, p, columns, RANK: tl.constexpr):
        """N for some rows and columns."""
        inside = in_label[:, None] & (columns < p)[None, :]
        N = tl.load(R + samples[:, None] * p + columns[None, :], mask=inside, other=0.0)
        for j in tl.static_range(RANK):
            N += u[j][:, None] * _load_component(C, label, j, p, columns, RANK)[None, :]
        return N

    @triton.jit
    def _add_products(sums, N, At, label, p, columns, WIDTH: tl.constexpr):
        """The columns of N A, added to ``sums``."""
        total = ()
        for j in tl.static_range(WIDTH):
            a = _load_component(At, label, j, p, columns, WIDTH)
            total = total + (sums[j] + tl.sum(N * a[None, :], axis=1),)
        return total

    @triton.jit
    def _add_to_part(part, N, Y1, is_first, p, columns, WIDTH: tl.constexpr):
        """Add N^T Y1 to these columns of a part of Y2, which the first tile begins."""
        inside = columns < p
        for j in tl.static_range(WIDTH):
            change = tl.sum(N * Y1[j][:, None], axis=0)
            change += tl.load(part + j * p + columns, mask=inside & (not is_first), other=0.0)
            tl.store(part + j * p + columns, change, mask=inside)

    @triton.jit(do_not_specialize=["m", "p", "tiles_per_program"])
    def _gram_kernel(
        R, rows, U, C, At, parts, m, p, tiles_per_program,
        RANK: tl.constexpr, WIDTH: tl.constexpr, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr,
    ):  # fmt: skip
        label = tl.program_id(1).to(tl.int64)
        part = parts + (label * tl.num_programs(0) + tl.program_id(0)) * WIDTH * p
        first_columns = tl.arange(0, TILE_COLUMNS)
        for tile in range(tiles_per_program):
            row, in_label = _row_tile(m, tile, tiles_per_program, TILE_ROWS)
            samples = tl.load(rows + label * m + row, mask=in_label, other=0)
            u = _load_coefficients(U, label, m, row, in_label, RANK)
            Y1 = (tl.zeros((TILE_ROWS,), tl.float32),) * WIDTH
            for start in range(TILE_COLUMNS, p, TILE_COLUMNS):
                N = _label_rows(R, C, u, samples, in_label, label, p, start + first_columns, RANK)
                Y1 = _add_products(Y1, N, At, label, p, start + first_columns, WIDTH)
            # The first columns come last, and first in the next loop: with few columns, N is computed once.
            N = _label_rows(R, C, u, samples, in_label, label, p, first_columns, RANK)
            Y1 = _add_products(Y1, N, At, label, p, first_columns, WIDTH)
            _add_to_part(part, N, Y1, tile == 0, p, first_columns, WIDTH)
            for start in range(TILE_COLUMNS, p, TILE_COLUMNS):
                N = _label_rows(R, C, u, samples, in_label, label, p, start + first_columns, RANK)
                _add_to_part(part, N, Y1, tile == 0, p, start + first_columns, WIDTH)

    @triton.jit(do_not_specialize=["n_parts", "size"])
    def _sum_kernel(parts, Y2t, n_parts, size, TILE_PARTS: tl.constexpr, TILE_COLUMNS: tl.constexpr):
        label = tl.program_id(1).to(tl.int64)
        columns = tl.program_id(0) * TILE_COLUMNS + tl.arange(0, TILE_COLUMNS)
        sums = tl.zeros((TILE_PARTS, TILE_COLUMNS), tl.float64)
        for start in range(0, n_parts, TILE_PARTS):
            part = start + tl.arange(0, TILE_PARTS)
            inside = (part < n_parts)[:, None] & (columns < size)[None, :]
            entries = (label * n_parts + part)[:, None] * size + columns[None, :]
            sums += tl.load(parts + entries, mask=inside, other=0.0).to(tl.float64)
        tl.store(Y2t + label * size + columns, tl.sum(sums, axis=0), mask=columns < size)

    @triton.jit(do_not_specialize=["p"])
    def _orthonormalise_kernel(Yt, Qt, last, p, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        """Gram-Schmidt, twice: also a vector that is only rounding is orthogonal to the others afterwards."""
        label = tl.program_id(0).to(tl.int64)
        rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
        inside = columns < p
        Q = tl.zeros((ROWS, COLUMNS), tl.float64)
        for j in tl.static_range(WIDTH):
            entries = (label * WIDTH + j) * p + columns
            last_q = tl.load(Qt + entries, mask=inside, other=0.0)
            tl.store(last + entries, last_q, mask=inside)
            y = tl.load(Yt + entries, mask=inside, other=0.0)
            largest = tl.max(tl.abs(y), axis=0)
            y = tl.where(largest > 0, y / largest, last_q.to(tl.float64))  # rows that are zero say nothing
            for _ in tl.static_range(2 if j > 0 else 0):
                y -= tl.sum(Q * tl.sum(Q * y[None, :], axis=1)[:, None], axis=0)
            square = tl.sum(y * y, axis=0)
            q = tl.where(square > 0, y / tl.sqrt(square), 0.0)
            tl.store(Qt + entries, q.to(tl.float32), mask=inside)
            Q = tl.where((rows == j)[:, None], q[None, :], Q)

    @triton.jit(do_not_specialize=["m", "p", "tiles_per_program"])
    def _project_kernel(
        R, rows, U, C, last, m, p, tiles_per_program,
        RANK: tl.constexpr, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr,
    ):  # fmt: skip
        label = tl.program_id(1).to(tl.int64)
        first_columns = tl.arange(0, TILE_COLUMNS)
        for tile in range(tiles_per_program):
            row, in_label = _row_tile(m, tile, tiles_per_program, TILE_ROWS)
            samples = tl.load(rows + label * m + row, mask=in_label, other=0)
            u = _load_coefficients(U, label, m, row, in_label, RANK)
            new_u = (tl.zeros((TILE_ROWS,), tl.float32),) * RANK
            for start in range(TILE_COLUMNS, p, TILE_COLUMNS):
                N = _label_rows(R, last, u, samples, in_label, label, p, start + first_columns, RANK)
                new_u = _add_products(new_u, N, C, label, p, start + first_columns, RANK)
            N = _label_rows(R, last, u, samples, in_label, label, p, first_columns, RANK)
            new_u = _add_products(new_u, N, C, label, p, first_columns, RANK)
            tl.debug_barrier()  # warps may hold copies of a small tile: all have read before one writes
            _store_error(R, N, C, new_u, samples, in_label, label, p, first_columns, RANK)
            for start in range(TILE_COLUMNS, p, TILE_COLUMNS):
                N = _label_rows(R, last, u, samples, in_label, label, p, start + first_columns, RANK)
                tl.debug_barrier()
                _store_error(R, N, C, new_u, samples, in_label, label, p, start + first_columns, RANK)
            for j in tl.static_range(RANK):
                tl.store(U + (label * m + row) * RANK + j, new_u[j], mask=in_label)

    @triton.jit
    def _store_error(R, N, C, u, samples, in_label, label, p, columns, RANK: tl.constexpr):
        """R = N - U C for some rows and columns."""
        for j in tl.static_range(RANK):
            N -= u[j][:, None] * _load_component(C, label, j, p, columns, RANK)[None, :]
        inside = in_label[:, None] & (columns < p)[None, :]
        tl.store(R + samples[:, None] * p + columns[None, :], N, mask=inside)
