"""The kernels of the compiled label step, in Triton; imported where Triton is installed.

Triton needs annotations of its own, and its tuples grow by sums of tuples alone.
"""
# ruff: noqa: RUF005

import triton
import triton.language as tl


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
def start_kernel(R, rows, X, weight, n, m, p, tiles_per_program, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr):
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
def gram_kernel(
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
def sum_kernel(parts, Y2t, n_parts, size, TILE_PARTS: tl.constexpr, TILE_COLUMNS: tl.constexpr):
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
def orthonormalise_kernel(Yt, Qt, last, w, p, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
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
def project_kernel(
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
