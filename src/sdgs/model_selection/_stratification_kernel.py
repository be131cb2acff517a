"""Iterative stratification, compiled. Units are samples, or groups of samples that stay together."""

import heapq

import numpy as np

from sdgs._utils._numba import jit_cached

NONE = np.iinfo(np.int64).min  # less than any room


@jit_cached
def assign_folds(indptr, labels, counts, label_indptr, label_units, sizes, wanted, room, n_spare, draws, folds):
    """Write to ``folds`` the fold of each unit, as :func:`sdgs.model_selection._stratify.stratify` describes.

    ``indptr``, ``labels`` and ``counts`` are the labels of the units in CSR form, with the numbers of samples that have
    them; ``label_indptr`` and ``label_units`` list the units of each label in the order in which they are assigned.
    ``sizes`` holds the samples per unit. ``wanted`` (labels, folds) and ``room`` (folds) are reduced by what is
    assigned; ``n_spare`` folds take one sample more than their room. ``draws``, one per unit in [0, 1), break ties.
    ``folds`` begins as -1. If there are enough units, no fold stays empty.
    """
    n_labels, n_units_left, n_empty = wanted.shape[0], sizes.size, room.size
    n_units = np.zeros(room.size, np.int64)  # in each fold
    n_left = label_indptr[1:] - label_indptr[:-1]  # units without a fold, of each label
    n_queued = n_left.copy()  # the smallest number with which a label is in the queue
    queue = [n_left[j] * n_labels + j for j in range(n_labels) if n_left[j] > 0]
    heapq.heapify(queue)
    while len(queue) > 0:
        key = heapq.heappop(queue)
        rarest = key % n_labels
        if n_left[rarest] == 0 or n_left[rarest] != key // n_labels:  # an entry that a smaller one has replaced
            continue
        first, last = label_indptr[rarest], label_indptr[rarest + 1]
        for position in range(first, last):
            unit = label_units[position]
            if folds[unit] >= 0:
                continue
            only_empty = n_empty > 0 and n_units_left <= n_empty
            fold = _choose_fold(wanted[rarest], room, n_spare, sizes[unit], draws[unit], n_units, only_empty)
            n_spare -= _take_room(fold, sizes[unit], room)
            n_empty -= n_units[fold] == 0
            n_units[fold] += 1
            n_units_left -= 1
            folds[unit] = -2 - fold  # marks the units that are assigned for this label
            for entry in range(indptr[unit], indptr[unit + 1]):
                wanted[labels[entry], fold] -= counts[entry]
                n_left[labels[entry]] -= 1
        for position in range(first, last):
            unit = label_units[position]
            if folds[unit] > -2:
                continue
            folds[unit] = -2 - folds[unit]
            for entry in range(indptr[unit], indptr[unit + 1]):
                j = labels[entry]
                if 0 < n_left[j] < n_queued[j]:
                    n_queued[j] = n_left[j]
                    heapq.heappush(queue, n_left[j] * n_labels + j)
    equally = 0.0 * room
    for unit in range(sizes.size):
        if folds[unit] < 0:
            only_empty = n_empty > 0 and n_units_left <= n_empty
            fold = _choose_fold(equally, room, n_spare, sizes[unit], draws[unit], n_units, only_empty)
            n_spare -= _take_room(fold, sizes[unit], room)
            n_empty -= n_units[fold] == 0
            n_units[fold] += 1
            n_units_left -= 1
            folds[unit] = fold


@jit_cached
def _choose_fold(wanted, room, n_spare, size, draw, n_units, only_empty):
    """Of the folds with room those that want the label most, of these those with most room, of these a random one.

    If no fold has room for the unit, those with most room are considered. With ``only_empty`` folds that have a unit
    are not considered.
    """
    extra, most_room = 1 if n_spare > 0 else 0, NONE
    for f in range(room.size):
        if not only_empty or n_units[f] == 0:
            most_room = max(most_room, room[f])
    limit = size - extra if most_room + extra >= size else most_room
    n_tied, best = 0, -1
    for f in range(room.size):
        if room[f] < limit or (only_empty and n_units[f] > 0):
            continue
        if best < 0 or wanted[f] > wanted[best] or (wanted[f] == wanted[best] and room[f] > room[best]):
            best, n_tied = f, 1
        elif wanted[f] == wanted[best] and room[f] == room[best]:
            n_tied += 1
    n_skipped = int(draw * n_tied)
    for f in range(best, room.size):
        if wanted[f] == wanted[best] and room[f] == room[best] and (not only_empty or n_units[f] == 0):
            if n_skipped == 0:
                return f
            n_skipped -= 1
    return best


@jit_cached
def _take_room(fold, size, room):
    """Take the room of a unit in a fold; 1 if that uses a spare place, else 0."""
    had_room = room[fold] >= 0
    room[fold] -= size
    return 1 if had_room and room[fold] == -1 else 0


@jit_cached
def exchange_units(indptr, labels, counts, sizes, weights, size_weight, partners, wanted, room, folds):
    """Exchange the folds of each unit and its partner where this lowers an objective.

    That is the sum of ``wanted`` squared, with the weight of each label, and of ``room`` squared, with ``size_weight``.
    Labels of each unit are sorted. ``wanted``, ``room`` and ``folds`` are updated. Returns the number of exchanges.
    """
    n_exchanges = 0
    for unit in range(partners.size):
        partner = partners[unit]
        a, b = folds[unit], folds[partner]
        if a == b:
            continue
        moved = sizes[unit] - sizes[partner]
        change = size_weight * moved * (room[a] - room[b] + moved)
        i, last_i = indptr[unit], indptr[unit + 1]
        j, last_j = indptr[partner], indptr[partner + 1]
        while i < last_i or j < last_j:  # merges both lists of labels
            if j == last_j or (i < last_i and labels[i] < labels[j]):
                label, moved = labels[i], counts[i]
                i += 1
            elif i == last_i or labels[j] < labels[i]:
                label, moved = labels[j], -counts[j]
                j += 1
            else:
                label, moved = labels[i], counts[i] - counts[j]
                i += 1
                j += 1
            change += weights[label] * moved * (wanted[label, a] - wanted[label, b] + moved)
        if change < -1e-9:  # rounding errors are smaller
            for entry in range(indptr[unit], indptr[unit + 1]):
                wanted[labels[entry], a] += counts[entry]
                wanted[labels[entry], b] -= counts[entry]
            for entry in range(indptr[partner], indptr[partner + 1]):
                wanted[labels[entry], b] += counts[entry]
                wanted[labels[entry], a] -= counts[entry]
            room[a] += sizes[unit] - sizes[partner]
            room[b] -= sizes[unit] - sizes[partner]
            folds[unit], folds[partner] = b, a
            n_exchanges += 1
    return n_exchanges


@jit_cached
def write_pairs(indptr, labels, n_labels, rows, codes):
    """Write each pair of labels of each row, as its row and as the number ``smaller * n_labels + larger``."""
    position = 0
    for row in range(indptr.size - 1):
        for i in range(indptr[row], indptr[row + 1]):
            for j in range(i + 1, indptr[row + 1]):
                rows[position] = row
                codes[position] = labels[i] * n_labels + labels[j]
                position += 1
