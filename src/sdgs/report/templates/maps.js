
// Maps of labels on canvases, with what the pointer is on in words; and as tables: the strongest pairs, or all of a label.
const CIVIDIS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];

function heat(share) {
  const at = Math.min(Math.max(share, 0), 1) * (CIVIDIS.length - 1), low = Math.min(Math.floor(at), CIVIDIS.length - 2);
  const mixed = CIVIDIS[low].map((part, i) => Math.round(part + (at - low) * (CIVIDIS[low + 1][i] - part)));
  return `rgb(${mixed})`;
}

function drawMap(figure, map, sentence) {
  const canvas = figure.querySelector("canvas"), readout = figure.querySelector(".readout");
  const size = map.labels.length, names = map.labels.map(i => content.labels[i]);
  const pairs = [];
  map.permille.forEach((row, i) => row.forEach((value, j) => { if (i !== j) pairs.push([value, i, j]); }));
  pairs.sort((a, b) => b[0] - a[0]);
  // A few twins among many labels must not leave all others in the dark.
  const brightest = pairs.length ? Math.max(pairs[Math.floor(pairs.length * 0.005)][0], 50) : 1000;
  const words = (value, i, j) => sentence(names[i], names[j], (value / 10).toFixed(1));
  const strongest = pairs.slice(0, 20).filter(pair => pair[0] > 0), chosen = figure.querySelector("select");
  const rest = strongest.length ? `The strongest: ${words(...strongest[0])}` : "No two labels have anything in common.";
  canvas.setAttribute("aria-label", `A map of ${size} labels. ${rest} The table below has more.`);
  chosen.append(...names.map((name, i) => make("option", { value: i }, name)));
  const fill = () => {
    const some = chosen.value ? pairs.filter(pair => pair[1] === Number(chosen.value) && pair[0] > 0) : strongest;
    const rows = some.map(([value, i, j]) => make("tr", {},
      make("td", { class: "text wrap" }, names[i]), make("td", { class: "text wrap" }, names[j]), make("td", {}, (value / 10).toFixed(1))));
    const nothing = make("tr", {}, make("td", { class: "text", colspan: 3 }, "It has nothing in common with others."));
    figure.querySelector("tbody").replaceChildren(...(rows.length ? rows : [nothing]));
  };
  chosen.addEventListener("change", fill);
  fill();

  const fits = (pen, name, room) => {
    if (pen.measureText(name).width <= room) return name;
    let kept = name.length;
    while (kept > 1 && pen.measureText(name.slice(0, kept) + "…").width > room) kept--;
    return name.slice(0, kept) + "…";
  };
  let left = 0, side = 1;
  const draw = () => {
    const width = Math.max(canvas.clientWidth, 200), ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
    const font = `${Math.min(Math.max(0.6 * width / (size + 8), 7), 12)}px system-ui, sans-serif`;
    pen.font = font;
    left = Math.min(Math.max(...names.map(name => pen.measureText(name).width)) + 8, width * 0.3);
    side = Math.min((width - left) / size, 46);
    const height = left + side * size + 26, gap = side < 14 ? -0.3 : 1;  // overlapping a little, where lines would be a veil
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
        pen.fillStyle = i === j ? diagonal : heat(map.permille[i][j] / brightest);
        pen.fillRect(left + j * side, left + i * side, side - gap, side - gap);
        if (side >= 26 && i !== j) {
          pen.fillStyle = map.permille[i][j] / brightest > 0.55 ? "#000" : "#fff";
          pen.textAlign = "center";
          pen.fillText(`${Math.round(map.permille[i][j] / 10)}`, left + (j + 0.5) * side, left + (i + 0.5) * side);
        }
      }
      if (i % step) continue;
      const name = fits(pen, names[i], left - 6);
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
      pen.fillStyle = heat(x / scale);
      pen.fillRect(left + x, bottom, 1.5, 10);
    }
    pen.fillStyle = ink;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillText("0 %", left - 4, bottom + 5);
    pen.textAlign = "left";
    const more = pairs.length && pairs[0][0] > brightest ? " and more" : "";
    pen.fillText(`${(brightest / 10).toFixed(0)} %${more}`, left + scale + 6, bottom + 5);
  };
  canvas.addEventListener("pointermove", event => {
    const at = canvas.getBoundingClientRect();
    const j = Math.floor((event.clientX - at.left - left) / side), i = Math.floor((event.clientY - at.top - left) / side);
    const inside = i >= 0 && j >= 0 && i < size && j < size && i !== j;
    readout.textContent = inside ? words(map.permille[i][j], i, j) : rest;
  });
  readout.textContent = rest;
  addEventListener("resize", inFrame(draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

drawMap(byId("together"), content.maps.together, (a, b, share) => `Of the samples with ${a}, ${share} % have ${b} too.`);
drawMap(byId("angles"), content.maps.angles, (a, b, share) => `Of the subspace of ${a}, ${share} % lies in that of ${b}.`);
