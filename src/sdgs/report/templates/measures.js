
// The five measures at every threshold, in one pass over the cells. What a sample gets changes only at the
// probabilities of its labels: between two of them its measures are constant, and are added to a range of thresholds.
function curvesOf() {
  const { least, steps } = content;
  const changes = Array.from({ length: 6 }, () => new Float64Array(steps + 2));
  const add = (which, value, low, high) => { changes[which][low] += value; changes[which][high + 1] -= value; };
  for (let i = 0; i < n; i++) {
    let size = 0, given = 0, both = 0, high = steps;
    for (let c = starts[i]; c < starts[i + 1]; c++) if (cells[c] & TRUE) size++;
    for (let c = starts[i]; c <= starts[i + 1]; c++) {
      const level = c < starts[i + 1] ? Math.max(cells[c] & LEVEL, least - 1) : least - 1;
      if (level < high) {
        const empty = size + given === 0;
        add(0, (size + given - 2 * both) / k, level + 1, high);
        add(1, empty ? 1 : given ? both / given : 0, level + 1, high);
        add(2, empty ? 1 : size ? both / size : 0, level + 1, high);
        add(3, empty ? 1 : 2 * both / (size + given), level + 1, high);
        add(4, empty ? 1 : both / (size + given - both), level + 1, high);
        add(5, given, level + 1, high);
        high = level;
      }
      if (level < least) break;
      given++;
      if (cells[c] & TRUE) both++;
    }
  }
  return changes.map(change => {
    let sum = 0;
    return change.map(value => (sum += value) / n);
  });
}

const slider = byId("threshold");
const threshold = () => Number(slider.value);
const whenMoved = [];

if (slider) {
  const curves = curvesOf(), { least, steps } = content;
  const live = [...document.querySelectorAll("[data-measure]")];
  const figure = byId("curves");
  let cursor = null;

  const inWords = () => `${(threshold() / steps).toFixed(2)}: F1 ${percent(curves[3][threshold()])} %`;
  const follow = () => {
    const t = threshold(), shown = (t / steps).toFixed(2);
    live.forEach((cell, i) => {
      cell.dataset.value = curves[i][t];
      cell.textContent = percent(curves[i][t]);
    });
    byId("live-cardinality").textContent = curves[5][t].toFixed(2);
    byId("threshold-value").textContent = byId("threshold-head").textContent = shown;
    for (const place of document.querySelectorAll(".at")) place.textContent = shown;
    slider.setAttribute("aria-valuetext", inWords());
    if (cursor) cursor.setAttribute("transform", `translate(${cursor.dataset.left * 1 + cursor.dataset.width * t / steps} 0)`);
    whenMoved.forEach(then => then());
  };

  const draw = () => {
    const width = Math.max(figure.clientWidth, 200), height = 260, left = 34, top = 8, bottom = height - 24;
    const x = t => left + (width - left - 8) * t / steps, y = share => bottom - (bottom - top) * share;
    figure.setAttribute("viewBox", `0 0 ${width} ${height}`);
    figure.setAttribute("height", height);
    figure.replaceChildren();
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      figure.append(make("svg:path", { class: "grid", d: `M${left} ${y(share)}H${width - 8}` }));
      figure.append(make("svg:text", { x: left - 5, y: y(share) + 4, "text-anchor": "end" }, `${100 * share}`));
      const anchor = share === 1 ? "end" : "middle";
      figure.append(make("svg:text", { x: x(share * steps), y: height - 6, "text-anchor": anchor }, `${share}`));
    }
    figure.append(make("svg:path", { class: "own", d: `M${left} ${y(content.values[3])}H${width - 8}` }));
    content.measures.forEach((_, i) => {
      const points = [];
      for (let t = least; t <= steps; t += 5) points.push(`${x(t).toFixed(1)} ${y(curves[i][t]).toFixed(1)}`);
      figure.append(make("svg:path", { class: `line line-${i}`, d: `M${points.join("L")}` }));
    });
    cursor = make("svg:path", { class: "cursor", d: `M0 ${top}V${bottom}`, "data-left": left, "data-width": width - left - 8 });
    figure.append(cursor);
    follow();
  };

  slider.addEventListener("input", inFrame(follow));
  byId("best").addEventListener("click", () => {
    let best = least;
    for (let t = least; t <= steps; t += least) if (curves[3][t] > curves[3][best]) best = t;
    slider.value = best;
    follow();
    speak(byId("best-said"), inWords());
  });
  figure.addEventListener("pointerdown", event => {
    const at = figure.getBoundingClientRect();
    slider.value = steps * (event.clientX - at.left - cursor.dataset.left) / cursor.dataset.width;
    follow();
  });
  addEventListener("resize", inFrame(draw));
  draw();
}
