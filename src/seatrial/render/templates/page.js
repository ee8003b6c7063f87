"use strict";
(() => {
  const data = JSON.parse(document.getElementById("heat-map-data").textContent);
  const place = document.getElementById("heat-map");
  const views = document.getElementById("views");
  // Cividis: even in lightness, and the same to eyes that tell no red from green. Dark is bad.
  const scale = [[0, "#00224e"], [0.25, "#414d6b"], [0.5, "#7d7c78"], [0.75, "#bcaf6f"], [1, "#fee838"]];
  const reversed = scale.map(([at]) => [at, scale[scale.length - 1 - scale.findIndex(([a]) => a === at)][1]]);
  const room = () => place.parentElement.clientWidth;
  const hover = data.labels.length === 0 ? data.hover : data.hover.map((row, i) => row.map((text, j) => (
    text === "" || text.startsWith("<b>") ? text : "<b>" + data.labels[i] + " → " + data.labels[j] + "</b><br>" + text)));
  let current = 0;
  let paper = false;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const axis = (extra) => ({
    range: [-0.5, data.rows - 0.5], tickmode: "array", tickvals: data.tick_positions, ticktext: data.tick_labels,
    showgrid: false, zeroline: false, ticks: "", automargin: true, fixedrange: data.rows < 3, constrain: "domain", ...extra,
  });

  const side = (width) => Math.max(160, Math.min(width - 150, Math.max(data.rows * 84, 380), 860));

  // The longest word in a cell is INCONCLUSIVE; where rows are many it is one letter.
  const textSize = (width) => Math.max(6, Math.min(13, side(width) / data.rows / (data.rows > 20 ? 1.5 : 8)));

  const layout = (width) => {
    const inner = side(width);
    const line = { color: colour("--text"), width: 2 };
    const shapes = data.boundaries.flatMap((at) => [
      { type: "line", x0: at, x1: at, y0: -0.5, y1: data.rows - 0.5, line },
      { type: "line", y0: at, y1: at, x0: -0.5, x1: data.rows - 0.5, line },
    ]);
    const font = { size: 12, color: colour("--soft") };
    const annotations = data.leaves.flatMap(({ name, middle }) => [
      { text: name, x: middle, y: 0, xref: "x", yref: "y domain", yanchor: "top", showarrow: false, font },
      { text: name, y: middle, x: 1, yref: "y", xref: "x domain", xanchor: "left", textangle: 90, showarrow: false, font },
    ]);
    return {
      width: Math.min(width, inner + 190), height: inner + 150,
      margin: { l: 20, r: 40, t: 30, b: 90 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: colour("--absent"),
      font: { family: "inherit", color: colour("--text"), size: 13 }, shapes, annotations,
      xaxis: axis({ side: "top", tickangle: data.rows > 8 ? -90 : "auto", title: { text: "receives", standoff: 6 } }),
      yaxis: axis({ range: [data.rows - 0.5, -0.5], scaleanchor: "x", title: { text: "sends", standoff: 6 } }),
      hoverlabel: { align: "left" },
    };
  };

  const trace = (view, size) => ({
    type: "heatmap", z: view.z, hovertext: hover, hoverinfo: "text", hoverongaps: true,
    text: view.text || undefined, texttemplate: view.text ? "%{text}" : undefined, textfont: { size },
    zmin: view.low, zmax: view.high, colorscale: view.high_is_bad ? reversed : scale,
    xgap: data.rows <= 64 ? 1 : 0, ygap: data.rows <= 64 ? 1 : 0,
    colorbar: {
      orientation: "h", thickness: 12, len: 1, y: -0.04, yanchor: "top", ypad: 18, outlinewidth: 0,
      title: { text: view.title + " (" + view.unit + ")", side: "bottom" },
    },
  });

  // What cannot be trusted must not shine as the best of all: it gets a colour that no number has.
  const untrusted = (view, size) => {
    const only = (absent, value) => data.invalid.reduce((rows, [row, column]) => {
      rows[row][column] = value(row, column);
      return rows;
    }, view.z.map((row) => row.map(() => absent)));
    return {
      type: "heatmap", z: only(null, () => 1), colorscale: [[0, "#a3201d"], [1, "#a3201d"]], showscale: false,
      text: view.text ? only("", (row, column) => view.text[row][column]) : undefined,
      texttemplate: view.text ? "%{text}" : undefined, textfont: { color: "#ffffff", size }, hoverinfo: "text",
      hovertext: hover, hoverongaps: false, xgap: data.rows <= 64 ? 1 : 0, ygap: data.rows <= 64 ? 1 : 0,
    };
  };

  const draw = () => {
    const view = data.views[current];
    const width = paper ? 680 : room() - 18;
    const size = textSize(width);
    const traces = data.invalid.length ? [trace(view, size), untrusted(view, size)] : [trace(view, size)];
    [...views.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === current)));
    Plotly.react(place, traces, layout(width), { displaylogo: false, displayModeBar: false });
  };

  data.views.forEach((view, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = view.title;
    button.addEventListener("click", () => { current = i; draw(); });
    views.append(button);
  });
  if (data.views.length === 0) {
    place.textContent = "No pair has a number.";
    return;
  }
  draw();
  let seen = room();
  new ResizeObserver(() => {
    if (Math.abs(room() - seen) > 1) { seen = room(); draw(); }
  }).observe(place.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", () => { paper = true; draw(); });
  addEventListener("afterprint", () => { paper = false; draw(); });
})();
