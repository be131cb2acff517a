
// The metrics of one sample with nTrue true labels, nPredicted predicted ones, and nBoth that are both. A metric that is not
// listed here has no curve and no value at the threshold.
const SAMPLE_METRICS = {
  hamming_loss: (nTrue, nPredicted, nBoth) => (nTrue + nPredicted - 2 * nBoth) / content.observed_per_sample,
  precision: (nTrue, nPredicted, nBoth) => nPredicted ? nBoth / nPredicted : nTrue ? 0 : 1,
  recall: (nTrue, nPredicted, nBoth) => nTrue ? nBoth / nTrue : nPredicted ? 0 : 1,
  f1: (nTrue, nPredicted, nBoth) => nTrue + nPredicted ? 2 * nBoth / (nTrue + nPredicted) : 1,
  accuracy: (nTrue, nPredicted, nBoth) => nTrue + nPredicted ? nBoth / (nTrue + nPredicted - nBoth) : 1,
  cardinality: (nTrue, nPredicted) => nPredicted,
};

// The mean of each metric at every threshold, in one pass over the cells. The predicted labels of a sample change only at the
// probabilities of its labels, so its metrics are added to a range of thresholds at a time.
function thresholdCurves() {
  const { min_step: minStep, n_steps: nSteps } = content;
  const changes = Object.fromEntries(Object.keys(SAMPLE_METRICS).map(name => [name, new Float64Array(nSteps + 2)]));
  for (let i = 0; i < n; i++) {
    let nTrue = 0, nPredicted = 0, nBoth = 0, high = nSteps;
    for (let c = starts[i]; c < starts[i + 1]; c++) if (cells[c] & TRUE) nTrue++;
    for (let c = starts[i]; c <= starts[i + 1]; c++) {
      const step = c < starts[i + 1] ? Math.max(cells[c] & STEP, minStep - 1) : minStep - 1;
      if (step < high) {
        for (const name in SAMPLE_METRICS) {
          const value = SAMPLE_METRICS[name](nTrue, nPredicted, nBoth);
          changes[name][step + 1] += value;
          changes[name][high + 1] -= value;
        }
        high = step;
      }
      if (step < minStep) break;
      nPredicted++;
      if (cells[c] & TRUE) nBoth++;
    }
  }
  for (const change of Object.values(changes)) {
    let sum = 0;
    change.forEach((value, t) => { change[t] = (sum += value) / n; });
  }
  return changes;
}

const slider = byId("threshold");
const threshold = () => Number(slider.value);
const thresholdListeners = [];

if (slider) {
  const curves = thresholdCurves(), { min_step: minStep, n_steps: nSteps } = content;
  const cellsAtThreshold = [...document.querySelectorAll("[data-metric]")].filter(cell => cell.dataset.metric in curves);
  const figure = byId("curves");
  let cursor = null;

  const summary = () => `${(threshold() / nSteps).toFixed(2)}: F1 ${percent(curves.f1[threshold()])} %`;
  const update = () => {
    const t = threshold(), text = (t / nSteps).toFixed(2);
    for (const cell of cellsAtThreshold) {
      cell.dataset.value = curves[cell.dataset.metric][t];
      cell.textContent = percent(curves[cell.dataset.metric][t]);
    }
    byId("live-cardinality").textContent = curves.cardinality[t].toFixed(2);
    byId("threshold-value").textContent = byId("threshold-head").textContent = text;
    for (const element of document.querySelectorAll(".threshold")) element.textContent = text;
    slider.setAttribute("aria-valuetext", summary());
    if (cursor) cursor.setAttribute("transform", `translate(${cursor.dataset.left * 1 + cursor.dataset.width * t / nSteps} 0)`);
    thresholdListeners.forEach(listener => listener());
  };

  const draw = () => {
    const width = Math.max(figure.clientWidth, 200), height = 260, left = 34, top = 8, bottom = height - 24;
    const x = t => left + (width - left - 8) * t / nSteps, y = share => bottom - (bottom - top) * share;
    figure.setAttribute("viewBox", `0 0 ${width} ${height}`);
    figure.setAttribute("height", height);
    figure.replaceChildren();
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      figure.append(make("svg:path", { class: "grid", d: `M${left} ${y(share)}H${width - 8}` }));
      figure.append(make("svg:text", { x: left - 5, y: y(share) + 4, "text-anchor": "end" }, `${100 * share}`));
      const anchor = share === 1 ? "end" : "middle";
      figure.append(make("svg:text", { x: x(share * nSteps), y: height - 6, "text-anchor": anchor }, `${share}`));
    }
    content.metrics.forEach(({ name }, i) => {
      if (name === "f1") figure.append(make("svg:path", { class: "model", d: `M${left} ${y(content.values[i])}H${width - 8}` }));
      if (!(name in curves)) return;
      const points = [];
      for (let t = minStep; t <= nSteps; t += 5) points.push(`${x(t).toFixed(1)} ${y(curves[name][t]).toFixed(1)}`);
      figure.append(make("svg:path", { class: `line line-${i}`, d: `M${points.join("L")}` }));
    });
    cursor = make("svg:path", { class: "cursor", d: `M0 ${top}V${bottom}`, "data-left": left, "data-width": width - left - 8 });
    figure.append(cursor);
    update();
  };

  slider.addEventListener("input", inFrame(update));
  byId("best").addEventListener("click", () => {
    let best = minStep;
    for (let t = minStep; t <= nSteps; t += minStep) if (curves.f1[t] > curves.f1[best]) best = t;
    slider.value = best;
    update();
    announce(byId("best-announcement"), summary());
  });
  figure.addEventListener("pointerdown", event => {
    const box = figure.getBoundingClientRect();
    slider.value = nSteps * (event.clientX - box.left - cursor.dataset.left) / cursor.dataset.width;
    update();
  });
  addEventListener("resize", inFrame(draw));
  draw();
}
