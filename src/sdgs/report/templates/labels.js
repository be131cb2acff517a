
// The table of labels: sort by any column, search, and optionally use the threshold.
{
  const table = byId("label-table"), body = table.tBodies[0], search = byId("label-search"), checkbox = byId("at-threshold");
  const rows = [...body.rows], heads = [...table.tHead.rows[0].cells].filter(head => head.querySelector("button"));
  const texts = content.labels.map(name => name.toLowerCase());
  let values = content.by_label, sortedBy = -1, ascending = false;

  const atThreshold = () => {
    const t = threshold(), nPredicted = new Uint32Array(k), nBoth = new Uint32Array(k);
    for (let c = 0; c < cells.length; c++) {
      if ((cells[c] & STEP) < t) continue;
      nPredicted[labelOf[c]]++;
      if (cells[c] & TRUE) nBoth[labelOf[c]]++;
    }
    return content.by_label.map(([support], i) => [
      support,
      nPredicted[i],
      nPredicted[i] ? nBoth[i] / nPredicted[i] : null,
      support ? nBoth[i] / support : null,
      support + nPredicted[i] ? 2 * nBoth[i] / (support + nPredicted[i]) : null,
    ]);
  };

  const sortRows = () => {
    if (sortedBy < 0) return;
    const sign = ascending ? 1 : -1;
    const order = rows.map((_, i) => i);
    if (sortedBy === 0) order.sort((a, b) => sign * content.labels[a].localeCompare(content.labels[b], undefined, { numeric: true }));
    else order.sort((a, b) => {
      const [left, right] = [values[a][sortedBy - 1], values[b][sortedBy - 1]];
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * (left - right);
    });
    body.append(...order.map(i => rows[i]));
  };

  const fill = () => {
    values = checkbox && checkbox.checked ? atThreshold() : content.by_label;
    rows.forEach((row, i) => values[i].forEach((value, j) => {
      const text = j < 2 ? `${value}` : percent(value), cell = row.cells[j + 1];
      if (cell.textContent !== text) cell.textContent = text;
    }));
  };

  const filter = () => {
    const typed = search.value.trim().toLowerCase();
    let nMatches = 0;
    rows.forEach((row, i) => { nMatches += !(row.hidden = !texts[i].includes(typed)); });
    byId("label-count").textContent = `${nMatches.toLocaleString("en")} of ${k.toLocaleString("en")} labels`;
  };

  const sortBy = (i, isAscending) => {
    [sortedBy, ascending] = [i, isAscending];
    heads.forEach((other, j) => other.setAttribute("aria-sort", j !== i ? "none" : ascending ? "ascending" : "descending"));
    sortRows();
  };
  heads.forEach((head, i) => head.firstElementChild.addEventListener("click", () => sortBy(i, sortedBy === i ? !ascending : i === 0)));
  search.addEventListener("input", inFrame(() => {
    filter();
    announce(byId("label-announcement"), byId("label-count").textContent, TYPING_PAUSE);
  }));
  // Moving the slider does not sort again, so that rows do not jump.
  if (checkbox) {
    checkbox.addEventListener("change", () => { fill(); sortRows(); });
    thresholdListeners.push(() => { if (checkbox.checked) fill(); });
  }
  rows.forEach((row, i) => row.querySelector("button").addEventListener("click", () => showSamplesWith(content.labels[i])));
  filter();
  sortBy(heads.length - 1, true);  // by F1, the worst labels first
}
