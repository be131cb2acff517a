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
_MAX_COLUMNS = 1 << 12  # of N and Q, so that a program can hold whole rows
_TILE_ENTRIES = 1 << 13  # of N that a program holds, at least
_MIN_TILE_ROWS = 8
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


def add_start(R: Any, rows: Any, X: Any, weight: Any) -> None:
    """Add these rows of X (n, p), times a ``weight`` (n + 1,) each, to R."""
    (b, m), (n, p) = rows.shape, X.shape
    tile, programs, tiles_per_program = _tiles(b, m, p)
    _start_kernel[(programs, b)](R, rows, X, weight, n, m, p, tiles_per_program, **tile)


def start_labels(R: Any, rows: Any, U: Any, C: Any, A: Any) -> None:
    """The first step, from Gaussian matrices A (b, p, w), w >= r, with a Rayleigh-Ritz step, in place; U and C are 0."""
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
    shape = {"ROWS": triton.next_power_of_2(w), "COLUMNS": columns}
    _orthonormalise_kernel[(b,)](Yt, Qt, last, w, p, **shape, num_warps=max(4, columns // 256))


def project(R: Any, rows: Any, U: Any, C: Any, last: Any) -> None:
    """U and R for new C = Q^T, in place; ``last`` is C until now."""
    (b, m, r), p = U.shape, C.shape[2]
    tile, programs, tiles_per_program = _tiles(b, m, p)
    _project_kernel[(programs, b)](R, rows, U, C, last, m, p, tiles_per_program, RANK=r, **tile)


def _tiles(b: int, m: int, p: int) -> tuple[dict[str, int], int, int]:
    """Options of the kernels of tiles of a label's rows, the programs per label, and the tiles of each."""
    columns = triton.next_power_of_2(p)
    rows = max(_TILE_ENTRIES // columns, _MIN_TILE_ROWS)
    n_tiles = triton.cdiv(m, rows)
    tiles_per_program = triton.cdiv(n_tiles * b, max(_PROGRAMS, b))
    options = {"TILE_ROWS": rows, "TILE_COLUMNS": columns, "num_warps": max(4, columns // 256)}
    return options, triton.cdiv(n_tiles, tiles_per_program), tiles_per_program


if triton is not None:
    # Triton needs annotations of its own. In its functions a tuple grows by the sum of tuples alone.
    # ruff: noqa: RUF005

    @triton.jit
    def _row_tile(rows, label, m, tile, tiles_per_program, TILE_ROWS: tl.constexpr):
        """Numbers of a label's rows, which of them exist, and their samples."""
        row = (tl.program_id(0) * tiles_per_program + tile) * TILE_ROWS + tl.arange(0, TILE_ROWS)
        return row, row < m, tl.load(rows + label * m + row, mask=row < m, other=0)

    @triton.jit
    def _load_row(C, label, j, p, columns, RANK: tl.constexpr):
        """Row j of a label's C."""
        return tl.load(C + (label * RANK + j) * p + columns, mask=columns < p, other=0.0)

    @triton.jit
    def _label_rows(R, C, U, label, m, row, in_label, samples, p, columns, RANK: tl.constexpr):
        """N for some rows."""
        inside = in_label[:, None] & (columns < p)[None, :]
        N = tl.load(R + samples[:, None] * p + columns[None, :], mask=inside, other=0.0)
        for j in tl.static_range(RANK):
            u = tl.load(U + (label * m + row) * RANK + j, mask=in_label, other=0.0)
            N += u[:, None] * _load_row(C, label, j, p, columns, RANK)[None, :]
        return N

    @triton.jit
    def _products(N, At, label, p, columns, WIDTH: tl.constexpr):
        """The columns of N A."""
        products = ()
        for j in tl.static_range(WIDTH):
            products = products + (tl.sum(N * _load_row(At, label, j, p, columns, WIDTH)[None, :], axis=1),)
        return products

    @triton.jit(do_not_specialize=["n", "m", "p", "tiles_per_program"])
    def _start_kernel(
        R, rows, X, weight, n, m, p, tiles_per_program, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr
    ):
        columns = tl.arange(0, TILE_COLUMNS)
        for tile in range(tiles_per_program):
            _, in_label, samples = _row_tile(rows, tl.program_id(1).to(tl.int64), m, tile, tiles_per_program, TILE_ROWS)
            inside = (in_label & (samples < n))[:, None] & (columns < p)[None, :]
            entries = samples[:, None] * p + columns[None, :]
            start = tl.load(X + entries, mask=inside, other=0.0) * tl.load(weight + samples)[:, None]
            start += tl.load(R + entries, mask=inside, other=0.0)
            tl.debug_barrier()
            tl.store(R + entries, start, mask=inside)

    @triton.jit(do_not_specialize=["m", "p", "tiles_per_program"])
    def _gram_kernel(
        R, rows, U, C, At, parts, m, p, tiles_per_program,
        RANK: tl.constexpr, WIDTH: tl.constexpr, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr,
    ):  # fmt: skip
        label = tl.program_id(1).to(tl.int64)
        columns = tl.arange(0, TILE_COLUMNS)
        inside = columns < p
        part = parts + (label * tl.num_programs(0) + tl.program_id(0)) * WIDTH * p + columns
        for tile in range(tiles_per_program):
            row, in_label, samples = _row_tile(rows, label, m, tile, tiles_per_program, TILE_ROWS)
            N = _label_rows(R, C, U, label, m, row, in_label, samples, p, columns, RANK)
            Y1 = _products(N, At, label, p, columns, WIDTH)
            for j in tl.static_range(WIDTH):
                total = tl.load(part + j * p, mask=inside & (tile > 0), other=0.0)
                tl.store(part + j * p, total + tl.sum(N * Y1[j][:, None], axis=0), mask=inside)

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

    @triton.jit(do_not_specialize=["w", "p"])
    def _orthonormalise_kernel(Yt, Qt, last, w, p, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        """Gram-Schmidt, twice: also a vector that is only rounding is orthogonal to the others afterwards."""
        label = tl.program_id(0).to(tl.int64)
        rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
        inside = columns < p
        Q = tl.zeros((ROWS, COLUMNS), tl.float64)
        for j in range(w):
            entries = (label * w + j) * p + columns
            last_q = tl.load(Qt + entries, mask=inside, other=0.0)
            q = tl.load(Yt + entries, mask=inside, other=0.0)
            square = 1.0
            for attempt in tl.static_range(2):
                products = tl.sum(tl.where((rows == j)[:, None], q[None, :], Q) * q[None, :], axis=1)
                along = tl.where(rows < j, products, 0.0)
                square = tl.sum(tl.where(rows == j, products, 0.0) - attempt * along * along)
                # Rows that are zero determine nothing: the last vector remains.
                q = tl.where(square > 0, q - tl.sum(Q * along[:, None], axis=0), last_q.to(tl.float64))
            q /= tl.sqrt(tl.where(square > 0, square, 1.0))
            tl.store(last + entries, last_q, mask=inside)
            tl.store(Qt + entries, q.to(tl.float32), mask=inside)
            Q = tl.where((rows == j)[:, None], q[None, :], Q)

    @triton.jit(do_not_specialize=["m", "p", "tiles_per_program"])
    def _project_kernel(
        R, rows, U, C, last, m, p, tiles_per_program,
        RANK: tl.constexpr, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr,
    ):  # fmt: skip
        label = tl.program_id(1).to(tl.int64)
        columns = tl.arange(0, TILE_COLUMNS)
        for tile in range(tiles_per_program):
            row, in_label, samples = _row_tile(rows, label, m, tile, tiles_per_program, TILE_ROWS)
            N = _label_rows(R, last, U, label, m, row, in_label, samples, p, columns, RANK)
            new_u = _products(N, C, label, p, columns, RANK)
            tl.debug_barrier()  # warps may hold copies of a small tile: all have read before one writes
            for j in tl.static_range(RANK):
                N -= new_u[j][:, None] * _load_row(C, label, j, p, columns, RANK)[None, :]
                tl.store(U + (label * m + row) * RANK + j, new_u[j], mask=in_label)
            inside = in_label[:, None] & (columns < p)[None, :]
            tl.store(R + samples[:, None] * p + columns[None, :], N, mask=inside)
