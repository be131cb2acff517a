
// The table of labels: sorted by any column, searched, and at the threshold if asked for.
{
  const table = byId("label-table"), body = table.tBodies[0], search = byId("label-search"), checkbox = byId("follow");
  const rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const texts = content.labels.map(name => name.toLowerCase());
  let values = content.by_label, sorted = -1, upwards = false;

  const atThreshold = () => {
    const t = threshold(), given = new Uint32Array(k), both = new Uint32Array(k);
    for (let c = 0; c < cells.length; c++) {
      if ((cells[c] & LEVEL) < t) continue;
      given[labelOf[c]]++;
      if (cells[c] & TRUE) both[labelOf[c]]++;
    }
    return content.by_label.map(([support], i) => [
      support,
      given[i],
      given[i] ? both[i] / given[i] : null,
      support ? both[i] / support : null,
      support + given[i] ? 2 * both[i] / (support + given[i]) : null,
    ]);
  };

  const order = () => {
    if (sorted < 0) return;
    const sign = upwards ? 1 : -1;
    const places = rows.map((_, i) => i);
    if (sorted === 0) places.sort((a, b) => sign * content.labels[a].localeCompare(content.labels[b], undefined, { numeric: true }));
    else places.sort((a, b) => {
      const [left, right] = [values[a][sorted - 1], values[b][sorted - 1]];
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * (left - right);
    });
    body.append(...places.map(i => rows[i]));
  };

  const fill = () => {
    values = checkbox && checkbox.checked ? atThreshold() : content.by_label;
    rows.forEach((row, i) => values[i].forEach((value, j) => {
      const text = j < 2 ? `${value}` : percent(value), cell = row.cells[j + 1];
      if (cell.textContent !== text) cell.textContent = text;
    }));
  };

  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    let found = 0;
    rows.forEach((row, i) => { found += !(row.hidden = !texts[i].includes(wanted)); });
    byId("label-count").textContent = `${found.toLocaleString("en")} of ${k.toLocaleString("en")} labels`;
  };

  heads.forEach((head, i) => head.firstElementChild.addEventListener("click", () => {
    upwards = sorted === i ? !upwards : i === 0;
    sorted = i;
    heads.forEach((other, j) => other.setAttribute("aria-sort", j !== i ? "none" : upwards ? "ascending" : "descending"));
    order();
  }));
  search.addEventListener("input", inFrame(() => {
    filter();
    speak(byId("label-said"), byId("label-count").textContent, TYPING);
  }));
  // The order stays while the slider moves, or rows would jump about; it is made anew on the next click.
  if (checkbox) {
    checkbox.addEventListener("change", () => { fill(); order(); });
    whenMoved.push(() => { if (checkbox.checked) fill(); });
  }
  rows.forEach((row, i) => row.querySelector("button").addEventListener("click", () => lookFor(content.labels[i])));
  filter();
}
