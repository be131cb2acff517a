
// Heat maps of labels with a sentence for the cell at the pointer, and the same as a table: the pairs with the largest values, or
// all pairs of a label.
const CIVIDIS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];

function heat(share) {
  const scaled = Math.min(Math.max(share, 0), 1) * (CIVIDIS.length - 1), low = Math.min(Math.floor(scaled), CIVIDIS.length - 2);
  return mix(CIVIDIS[low], CIVIDIS[low + 1], scaled - low);
}

// Shares in 1/1000, from 0, and parts of log-odds in 1/100, of both signs. A part of at least ``least`` has the brightest colour.
const SHARES = {
  colour: heat, text: value => (value / 10).toFixed(1), cell: value => `${Math.round(value / 10)}`, least: 50,
  ends: brightest => ["0 %", `${(brightest / 10).toFixed(0)} %`], start: 0, noun: "share", room: 26,
};
const PARTS = {
  colour: share => mix(styleColour("--paper"), styleColour(share < 0 ? "--against" : "--for"), Math.min(Math.abs(share), 1)),
  text: value => signed(value / 100), cell: value => Math.abs(value) < 5 ? "0" : (value / 100).toFixed(1).replace("-", "−"), least: 1,
  ends: brightest => [signed(-brightest / 100), signed(brightest / 100)], start: -1, noun: "part", room: 30,
};

function drawMap(figure, map, kind, describePair) {
  const canvas = figure.querySelector("canvas"), pointed = figure.querySelector(".pointed");
  const size = map.labels.length, names = map.labels.map(i => content.labels[i]);
  const pairs = [];
  map.values.forEach((row, i) => row.forEach((value, j) => { if (i !== j) pairs.push([value, i, j]); }));
  pairs.sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  // A few very similar pairs among many labels would leave all other cells dark.
  const brightest = pairs.length ? Math.max(Math.abs(pairs[Math.floor(pairs.length * 0.005)][0]), kind.least) : 1000;
  const describe = (value, i, j) => describePair(names[i], names[j], kind.text(value));
  const largest = pairs.slice(0, 20).filter(pair => pair[0]), select = figure.querySelector("select");
  const summary = largest.length ? `Largest ${kind.noun}: ${describe(...largest[0])}` : `All ${kind.noun}s are zero.`;
  if (!pairs.length || Math.abs(pairs[0][0]) < kind.least) {  // the map would have one colour
    const bound = kind.ends(kind.least)[1];
    pointed.textContent = pairs.length ? `There is no map, because all ${kind.noun}s are below ${bound}. ${summary}` : "There is no map, because there is one label.";
    pointed.removeAttribute("aria-hidden");
    canvas.remove();
  }
  canvas.setAttribute("aria-label", `A map of ${size} labels. ${summary} The table below has more.`);
  select.append(...names.map((name, i) => make("option", { value: i }, name)));
  const fill = () => {
    const shown = select.value ? pairs.filter(pair => pair[1] === Number(select.value) && pair[0]) : largest;
    const rows = shown.map(([value, i, j]) => make("tr", {},
      make("td", { class: "text wrap" }, names[i]), make("td", { class: "text wrap" }, names[j]), make("td", {}, kind.text(value))));
    const empty = make("tr", {}, make("td", { class: "text", colspan: 3 }, `All ${kind.noun}s are zero.`));
    figure.querySelector("tbody").replaceChildren(...(rows.length ? rows : [empty]));
  };
  select.addEventListener("change", fill);
  fill();
  if (!canvas.isConnected) return;

  const shorten = (pen, name, width) => {
    if (pen.measureText(name).width <= width) return name;
    let length = name.length;
    while (length > 1 && pen.measureText(name.slice(0, length) + "…").width > width) length--;
    return name.slice(0, length) + "…";
  };
  let left = 0, side = 1;
  const draw = () => {
    const width = Math.max(canvas.clientWidth, 200), ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
    const font = `${Math.min(Math.max(0.6 * width / (size + 8), 7), 12)}px system-ui, sans-serif`;
    pen.font = font;
    left = Math.min(Math.max(...[...names, kind.ends(brightest)[0]].map(name => pen.measureText(name).width + 8)), width * 0.3);
    side = Math.min((width - left) / size, 46);
    const height = left + side * size + 26, gap = side < 14 ? -0.3 : 1;  // small cells overlap: thin lines between them would make the map pale
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    pen.scale(ratio, ratio);
    pen.font = font;
    pen.textBaseline = "middle";
    const ink = getComputedStyle(canvas).color, diagonal = getComputedStyle(document.body).getPropertyValue("--line");
    const step = Math.ceil(8 / side);
    for (let i = 0; i < size; i++) {
      for (let j = 0; j < size; j++) {
        const colour = kind.colour(map.values[i][j] / brightest);
        pen.fillStyle = i === j ? diagonal : `rgb(${colour})`;
        pen.fillRect(left + j * side, left + i * side, side - gap, side - gap);
        if (side >= kind.room && i !== j) {
          pen.fillStyle = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] > 118 ? "#000" : "#fff";
          pen.textAlign = "center";
          pen.fillText(kind.cell(map.values[i][j]), left + (j + 0.5) * side, left + (i + 0.5) * side);
        }
      }
      if (i % step) continue;
      const name = shorten(pen, names[i], left - 6);
      pen.fillStyle = ink;
      pen.textAlign = "right";
      pen.fillText(name, left - 4, left + (i + 0.5) * side);
      pen.save();
      pen.translate(left + (i + 0.5) * side, left - 4);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "left";
      pen.fillText(name, 0, 0);
      pen.restore();
    }
    const scale = Math.min(120, side * size / 2), bottom = height - 14;
    for (let x = 0; x < scale; x++) {
      pen.fillStyle = `rgb(${kind.colour(kind.start + (1 - kind.start) * x / scale)})`;
      pen.fillRect(left + x, bottom, 1.5, 10);
    }
    pen.fillStyle = ink;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    const [low, high] = kind.ends(brightest);
    pen.fillText(low, left - 4, bottom + 5);
    pen.textAlign = "left";
    const more = pairs.length && Math.abs(pairs[0][0]) > brightest ? " or more" : "";
    pen.fillText(`${high}${more}`, left + scale + 6, bottom + 5);
  };
  canvas.addEventListener("pointermove", event => {
    const box = canvas.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left - left) / side), i = Math.floor((event.clientY - box.top - left) / side);
    const inside = i >= 0 && j >= 0 && i < size && j < size && i !== j;
    pointed.textContent = inside ? describe(map.values[i][j], i, j) : summary;
  });
  pointed.textContent = summary;
  addEventListener("resize", inFrame(draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

drawMap(byId("cooccurrence"), content.maps.cooccurrence, SHARES, (a, b, share) => `${share} % of the samples with ${a} also have ${b}.`);
drawMap(byId("subspaces"), content.maps.subspaces, SHARES, (a, b, share) => `${share} % of the subspace of ${a} lies in that of ${b}.`);
if (content.maps.influence) {
  drawMap(byId("influence"), content.maps.influence, PARTS, (a, b, part) => `The component of ${b} adds ${part} to the log-odds of ${a}.`);
}
